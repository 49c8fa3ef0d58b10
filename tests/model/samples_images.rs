//! Images as samples: decoded, sized and cut out as Pillow and torchvision do it, one or a folder
//! of them, and what is said of files that are none.
//!
//! `tests/model/image_files/make.py` made the images and what Pillow makes of them.

use std::fs;
use std::io::Cursor;
use std::path::PathBuf;

use crate::place::root;
use divisi_model::ensemble::{Classes, ImageFit, SampleForm, Samples};
use divisi_runtime::network::Shape;
use proptest::prelude::*;
use serde::Deserialize;

/// An image as Pillow reads it.
#[derive(Deserialize)]
struct PillowImage {
    file: String,
    shape: Shape,
    resize: Option<usize>,
    crop: bool,
    values: Vec<f32>,
}

fn folder() -> PathBuf {
    root().join("tests/model/image_files")
}

fn bytes(name: &str) -> Vec<u8> {
    fs::read(folder().join(name)).expect(name)
}

/// How far values may be from Pillow's: decoders of lossy WebP differ in their roundings.
fn tolerance(file: &str) -> f32 {
    match file {
        "lossy.webp" => 4.0,
        _ => 0.0,
    }
}

#[test]
fn images_are_decoded_and_sized_as_pillow_does() {
    let expected = bytes("expected.json");
    let expected: Vec<PillowImage> = serde_json::from_slice(&expected).expect("cases");
    for case in expected {
        let form = SampleForm {
            image_fit: match (case.resize, case.crop) {
                (None, false) => ImageFit::Stretch,
                (resize, _) => ImageFit::Crop { resize },
            },
            ..SampleForm::new(case.shape)
        };
        let samples = Samples::read(&folder().join(&case.file), &form).expect(&case.file);
        assert_eq!(samples.len(), 1);
        let pairs = samples.row(0).iter().zip(&case.values);
        let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        let (file, shape) = (&case.file, case.shape);
        assert!(worst <= tolerance(file), "{file} as {shape}: {worst} apart");
    }
}

/// A PNG of these bytes.
fn png_of(kind: png::ColorType, depth: png::BitDepth, size: [u32; 2], data: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, size[1], size[0]);
    encoder.set_color(kind);
    encoder.set_depth(depth);
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(data).expect("data");
    writer.finish().expect("an end");
    file
}

/// A grey PNG of one value.
fn grey(height: u32, width: u32, value: u8) -> Vec<u8> {
    let data = vec![value; (height * width) as usize];
    png_of(
        png::ColorType::Grayscale,
        png::BitDepth::Eight,
        [height, width],
        &data,
    )
}

fn parse(name: &str, bytes: Vec<u8>, form: &SampleForm<'_>) -> Result<Samples, String> {
    Samples::parse(name, bytes, form).map_err(|e| e.to_string())
}

#[test]
fn sixteen_bits_become_eight_and_a_name_does_not_say_the_format() {
    let deep: Vec<u8> = [0u16, 255, 256, 0x7fff, 0x8000, 0xffff]
        .iter()
        .flat_map(|v| v.to_be_bytes())
        .collect();
    let (kind, depth) = (png::ColorType::Grayscale, png::BitDepth::Sixteen);
    let file = png_of(kind, depth, [2, 3], &deep);
    let form = SampleForm::new(Shape::image(1, 2, 3));
    let samples = parse("a.jpg", file, &form).expect("a PNG");
    assert_eq!(samples.values(), [0.0, 0.0, 1.0, 127.0, 128.0, 255.0]);
    assert_eq!(samples.bytes(), 6 + 4 * 6, "bytes, then float32 as well");
}

/// A folder that is removed at the end.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new(files: &[(&str, Vec<u8>)]) -> Self {
        let scratch = tempfile::tempdir().expect("a folder");
        for (name, bytes) in files {
            let path = scratch.path().join(name);
            fs::create_dir_all(path.parent().expect("inside")).expect("a folder");
            match name.ends_with('/') {
                true => fs::create_dir_all(path).expect("a folder"),
                false => fs::write(path, bytes).expect("writes"),
            }
        }
        Scratch(scratch)
    }

    fn read(&self, form: &SampleForm<'_>) -> Result<Samples, String> {
        Samples::read(self.0.path(), form).map_err(|e| e.to_string())
    }
}

fn names() -> Vec<String> {
    ["cat", "dog", "bird"].map(str::to_owned).to_vec()
}

const SMALL: Shape = Shape::image(1, 2, 2);

