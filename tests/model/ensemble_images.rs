//! Manifests that say how images become samples, and name a folder of them.

use std::fs;

use crate::place::root;
use divisi_model::ensemble::{Ensemble, Files, ImageFit};

const MANIFEST: &str = r#"name = "tiny"
classes = 2
labels = ["no", "yes"]

[input]
shape = [3, 8, 8]
resize = 10
crop = 8

[calibration]
file = "images"
skip = 1

[[members]]
name = "a"
network = { builder = "perceptron" }
"#;

/// Reads the ensemble with this manifest and three labelled images.
fn read(manifest: &str) -> Result<Ensemble, String> {
    let folder = tempfile::tempdir().expect("a folder");
    let image = root().join("tests/model/image_files/noise.png");
    for (class, name) in [("no", "a.png"), ("yes", "a.png"), ("yes", "b.png")] {
        let class = folder.path().join("images").join(class);
        fs::create_dir_all(&class).expect("a folder");
        fs::copy(&image, class.join(name)).expect("copies");
    }
    fs::write(folder.path().join("ensemble.toml"), manifest).expect("writes");
    let read = Ensemble::read(&Files::from_path(folder.path()));
    let place = format!("{}/", folder.path().display());
    read.map_err(|e| e.to_string().replace(&place, ""))
}

#[test]
fn calibration_may_be_a_folder_of_images() {
    let ensemble = read(MANIFEST).expect("valid");
    assert_eq!(ensemble.image_fit, ImageFit::Crop { resize: Some(10) });
    let samples = ensemble.calibration.expect("images");
    assert_eq!(samples.labels(), Some(&[1, 1][..]));
    assert_eq!(samples.width(), 3 * 8 * 8);
    assert!(samples.values().iter().any(|v| *v > 100.0));
}

#[test]
fn an_ensemble_says_how_images_fit_its_input() {
    let cases = [
        ("resize = 10\ncrop = 8", ImageFit::Crop { resize: Some(10) }),
        ("resize = 10", ImageFit::Crop { resize: Some(10) }),
        ("crop = [8, 8]", ImageFit::Crop { resize: None }),
        ("", ImageFit::Stretch),
    ];
    for (written, expected) in cases {
        let manifest = MANIFEST.replace("resize = 10\ncrop = 8", written);
        assert_eq!(read(&manifest).expect(written).image_fit, expected);
    }
}

#[test]
fn fields_of_images_that_do_not_fit_the_input_are_refused() {
    let cases = [
        (
            "resize = 10",
            "resize = 7",
            "ensemble.toml:7: input.resize: expected at least 8, the shorter side of the input, \
             found 7",
        ),
        (
            "resize = 10",
            "resize = 0",
            "ensemble.toml:7: input.resize: expected a whole number from 1 to 16384, found 0",
        ),
        (
            "crop = 8",
            "crop = [8, 9]",
            "ensemble.toml:8: input.crop: expected 8×8, the input's height and width, found 8×9",
        ),
        (
            "crop = 8",
            "crop = \"8\"",
            "ensemble.toml:8: crop: expected a number of pixels, or a list [height, width]",
        ),
        (
            "shape = [3, 8, 8]",
            "shape = [12]",
            "ensemble.toml:7: input.resize: expected an input of images, found",
        ),
        (
            "labels = [\"no\", \"yes\"]",
            "",
            "images: `no`: expected a class number below 2, found `no`",
        ),
    ];
    for (from, to, said) in cases {
        let error = read(&MANIFEST.replace(from, to)).expect_err(said);
        assert!(error.contains(said), "said: {error}\n  not: {said}");
    }
}
