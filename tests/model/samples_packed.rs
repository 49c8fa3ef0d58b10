//! Samples and labels in `.npz` and JSON, and what is said of files that hold something else.

use divisi_model::ensemble::{Classes, ImageLayout, SampleForm, Samples};
use divisi_runtime::network::Shape;
use proptest::prelude::*;
use zip::CompressionMethod;

use crate::npy::npy;
use crate::npz::archive;

fn names() -> Vec<String> {
    ["cat", "dog", "bird"].map(str::to_owned).to_vec()
}

fn read(name: &str, bytes: impl Into<Vec<u8>>) -> Result<Samples, String> {
    let names = names();
    let form = SampleForm::new(Shape::image(1, 2, 2)).classes(3, Some(&names));
    Samples::parse(name, bytes.into(), &form).map_err(|e| e.to_string())
}

fn samples_npy() -> Vec<u8> {
    npy("|u1", "False", "(2, 4)", &[1, 2, 3, 4, 5, 6, 7, 8])
}

fn labels_npy() -> Vec<u8> {
    npy("|S4", "False", "(2,)", b"birdcat\0")
}

#[test]
fn arrays_of_an_npz_are_samples_and_labels() {
    let both: [&[(&str, Vec<u8>)]; 4] = [
        &[("x.npy", samples_npy()), ("y.npy", labels_npy())],
        &[("Y.npy", labels_npy()), ("X.npy", samples_npy())],
        &[("samples.npy", samples_npy()), ("labels.npy", labels_npy())],
        &[("x.npy", samples_npy()), ("labels.npy", labels_npy())],
    ];
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        for files in both {
            let samples = read("a.npz", archive(method, files)).expect("two");
            assert_eq!(samples.values(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
            assert_eq!(samples.labels(), Some(&[2, 0][..]));
        }
        let alone = archive(method, &[("arr_0.npy", samples_npy())]);
        let samples = read("A.NPZ", alone).expect("two");
        assert_eq!((samples.len(), samples.labels()), (2, None));
        let names = names();
        let classes = Classes {
            count: 3,
            names: Some(&names),
        };
        for files in [&both[1][..1], both[0]] {
            let samples = read("a.npy", samples_npy()).expect("two");
            let labelled = samples.labelled_by("y.npz", archive(method, files), &classes);
            assert_eq!(labelled.expect("labels").labels(), Some(&[2, 0][..]));
        }
    }
}

#[test]
fn an_npz_of_something_else_says_what_there_is() {
    let stored = |files: &[(&str, Vec<u8>)]| archive(CompressionMethod::Stored, files);
    let mut cut = stored(&[("x.npy", samples_npy())]);
    cut.truncate(100);
    let cases = [
        (
            stored(&[
                ("x_test.npy", samples_npy()),
                ("x_train.npy", samples_npy()),
                ("y\u{1b}.npy", labels_npy()),
            ]),
            "expected one array, or `samples` (`x`) and `labels` (`targets`, `y`), found `x_test`, \
             `x_train`, `y\\u{1b}`",
        ),
        (
            stored(&[("x.npy", samples_npy()), ("samples.npy", samples_npy())]),
            "found `x`, `samples`",
        ),
        (stored(&[("y.npy", labels_npy())]), "found `y`"),
        (stored(&[]), "expected an array, found none"),
        (
            stored(&[("x.npy", labels_npy())]),
            "array `x`: not a readable .npy file: expected the shape [n, 1, 2, 2] or [n, 4], \
             found [2]",
        ),
        (
            stored(&[("x.npy", samples_npy()), ("y.npy", samples_npy())]),
            "array `y`: not a readable .npy file: expected the shape [n], one label per sample, \
             found [2, 4]",
        ),
        (
            stored(&[("x.txt", b"hello".to_vec())]),
            "array `x.txt`: not a readable .npy file: its first bytes are not NumPy's",
        ),
        (cut, "not a readable .npz file"),
        (b"PK".to_vec(), "not a readable .npz file"),
    ];
    for (file, said) in cases {
        let error = read("a.npz", file).expect_err(said);
        assert!(error.contains(said), "said: {error}\n  not: {said}");
    }
}

#[test]
fn an_array_that_claims_to_be_too_large_is_not_unpacked() {
    let mut file = archive(CompressionMethod::Stored, &[("x.npy", samples_npy())]);
    let find = |file: &[u8], sign: &[u8]| file.windows(4).position(|w| w == sign).expect("there");
    // The sizes of an entry are at 20 and 24, the lengths of its name and further fields at 28
    // and 30; such a field of number 1 holds sizes of 64 bits.
    let entry = find(&file, b"PK\x01\x02");
    file[entry + 24..entry + 28].fill(0xff);
    file[entry + 30] = 12;
    let field = [1u16.to_le_bytes(), 8u16.to_le_bytes()].concat();
    let field = [field, (5u64 << 30).to_le_bytes().to_vec()].concat();
    let behind = entry + 46 + "x.npy".len();
    file.splice(behind..behind, field);
    // The length of the directory is at 12 of what ends it.
    let end = find(&file, b"PK\x05\x06");
    file[end + 12] += 12;
    let error = read("a.npz", file).expect_err("5 GiB");
    assert_eq!(
        error,
        "not a readable .npz file: expected arrays of at most 4 GiB: `x` is larger"
    );
}

#[test]
fn json_is_rows_alone_or_with_labels() {
    let rows = "[[1, 2, 3, 4], [[[5, 6.0], [7, 8e0]]]]";
    let flat = "[[[1, 2], [3, 4]], [5, 6, 7, 8]]";
    let cases = [
        ("a.json", rows.to_owned(), None),
        ("a.json", flat.to_owned(), None),
        (
            "a.JSON",
            format!(r#"{{"samples": {rows}, "labels": ["dog", 2]}}"#),
            Some([1, 2]),
        ),
        (
            "a.json",
            format!(r#"{{"y": [0, 1.0], "x": {flat}}}"#),
            Some([0, 1]),
        ),
        ("a.jsonl", "[1,2,3,4]\n\n[[5,6],[7,8]]\n".to_owned(), None),
        (
            "a.jsonl",
            "{\"sample\": [1,2,3,4], \"label\": \"cat\"}\r\n{\"y\": 2, \"x\": [5,6,7,8]}"
                .to_owned(),
            Some([0, 2]),
        ),
    ];
    for (name, text, labels) in cases {
        let samples = read(name, text.clone()).expect(&text);
        assert_eq!(samples.values(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        assert_eq!(samples.labels(), labels.as_ref().map(|l| &l[..]));
    }
}

#[test]
fn json_holds_images_in_their_layout_and_labels_alone() {
    let form = SampleForm {
        layout: ImageLayout::Nhwc,
        ..SampleForm::new(Shape::image(2, 1, 2))
    };
    let text = b"[[[[1, 2], [3, 4]]]]".to_vec();
    let samples = Samples::parse("a.json", text, &form).expect("one");
    assert_eq!(samples.values(), [1.0, 3.0, 2.0, 4.0]);
    let labelled = samples.labelled_by("y.json", b"[7]".to_vec(), &Classes::any());
    assert_eq!(labelled.expect("a label").labels(), Some(&[7][..]));
}

#[test]
fn json_that_holds_something_else_names_the_row() {
    let long = "9,".repeat(500);
    let long = format!("[[{long}9]]");
    let deep = "[".repeat(500);
    let cases = [
        (
            "a.json",
            "[[1,2,3]]",
            "row 0: expected the shape [1, 2, 2] or [4], found [3]",
        ),
        (
            "a.json",
            "[[1,2,3,4],[[1,2],[3]]]",
            "row 1: expected arrays of equal lengths",
        ),
        (
            "a.json",
            "[[1,[2],3,4]]",
            "row 0: expected arrays of equal lengths and depths",
        ),
        (
            "a.json",
            "[[[1],2,3,4]]",
            "row 0: expected arrays of equal lengths and depths",
        ),
        (
            "a.json",
            "[[1,2,3,\"4\"]]",
            "row 0: expected a number, found `4`",
        ),
        (
            "a.json",
            "[[1,2,3,null]]",
            "row 0: expected a number, found null",
        ),
        (
            "a.json",
            "[[1,2,3,true]]",
            "row 0: expected a number, found true",
        ),
        (
            "a.json",
            "[[1,2,3,{}]]",
            "row 0: expected a number, found an object",
        ),
        (
            "a.json",
            "[[1,2,3,1e300]]",
            "row 0: expected numbers that float32 can hold, found 1e300",
        ),
        ("a.json", &long, "row 0: expected 4 values, found more"),
        (
            "a.json",
            "[1,2,3,4]",
            "row 0: expected the shape [1, 2, 2] or [4], found []",
        ),
        (
            "a.json",
            "[[1,2,3,4],\n[1,2,",
            "line 2, column 5: EOF while parsing a value",
        ),
        (
            "a.json",
            "[[1,2,3,4]] 7",
            "line 1, column 13: trailing characters",
        ),
        (
            "a.json",
            &deep,
            "line 1, column 128: recursion limit exceeded",
        ),
        (
            "a.json",
            "7",
            "expected an array of samples, or an object of `samples` (`x`) and `labels`",
        ),
        ("a.json", "[]", "expected at least one sample, found none"),
        (
            "a.json",
            r#"{"labels": [1]}"#,
            "expected the field `samples`",
        ),
        (
            "a.json",
            r#"{"data": [[1,2,3,4]]}"#,
            "expected the fields `samples` (`x`) and `labels` (`targets`, `y`), found `data`",
        ),
        (
            "a.json",
            r#"{"x": [[1,2,3,4]], "samples": []}"#,
            "`samples` appears twice",
        ),
        (
            "a.json",
            r#"{"x": [[1,2,3,4]], "y": ["horse"]}"#,
            "row 0: expected a class number below 3 or one of `cat`, `dog`, `bird`, found `horse`",
        ),
        (
            "a.json",
            r#"{"x": [[1,2,3,4]], "y": [0.5]}"#,
            "row 0: expected a whole number, found 0.5",
        ),
        (
            "a.json",
            r#"{"x": [[1,2,3,4]], "y": []}"#,
            "expected a label for each of 1 samples, found 0",
        ),
        (
            "a.jsonl",
            "[1,2,3,4]\n[1,2,3]\n",
            "row 1: expected the shape [1, 2, 2] or [4]",
        ),
        (
            "a.jsonl",
            "[1,2,3,4]\n\n[1,2,3,\n",
            "line 3, column 7: EOF while parsing a value",
        ),
        (
            "a.jsonl",
            "[1,2,3,4]\n{\"z\": 1}",
            "line 2: expected the fields `sample` (`x`) and `label`",
        ),
        (
            "a.jsonl",
            "{\"x\": [1,2,3,4], \"y\": 1}\n[1,2,3,4]",
            "expected a label for each of 2 samples, found 1",
        ),
    ];
    for (name, text, said) in cases {
        let error = read(name, text).expect_err(said);
        assert!(error.contains(said), "said: {error}\n  not: {said}");
        assert!(error.len() < 400, "{error}");
    }
}

proptest! {
    #[test]
    fn damaged_archives_and_json_are_refused_or_read_without_panic(
        place in any::<prop::sample::Index>(),
        value in any::<u8>(),
        end in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let files = [("x.npy", samples_npy()), ("y.npy", labels_npy())];
        let packed = archive(CompressionMethod::Deflated, &files);
        let text = br#"{"x": [[[1, 2], [3, 4]]], "y": ["cat"]}"#.to_vec();
        for (name, mut bytes) in [("a.npz", packed), ("a.json", text.clone()), ("a.jsonl", text)] {
            *place.get_mut(&mut bytes) = value;
            if is_cut {
                bytes.truncate(end.index(bytes.len()));
            }
            if let Ok(samples) = read(name, bytes) {
                prop_assert_eq!(samples.width(), 4);
            }
        }
    }
}