#[test]
fn a_folder_is_read_in_the_order_of_names() {
    let scratch = Scratch::new(&[
        ("b.png", grey(2, 2, 20)),
        ("a.PNG", grey(4, 6, 10)),
        ("c.jpeg", grey(1, 1, 30)),
        (".hidden", b"something else".to_vec()),
    ]);
    let samples = scratch.read(&SampleForm::new(SMALL)).expect("three");
    assert_eq!(samples.labels(), None);
    let firsts: Vec<f32> = (0..3).map(|i| samples.row(i)[0]).collect();
    assert_eq!(firsts, [10.0, 20.0, 30.0]);
    let labels = b"label\n2\n0\n1\n".to_vec();
    let samples = samples.labelled_by("y.csv", labels, &Classes::any());
    assert_eq!(samples.expect("labels").labels(), Some(&[2, 0, 1][..]));
}

#[test]
fn folders_name_classes_by_name_or_number() {
    let scratch = Scratch::new(&[
        ("dog/z.png", grey(2, 2, 1)),
        ("dog/a.png", grey(2, 2, 2)),
        ("0/a.png", grey(2, 2, 3)),
        ("bird/a.webp", bytes("lossless.webp")),
    ]);
    let names = names();
    let form = SampleForm::new(SMALL).classes(3, Some(&names));
    let samples = scratch.read(&form).expect("four");
    assert_eq!(samples.labels(), Some(&[0, 2, 1, 1][..]));
    assert_eq!((samples.row(0)[0], samples.row(2)[0]), (3.0, 2.0));
    let again = samples.labelled_by("y.csv", b"label\n0\n".to_vec(), &form.classes);
    let error = again.expect_err("twice").to_string();
    assert_eq!(error, "the samples already have labels");
}

/// Files by their names.
type NamedFiles<'a> = &'a [(&'a str, Vec<u8>)];

#[test]
fn a_folder_that_is_no_set_of_images_says_why() {
    let good = || grey(2, 2, 1);
    let cases: &[(NamedFiles<'_>, &str)] = &[
        (
            &[],
            "expected images (.png, .jpg, .jpeg, .webp) or folders of them, found an empty folder",
        ),
        (&[(".a.png", good())], "found an empty folder"),
        (
            &[("a.png", good()), ("cat/a.png", good())],
            "expected only images, or one folder per class, found both `a.png` and `cat`",
        ),
        (
            &[("cat/a.png", good()), ("dog/", Vec::new())],
            "`dog`: expected at least one image, found none",
        ),
        (
            &[("horse/a.png", good())],
            "`horse`: expected a class number below 3 or one of `cat`, `dog`, `bird`, found \
             `horse`",
        ),
        (
            &[("3/a.png", good())],
            "`3`: expected a class number below 3",
        ),
        (
            &[("cat/more/a.png", good())],
            "`cat/more`: expected only images in a class's folder, found a folder",
        ),
        (
            &[("a.png", good()), ("b.gif", good())],
            "`b.gif`: expected a .png, .jpg, .jpeg or .webp image",
        ),
        (
            &[("cat/a.png", good()), ("cat/no.png", b"GIF89a".to_vec())],
            "cat/no.png: expected a PNG, JPEG or WebP image, found other bytes",
        ),
    ];
    let names = names();
    let form = SampleForm::new(SMALL).classes(3, Some(&names));
    for (files, said) in cases {
        let error = Scratch::new(files).read(&form).expect_err(said);
        assert!(error.contains(said), "said: {error}\n  not: {said}");
    }
}

/// The beginning of a PNG that claims a size.
fn claiming(width: u32, height: u32) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    file.extend(width.to_be_bytes());
    file.extend(height.to_be_bytes());
    file.extend([8, 2, 0, 0, 0]);
    let mut check = flate_crc(&file[12..]).to_be_bytes().to_vec();
    file.append(&mut check);
    file
}

/// The checksum of a PNG's chunk, bit by bit.
fn flate_crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32| (crc >> 1) ^ (0xedb8_8320 * (crc & 1));
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc))
    })
}

