//! JPEGs as samples: the same to the bit as libjpeg reads them, or refused with the reason.
//!
//! `tests/model/image_files/make_jpegs.py` made the files and what libjpeg makes of them.

use std::fs;
use std::path::PathBuf;

use crate::place::root;
use divisi_model::ensemble::{SampleForm, Samples};
use divisi_runtime::network::Shape;
use proptest::prelude::*;

fn folder() -> PathBuf {
    root().join("tests/model/image_files/jpegs")
}

fn bytes(name: &str) -> Vec<u8> {
    fs::read(folder().join(name)).expect(name)
}

/// The height and width in the header of a PNG.
fn size(png: &[u8]) -> (usize, usize) {
    let side = |at: usize| usize::from(u16::from_be_bytes([png[at], png[at + 1]]));
    (side(22), side(18))
}

fn read(file: Vec<u8>, (height, width): (usize, usize)) -> Result<Vec<f32>, String> {
    let form = SampleForm::new(Shape::image(3, height, width));
    let samples = Samples::parse("x.jpg", file, &form).map_err(|e| e.to_string())?;
    Ok(samples.row(0).to_vec())
}

/// Returns the reason why a file is refused.
fn refusal(file: Vec<u8>) -> String {
    read(file, (4, 4)).expect_err("a refusal")
}

/// The place of the first marker with this code.
fn find(file: &[u8], code: u8) -> usize {
    let mut pairs = file.windows(2);
    pairs
        .position(|pair| pair == [0xff, code])
        .expect("a marker")
}

/// The places of all scans.
fn scans(file: &[u8]) -> Vec<usize> {
    let pairs = file.windows(2).enumerate();
    pairs
        .filter(|(_, pair)| *pair == [0xff, 0xda])
        .map(|(at, _)| at)
        .collect()
}

/// A file with other bytes somewhere behind its first marker with this code.
fn changed(name: &str, code: u8, behind: usize, new: &[u8]) -> Vec<u8> {
    let mut file = bytes(name);
    let at = find(&file, code) + behind;
    file[at..at + new.len()].copy_from_slice(new);
    file
}

/// A file with more bytes before its first marker with this code.
fn with(name: &str, code: u8, new: &[u8]) -> Vec<u8> {
    let mut file = bytes(name);
    let at = find(&file, code);
    file.splice(at..at, new.iter().copied());
    file
}

#[test]
fn jpegs_are_read_to_the_bit_as_libjpeg_reads_them() {
    let mut count = 0;
    for entry in fs::read_dir(folder()).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().and_then(|n| n.to_str()).expect("a name");
        if path.extension().is_some_and(|end| end == "jpg") {
            let png = bytes(&format!("{name}.png"));
            let size = size(&png);
            let found = read(bytes(&format!("{name}.jpg")), size).expect(name);
            assert!(found == read(png, size).expect(name), "{name}");
            count += 1;
        }
    }
    assert_eq!(count, 64);
}

#[test]
fn what_stands_between_markers_and_behind_the_end_is_skipped() {
    let plain = bytes("jfif.jpg");
    let expected = read(plain.clone(), (12, 20)).expect("an image");
    let comment = b"\xff\xfe\x00\x05abc";
    for file in [
        with("jfif.jpg", 0xc0, b"\xff\xff\xff"),
        with("jfif.jpg", 0xda, b"\0\0ab"),
        with("jfif.jpg", 0xd9, b"\0\0\0\0"),
        with("jfif.jpg", 0xc0, comment),
        with("jfif.jpg", 0xdb, comment),
        [plain.clone(), bytes("adobe-0.jpg")].concat(),
        [plain, vec![7; 100]].concat(),
    ] {
        assert_eq!(read(file, (12, 20)).expect("an image"), expected);
    }
}

#[test]
fn coding_that_is_not_read_is_refused_by_name() {
    let process = |code: u8| changed("jfif.jpg", 0xc0, 1, &[code]);
    for (file, said) in [
        (process(0xc3), "lossless coding (marker SOF3)"),
        (process(0xc5), "hierarchical coding (marker SOF)"),
        (process(0xc9), "arithmetic coding (marker SOF9)"),
        (process(0xca), "arithmetic coding (marker SOF10)"),
        (
            changed("jfif.jpg", 0xc0, 4, &[12]),
            "expected 8 bits per sample (marker SOF), found 12",
        ),
        (
            changed("jfif.jpg", 0xc0, 5, &[0, 0]),
            "expected a size above 0 (marker SOF), found 20×0; a height in marker DNL is not \
             supported",
        ),
        (
            changed("jfif.jpg", 0xc0, 9, &[2]),
            "expected 1, 3 or 4 colour components (marker SOF), found 2",
        ),
        (
            changed("three.jpg", 0xc0, 14, &[0x21]),
            "component 2: expected sampling factors from 1 to 4",
        ),
        (
            changed("jfif.jpg", 0xc0, 11, &[0x44]),
            "a scan (marker SOS) has more than 10 blocks a unit (sampling)",
        ),
        (
            with("jfif.jpg", 0xc0, b"\xff\xf0\0\x02"),
            "unexpected marker FFF0",
        ),
        (
            with("jfif.jpg", 0xc0, b"\xff\xd8"),
            "unexpected marker FFD8",
        ),
    ] {
        let error = refusal(file);
        assert!(error.contains(said), "said: {error}\n  not: {said}");
        assert!(error.contains("not a readable JPEG image"), "{error}");
    }
}

#[test]
fn scans_that_leave_something_open_are_refused() {
    let each = bytes("each-420.jpg");
    let at = scans(&each);
    let end = each.len() - 2;
    let without_last = [&each[..at[2]], &each[end..]].concat();
    let without_second = [&each[..at[1]], &each[at[2]..]].concat();
    let twice = [&each[..at[1]], &each[at[0]..]].concat();
    let steps = bytes("steps-420.jpg");
    let coarse = scans(&steps)[10];
    let coarse = [&steps[..coarse], b"\xff\xd9"].concat();
    for (file, said) in [
        (without_last, "no scan holds component 3"),
        (without_second, "no scan holds component 2"),
        (twice, "a scan (marker SOS) has what an earlier scan holds"),
        (coarse, "the scans of component 1 are incomplete"),
        (
            [&each[..at[0]], &each[end..]].concat(),
            "the file has no scan (marker SOS)",
        ),
    ] {
        let error = refusal(file);
        assert!(error.contains(said), "said: {error}\n  not: {said}");
    }
}

#[test]
fn damaged_scans_are_refused() {
    let cut = |name: &str, by: usize| {
        let file = bytes(name);
        file[..file.len() - by].to_vec()
    };
    let early = |name: &str| [cut(name, 30), b"\xff\xd9".to_vec()].concat();
    let marker = |code: u8| changed("together-420.jpg", 0xd1, 1, &[code]);
    for (file, said) in [
        (
            cut("each-420.jpg", 30),
            "truncated: the JPEG image has no end",
        ),
        (
            cut("each-420.jpg", 2),
            "truncated: the JPEG image has no end",
        ),
        (
            cut("steps-420.jpg", 9),
            "truncated: the JPEG image has no end",
        ),
        (
            early("each-420.jpg"),
            "a scan is damaged: it ends before the last block",
        ),
        (early("together-444.jpg"), "a scan is damaged"),
        (marker(0xd2), "a scan is damaged: expected marker RST1"),
        (marker(0xd9), "a scan is damaged: expected marker RST1"),
        (
            changed("each-420.jpg", 0xda, 6, &[0x33]),
            "a scan needs DC Huffman table 3, but no marker DHT defines the table",
        ),
        (
            changed("each-420.jpg", 0xdb, 4, &[3]),
            "a scan needs quantisation table 0, but no marker DQT defines the table",
        ),
        (
            changed("each-420.jpg", 0xda, 5, &[9]),
            "a scan (marker SOS) has a component that the frame does not have",
        ),
        (
            changed("each-420.jpg", 0xc4, 5, &[200]),
            "FFC4 has a wrong length or content",
        ),
        (
            changed("each-420.jpg", 0xc4, 5, &[1, 0]),
            "a Huffman table (marker DHT) has impossible codes",
        ),
    ] {
        let error = refusal(file);
        assert!(error.contains(said), "said: {error}\n  not: {said}");
    }
}

#[test]
fn a_header_that_claims_more_blocks_than_the_file_has_bits_takes_no_memory() {
    let claiming = |size: &[u8]| changed("jfif.jpg", 0xc0, 5, size);
    let error = refusal(claiming(&[0x20, 0, 0x20, 0]));
    assert!(
        error.contains("expected a longer file for 67108864 pixels"),
        "{error}"
    );
    let error = refusal(claiming(&[0xff, 0xff, 0, 20]));
    assert!(error.contains("found 20×65535"), "{error}");
}

/// A segment with its marker and length.
fn segment(code: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len() + 2).expect("short");
    [&[0xff, code], &length.to_be_bytes()[..], content].concat()
}

/// A progressive JPEG of one block whose coefficients come bit by bit, each in a scan of its own.
fn bit_by_bit() -> Vec<u8> {
    let codes = [&[0x10, 1], &[0; 15][..], &[0]].concat();
    let mut file = vec![0xff, 0xd8];
    file.extend(segment(0xdb, &[0; 65]));
    file.extend(segment(0xc2, &[8, 0, 8, 0, 8, 1, 1, 0x11, 0]));
    file.extend(segment(0xc4, &codes));
    for low in (0..=13).rev() {
        let high = if low == 13 { 0 } else { low + 1 };
        for at in 1..=63 {
            file.extend(segment(0xda, &[1, 1, 0, at, at, high << 4 | low]));
            file.push(0x7f);
        }
    }
    file.extend([0xff, 0xd9]);
    file
}

#[test]
fn a_file_with_hundreds_of_scans_is_refused() {
    let error = refusal(bit_by_bit());
    assert!(error.contains("expected at most 500 scans"), "{error}");
}

/// Names of files of every kind of coding.
const VALID: [&str; 6] = [
    "each-420.jpg",
    "steps-422.jpg",
    "together-410.jpg",
    "progressive-restart.jpg",
    "inks-each-420.jpg",
    "mixed.jpg",
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
        if let Ok(values) = read(bytes, (4, 4)) {
            prop_assert_eq!(values.len(), 48);
        }
    }
}