#[test]
fn images_that_are_none_too_large_or_cut_are_refused_by_name() {
    let colour = SampleForm::new(Shape::image(3, 10, 10));
    let cut = |name: &str| {
        let whole = bytes(name);
        whole[..whole.len() - 30].to_vec()
    };
    let most = "expected at most 32768 pixels per side and 134217728 in total";
    let cases = [
        (
            claiming(60_000, 60_000),
            format!("{most}, found 60000×60000"),
        ),
        (
            claiming(20_000, 20_000),
            format!("{most}, found 20000×20000"),
        ),
        (
            claiming(300, 300),
            "not a readable PNG image: unexpected end of file".into(),
        ),
        (cut("noise.png"), "not a readable PNG image".into()),
        (
            cut("photo.jpg"),
            "truncated: the JPEG image has no end".into(),
        ),
        (
            cut("progressive.jpeg"),
            "truncated: the JPEG image has no end".into(),
        ),
        (cut("lossy.webp"), "not a readable WebP image".into()),
        (
            b"\xff\xd8\xff\xe0".to_vec(),
            "not a readable JPEG image".into(),
        ),
        (
            Vec::new(),
            "expected a PNG, JPEG or WebP image, found other bytes".into(),
        ),
    ];
    for (file, said) in cases {
        let error = parse("x.png", file, &colour).expect_err(&said);
        assert!(error.contains(&said), "said: {error}\n  not: {said}");
    }
}

#[test]
fn images_need_an_input_of_their_channels_and_room_for_what_is_cut_out() {
    let cut_out = |resize| SampleForm {
        image_fit: ImageFit::Crop { resize },
        ..SampleForm::new(Shape::image(1, 4, 4))
    };
    let cases = [
        (
            SampleForm::new(Shape::Vector { features: 4 }),
            "expected an input of 1 channel (grey) or 3 (red, green, blue) for images, found",
        ),
        (SampleForm::new(Shape::image(2, 2, 2)), "for images, found"),
        (
            cut_out(None),
            "expected at least 4×4 pixels (width×height) for the crop, found 6×3",
        ),
        (
            cut_out(Some(3)),
            "found 6×3; set `input.resize` to resize first",
        ),
    ];
    for (form, said) in cases {
        let error = parse("x.png", grey(3, 6, 1), &form).expect_err(said);
        assert!(error.contains(said), "said: {error}\n  not: {said}");
    }
    assert!(parse("x.png", grey(3, 6, 1), &cut_out(Some(4))).is_ok());
    let large = SampleForm::new(Shape::image(3, 1 << 16, 1 << 15));
    let error = parse("x.png", grey(3, 6, 1), &large).expect_err("6 GiB");
    assert_eq!(error, "expected at most 0 samples with this shape, found 1");
}

/// Names of valid images of every format.
const VALID: [&str; 8] = [
    "noise.png",
    "palette.png",
    "bits.png",
    "photo.jpg",
    "progressive.jpeg",
    "inks.jpg",
    "lossy.webp",
    "lossless.webp",
];

proptest! {
    #[test]
    fn damage_anywhere_is_refused_or_read_without_panic(
        file in 0..VALID.len(),
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        end in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut bytes = bytes(VALID[file]);
        for (place, value) in places {
            *place.get_mut(&mut bytes) = value;
        }
        if is_cut {
            bytes.truncate(end.index(bytes.len()));
        }
        let form = SampleForm::new(Shape::image(3, 5, 6));
        if let Ok(samples) = Samples::parse("x.png", bytes, &form) {
            prop_assert_eq!((samples.len(), samples.width()), (1, 90));
        }
    }

    #[test]
    fn an_image_of_one_colour_keeps_it_at_any_size(
        (height, width) in (1u32..40, 1u32..40),
        (rows, columns) in (1usize..40, 1usize..40),
        value in any::<u8>(),
    ) {
        let form = SampleForm::new(Shape::image(3, rows, columns));
        let samples = parse("x.png", grey(height, width, value), &form).expect("an image");
        prop_assert!(samples.row(0).iter().all(|v| *v == f32::from(value)));
    }
}

#[test]
fn images_are_written_and_read_losslessly_by_webp_too() {
    let pixels: Vec<u8> = (0..48).map(|i| i * 5).collect();
    let mut file = Cursor::new(Vec::new());
    let encoder = image_webp::WebPEncoder::new(&mut file);
    let written = encoder.encode(&pixels, 4, 4, image_webp::ColorType::Rgb8);
    written.expect("encodes");
    let form = SampleForm::new(Shape::image(3, 4, 4));
    let samples = parse("x.webp", file.into_inner(), &form).expect("an image");
    let expected = (0..3).flat_map(|c| pixels.iter().skip(c).step_by(3));
    assert!(
        samples
            .row(0)
            .iter()
            .zip(expected)
            .all(|(a, b)| *a == f32::from(*b))
    );
}
