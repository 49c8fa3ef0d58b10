//! Samples and labels from files: every type and layout, and what is wrong with others.

use divisi_model::ensemble::samples::to_npy;
use divisi_model::ensemble::{Classes, ImageLayout, SampleForm, Samples};
use divisi_runtime::network::Shape;
use half::f16;

use crate::npy::npy;

const SHAPE: Shape = Shape::image(1, 2, 2);

fn form() -> SampleForm<'static> {
    SampleForm::new(SHAPE)
}

fn parse(bytes: Vec<u8>, form: &SampleForm<'_>) -> Result<Samples, String> {
    Samples::parse("x.npy", bytes, form).map_err(|e| e.to_string())
}

/// 0 to 7 as a type that `bytes` writes.
fn count<const N: usize>(bytes: impl Fn(u8) -> [u8; N]) -> Vec<u8> {
    (0..8).flat_map(bytes).collect()
}

#[test]
fn every_type_of_number_is_read_and_stays_as_it_is() {
    let cases: [(&str, Vec<u8>); 15] = [
        ("<f2", count(|i| f16::from_f32(f32::from(i)).to_le_bytes())),
        (">f2", count(|i| f16::from_f32(f32::from(i)).to_be_bytes())),
        ("<f4", count(|i| f32::from(i).to_le_bytes())),
        (">f4", count(|i| f32::from(i).to_be_bytes())),
        ("<f8", count(|i| f64::from(i).to_le_bytes())),
        ("|i1", count(|i| i.to_le_bytes())),
        ("|u1", count(|i| [i])),
        ("<i2", count(|i| i16::from(i).to_le_bytes())),
        ("<u2", count(|i| u16::from(i).to_le_bytes())),
        (">u2", count(|i| u16::from(i).to_be_bytes())),
        ("<i4", count(|i| i32::from(i).to_le_bytes())),
        ("<u4", count(|i| u32::from(i).to_le_bytes())),
        ("<i8", count(|i| i64::from(i).to_le_bytes())),
        (">i8", count(|i| i64::from(i).to_be_bytes())),
        ("<u8", count(|i| u64::from(i).to_le_bytes())),
    ];
    for (descr, data) in cases {
        for shape in ["(2, 4)", "(2, 1, 2, 2)", "(2, 2, 2)"] {
            let file = npy(descr, "False", shape, &data);
            let size = file.len();
            let samples = parse(file, &form()).expect(descr);
            assert_eq!(samples.len(), 2);
            assert_eq!(
                samples.rows(0, 2)[..],
                [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
            );
            assert_eq!(
                samples.rows(1, 2)[..],
                [4.0, 5.0, 6.0, 7.0, 0.0, 1.0, 2.0, 3.0]
            );
            assert_eq!(samples.bytes(), size, "{descr}: nothing else is held");
        }
    }
    let flags = npy("|b1", "False", "(1, 4)", &[1, 0, 0, 1]);
    let samples = parse(flags, &form()).expect("bool");
    assert_eq!(samples.rows(0, 1)[..], [1.0, 0.0, 0.0, 1.0]);
    let signed = npy("|i1", "False", "(1, 4)", &[0xff, 0x80, 0x7f, 0]);
    let samples = parse(signed, &form()).expect("int8");
    assert_eq!(samples.rows(0, 1)[..], [-1.0, -128.0, 127.0, 0.0]);
}

#[test]
fn bytes_take_no_more_memory_than_their_file_and_a_batch() {
    // As many images as the 246 MB that became 1.45 GB, a hundredth of each.
    let (rows, width) = (800, 3072);
    let shape = Shape::image(3, 32, 32);
    let data: Vec<u8> = (0..rows * width).map(|i| (i % 251) as u8).collect();
    let file = npy("|u1", "False", "(800, 3, 32, 32)", &data);
    let (size, capacity) = (file.len(), file.capacity());
    let samples = parse(file, &SampleForm::new(shape)).expect("bytes");
    for first in (0..2000).step_by(128) {
        let batch = samples.rows(first, 128);
        assert_eq!(batch.len(), 128 * width);
        let at = (first + 127) % rows * width;
        assert!((batch[127 * width] - (at % 251) as f32).abs() < f32::EPSILON);
    }
    assert_eq!(samples.bytes(), size);
    assert!(capacity <= 2 * size);
    let skipped = samples.skip(300).expect("500 are left");
    assert_eq!((skipped.len(), skipped.bytes()), (500, size));
    assert!((skipped.rows(0, 1)[0] - (300 * width % 251) as f32).abs() < f32::EPSILON);
}

#[test]
fn images_pixel_by_pixel_become_channel_by_channel() {
    let shape = Shape::image(3, 2, 2);
    let form = SampleForm {
        layout: ImageLayout::Nhwc,
        ..SampleForm::new(shape)
    };
    // Pixel p of channel c is 10 c + p; the second image is a hundred more.
    let value = |image: u8, pixel: u8, channel: u8| 100 * image + 10 * channel + pixel;
    let pixels = |image| (0..4).flat_map(move |p| (0..3).map(move |c| value(image, p, c)));
    let planes = |image| (0..3).flat_map(move |c| (0..4).map(move |p| value(image, p, c)));
    let data: Vec<u8> = (0..2).flat_map(pixels).collect();
    let expected: Vec<f32> = (0..2).flat_map(planes).map(f32::from).collect();
    for dims in ["(2, 2, 2, 3)", "(2, 12)"] {
        let samples = parse(npy("|u1", "False", dims, &data), &form).expect("images");
        assert_eq!(samples.rows(0, 2)[..], expected);
        assert_eq!(samples.values(), expected);
        assert_eq!(samples.rows(1, 1)[..], expected[12..]);
    }
    let names: Vec<String> = (0..12).map(|i| format!("v{i}")).collect();
    let row = |image: u8| {
        pixels(image)
            .map(|v| v.to_string())
            .collect::<Vec<_>>()
            .join(",")
    };
    let text = format!("{}\n{}\n{}\n", names.join(","), row(0), row(1));
    let samples = Samples::parse("x.csv", text.into_bytes(), &form).expect("images");
    assert_eq!(samples.values(), expected);
}

#[test]
fn npy_files_that_are_something_else_say_what_was_expected() {
    let four = [0u8; 64];
    let nan = f16::NAN.to_le_bytes().repeat(4);
    let large = 1e300f64.to_le_bytes().repeat(4);
    let cases = [
        (
            npy("<f4", "False", "(3, 4)", &four[..47]),
            "truncated: expected 48 bytes of data, found 47",
        ),
        (npy("<i8", "False", "(99999999999, 4)", &four), "truncated"),
        (
            npy("|u1", "False", "(4611686018427387904, 16)", &four),
            "truncated",
        ),
        (
            npy("|u1", "True", "(2, 4)", &four),
            "expected C order, found Fortran order: save numpy.ascontiguousarray(x)",
        ),
        (npy("<c8", "False", "(1, 4)", &four), "bool, found <c8"),
        (
            npy("|V2", "False", "(1, 4)", &four),
            "NumPy has no name for bfloat16: save x.astype('float32')",
        ),
        (npy("<U2", "False", "(1, 4)", &four), "found <U2"),
        (
            npy("|u1", "False", "(4,)", &four),
            "expected the shape [n, 1, 2, 2] or [n, 4], found [4]",
        ),
        (
            npy("|u1", "False", "()", &four),
            "expected the shape [n, 1, 2, 2] or [n, 4], found []",
        ),
        (
            npy("|u1", "False", "(0, 4)", &[]),
            "expected at least one sample, found none",
        ),
        (
            npy("<f2", "False", "(1, 4)", &nan),
            "sample 0: value 0 is not a finite number",
        ),
        (
            npy("<f8", "False", "(1, 4)", &large),
            "sample 0: value 0 is not a finite number",
        ),
        (b"\x93NUMPY\x01\x00".to_vec(), "not a readable .npy file"),
        (Vec::new(), "not a readable .npy file"),
    ];
    for (file, said) in cases {
        let error = parse(file, &form()).expect_err(said);
        assert!(error.contains(said), "said: {error}\n  not: {said}");
    }
    let colour = SampleForm::new(Shape::image(3, 2, 4));
    let error = parse(npy("|u1", "False", "(2, 2, 4, 3)", &four), &colour).expect_err("NHWC");
    assert!(
        error.ends_with("found [2, 2, 4, 3]; is its layout nhwc?"),
        "{error}"
    );
}

/// A file with this header, as it is.
fn headed(version: [u8; 2], length: &[u8], header: &str, data: &[u8]) -> Vec<u8> {
    [b"\x93NUMPY", &version[..], length, header.as_bytes(), data].concat()
}

/// The same with the length that it has.
fn with_header(header: &str, data: &[u8]) -> Vec<u8> {
    let length = (header.len() as u32).to_le_bytes();
    headed([2, 0], &length, header, data)
}

#[test]
fn headers_that_others_write_are_read() {
    let filled = format!(
        "{{'descr': '|u1', 'fortran_order': False, 'shape': (1, 4), }}{}\n",
        " ".repeat(60_000)
    );
    for header in [
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 4)}",
        r#"{"descr": "|u1", "fortran_order": False, "shape": (1, 4)}"#,
        "{'shape':(1,4,),'fortran_order':True,'descr':'<u1'}\n",
        " { 'descr' : '|u1' , 'fortran_order' : False , 'shape' : [ 1 , 4 ] , } ",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1L, 4L), }",
        &filled,
    ] {
        let samples = parse(with_header(header, &[0, 1, 2, 3]), &form()).expect(header);
        assert_eq!(samples.rows(0, 1)[..], [0.0, 1.0, 2.0, 3.0]);
    }
}

#[test]
fn headers_are_believed_only_as_far_as_their_bytes_go() {
    let usual = |descr: &str, shape: &str| {
        let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}");
        with_header(&header, &[0; 4])
    };
    let nested = |open: &str| usual(&open.repeat(24), "(1, 4)");
    let long = format!("({})", "1, ".repeat(20_000));
    let cases = [
        (
            headed([2, 0], &[0xff; 4], "{", &[]),
            "expected a header of at most 65536 bytes, found 4294967295",
        ),
        (
            headed([3, 0], &[0, 0, 1, 0], "{", &[]),
            "truncated within its header",
        ),
        (
            headed([1, 0], &[9, 0], "{", &[]),
            "truncated within its header",
        ),
        (
            headed([4, 7], &[1, 0], "{", &[]),
            "version 1.0, 2.0 or 3.0, found 4.7",
        ),
        (b"NUMPY".to_vec(), "its first bytes are not NumPy's"),
        (nested("["), "expected numbers, found records"),
        (nested("("), "expected numbers, found records"),
        (
            nested("{"),
            "expected a word in quotes in its header, found `{{{{",
        ),
        (
            usual("'|u1'", &"[".repeat(24)),
            "expected a shape of whole numbers",
        ),
        (
            with_header(&"{".repeat(24), &[]),
            "expected a word in quotes",
        ),
        (
            with_header(&"-".repeat(60_000), &[]),
            "expected `{` in its header, found `---",
        ),
        (
            usual("[('a', '<f4')]", "(1, 4)"),
            "expected numbers, found records",
        ),
        (
            usual("'|u1'", "(-1, 4)"),
            "expected a shape of whole numbers in its header, found `-1, 4)",
        ),
        (
            usual("'|u1'", "(1.0, 4)"),
            "expected `)` in its header, found `.0, 4)}`",
        ),
        (
            usual("'|u1'", "(99999999999999999999, 4)"),
            "truncated: a dimension of 99999999999999999999",
        ),
        (
            usual("'|u1'", "(4294967296, 4294967296)"),
            "truncated: its shape",
        ),
        (usual("'|u1'", &long), "expected at most 64 dimensions"),
        (
            usual("'|u1'", "4"),
            "expected `(` in its header, found `4}`",
        ),
        (usual("'é'", "(1, 4)"), "found é"),
        (usual("''", "(1, 4)"), "found "),
        (usual("'u1'", "(1, 4)"), "found u1"),
        (usual("'|u2'", "(1, 4)"), "found |u2"),
        (usual("'|u1\\'", "(1, 4)"), "expected a word in quotes"),
        (usual("'|u1", "(1, 4)"), "expected"),
        (
            with_header("{'shape': (1, 4), 'fortran_order': False}", &[]),
            "has no `descr`",
        ),
        (
            with_header("{'shape': (1, 4), 'shape': (1, 4)}", &[]),
            "`shape` appears twice",
        ),
        (
            with_header("{'shape': (1, 4), 'colour': 'red'}", &[]),
            "and `shape`, found `colour`",
        ),
        (
            with_header("{'shape': (1, 4), 'fortran_order': 0}", &[]),
            "expected True or False",
        ),
        (
            with_header("{} {}", &[]),
            "expected its end in its header, found `{}`",
        ),
        (with_header("{\u{1b}[2J}", &[]), "found `\\u{1b}[2J}`"),
        (
            npy("|u1", "False", "(1, 4)", &[0; 5]),
            "more than one array: expected 4 bytes of data, found 5",
        ),
    ];
    for (file, said) in cases {
        let error = parse(file, &form()).expect_err(said);
        assert!(error.contains(said), "said: {error}\n  not: {said}");
        assert!(error.len() < 400, "{error}");
    }
}

#[test]
fn a_vector_has_one_shape_in_a_file() {
    let form = SampleForm::new(Shape::Vector { features: 4 });
    let error = parse(npy("|u1", "False", "(1, 5)", &[0; 5]), &form).expect_err("5");
    assert!(
        error.ends_with("expected the shape [n, 4], found [1, 5]"),
        "{error}"
    );
}

#[test]
fn labels_that_are_empty_texts_or_of_another_size_are_refused() {
    for (descr, shape, data, said) in [
        ("<U0", "(1000000000000000000,)", 0, "found empty texts"),
        ("|S0", "(1099511627776,)", 0, "found empty texts"),
        ("|S0", "(4,)", 0, "found empty texts"),
        ("<U", "(4,)", 0, "expected names of classes, found <U"),
        (
            "<U99999999999999999999",
            "(4,)",
            4,
            "expected names of classes, found <U9999",
        ),
        (
            "<U4611686018427387904",
            "(4,)",
            4,
            "expected names of classes, found <U4611",
        ),
        ("|S4611686018427387904", "(4,)", 4, "truncated: expected"),
        ("|S1", "(1000000000000000000,)", 4, "truncated: expected"),
        (
            "|S1",
            "(4,)",
            5,
            "more than one array: expected 4 bytes of data, found 5",
        ),
        ("|u1", "(4,)", 5, "more than one array"),
    ] {
        let file = npy(descr, "False", shape, &vec![b'1'; data]);
        let error = labelled("y.npy", file, None).expect_err(descr);
        assert!(error.contains(said), "{descr}: {error}");
    }
}

#[test]
fn a_file_cut_anywhere_is_refused_without_panic() {
    let whole = npy("<f4", "False", "(2, 4)", &[0; 32]);
    for end in 0..whole.len() {
        assert!(
            parse(whole[..end].to_vec(), &form()).is_err(),
            "cut at {end}"
        );
    }
    let labels = npy("<U3", "False", "(2,)", &[0; 24]);
    for end in 0..labels.len() {
        let samples = parse(whole.clone(), &form()).expect("two");
        let cut = labels[..end].to_vec();
        assert!(samples.labelled_by("y.npy", cut, &Classes::any()).is_err());
    }
}

/// Four samples with the labels of a file.
fn labelled(name: &str, bytes: Vec<u8>, names: Option<&[String]>) -> Result<Vec<usize>, String> {
    let samples = parse(npy("|u1", "False", "(4, 4)", &[0; 16]), &form()).expect("four");
    let classes = Classes { count: 7, names };
    let samples = samples.labelled_by(name, bytes, &classes);
    let samples = samples.map_err(|e| e.to_string())?;
    Ok(samples.labels().expect("labels").to_vec())
}

fn names() -> Vec<String> {
    let names = ["cat", "dog", "bird", "fish", "cow", "Hühnchen", "3"];
    names.map(str::to_owned).to_vec()
}

/// Text as NumPy has it: four bytes a character, filled up with zeros.
fn unicode(texts: &[&str], length: usize, big: bool) -> Vec<u8> {
    let text = |text: &&str| {
        let mut letters: Vec<u32> = text.chars().map(u32::from).collect();
        letters.resize(length, 0);
        letters
    };
    let letters = texts.iter().flat_map(text);
    let bytes = letters.map(|l| {
        if big {
            l.to_be_bytes()
        } else {
            l.to_le_bytes()
        }
    });
    bytes.flatten().collect()
}

#[test]
fn labels_lie_beside_their_samples_as_numbers_or_names() {
    let names = names();
    let numbers = |descr: &str, shape: &str, data: &[u8]| npy(descr, "False", shape, data);
    let four: Vec<u8> = [3i64, 0, 6, 1]
        .iter()
        .flat_map(|l| l.to_le_bytes())
        .collect();
    let cases = [
        ("y.npy", numbers("<i8", "(4,)", &four), vec![3, 0, 6, 1]),
        ("y.npy", numbers("<i8", "(4, 1)", &four), vec![3, 0, 6, 1]),
        (
            "y.npy",
            numbers("|u1", "(4,)", &[0, 1, 2, 5]),
            vec![0, 1, 2, 5],
        ),
        (
            "Y.NPY",
            numbers(
                "<U8",
                "(4,)",
                &unicode(&["dog", "Hühnchen", "cat", "dog"], 8, false),
            ),
            vec![1, 5, 0, 1],
        ),
        (
            "y.npy",
            numbers(
                ">U4",
                "(4,)",
                &unicode(&["dog", "fish", "cat", "2"], 4, true),
            ),
            vec![1, 3, 0, 2],
        ),
        (
            "y.npy",
            numbers("|S4", "(4,)", b"dog\0fishcat\0cow\0"),
            vec![1, 3, 0, 4],
        ),
        (
            "y.npy",
            numbers("|b1", "(4,)", &[0, 1, 1, 0]),
            vec![0, 1, 1, 0],
        ),
        (
            "y.npy",
            numbers(
                ">f4",
                "(4,)",
                &[1.0f32, 0.0, 6.0, -0.0].map(f32::to_be_bytes).concat(),
            ),
            vec![1, 0, 6, 0],
        ),
        (
            "y.npy",
            numbers(
                "<f8",
                "(4,)",
                &[1.0f64, 0.0, 6.0, 2.0].map(f64::to_le_bytes).concat(),
            ),
            vec![1, 0, 6, 2],
        ),
        (
            "y.csv",
            b"label\ndog\n2\n cat\nbird\n".to_vec(),
            vec![1, 2, 0, 2],
        ),
        (
            "y.csv",
            b"label\n1.0\n2.\ncat\n5.00\n".to_vec(),
            vec![1, 2, 0, 5],
        ),
        (
            "y.csv",
            b"file,label,x\na,dog,1\nb,2,1\nc,cat,1\nd,bird,1\n".to_vec(),
            vec![1, 2, 0, 2],
        ),
    ];
    for (name, bytes, expected) in cases {
        assert_eq!(labelled(name, bytes, Some(&names)), Ok(expected));
    }
}

#[test]
fn labels_that_name_no_class_are_named_with_their_row_and_the_classes() {
    let names = names();
    let known = "expected a class number below 7 or one of `cat`, `dog`, `bird`, `fish`, `cow` \
                 and 2 more";
    let i64s =
        |labels: [i64; 4]| -> Vec<u8> { labels.iter().flat_map(|l| l.to_le_bytes()).collect() };
    let f32s =
        |labels: [f32; 4]| -> Vec<u8> { labels.iter().flat_map(|l| l.to_le_bytes()).collect() };
    let npy = |descr: &str, shape: &str, data: &[u8]| npy(descr, "False", shape, data);
    let cases = [
        (
            "y.npy",
            npy("<i8", "(4,)", &i64s([0, 1, 7, 2])),
            format!("row 2: {known}, found `7`"),
        ),
        (
            "y.npy",
            npy("<i8", "(4,)", &i64s([0, -1, 6, 2])),
            format!("row 1: {known}, found `-1`"),
        ),
        (
            "y.npy",
            npy("|S4", "(4,)", b"dog\0fishcatscow\0"),
            format!("row 2: {known}, found `cats`"),
        ),
        (
            "y.csv",
            b"label\ndog\n2\nhorse\nbird\n".to_vec(),
            format!("line 4: column label: {known}, found `horse`"),
        ),
        (
            "y.csv",
            b"label\ndog\n3\ncat\nbird\n".to_vec(),
            "line 3: column label: `3` is the name of class 6 and the number of class 3".into(),
        ),
        (
            "y.csv",
            b"class\ndog\n".to_vec(),
            "line 1: expected a header with a column called `label`".into(),
        ),
        (
            "y.csv",
            b"label\ndog\n2\n".to_vec(),
            "expected a label for each of 4 samples, found 2".into(),
        ),
        (
            "y.npy",
            npy("|u1", "(5,)", &[0; 5]),
            "expected a label for each of 4 samples, found 5".into(),
        ),
        (
            "y.npy",
            npy("|u1", "(2, 2)", &[0; 4]),
            "expected the shape [n], one label per sample, found [2, 2]".into(),
        ),
        (
            "y.npy",
            npy("<c8", "(4,)", &[0; 32]),
            "expected whole numbers or names of classes, found <c8".into(),
        ),
        (
            "y.npy",
            npy("<f4", "(4,)", &f32s([0.0, 3.0, 2.5, 1.0])),
            "row 2: expected a whole number, found 2.5".into(),
        ),
        (
            "y.npy",
            npy("<f4", "(4,)", &f32s([0.0, f32::NAN, 2.5, 1.0])),
            "row 1: expected a whole number, found NaN".into(),
        ),
        (
            "y.npy",
            npy("<f4", "(4,)", &f32s([-1.0, 0.0, 0.0, 1.0])),
            format!("row 0: {known}, found `-1`"),
        ),
        (
            "y.npy",
            npy("<f4", "(4,)", &f32s([1e30, 0.0, 0.0, 1.0])),
            "row 0: expected a whole number, found 1.0000000150474662e30".into(),
        ),
        (
            "y.csv",
            b"label\n0\n2.5\n1\n1\n".to_vec(),
            format!("line 3: column label: {known}, found `2.5`"),
        ),
        (
            "y.npy",
            npy("<U99999999", "(4,)", &[0; 16]),
            "truncated".into(),
        ),
        (
            "y.txt",
            b"1\n2\n".to_vec(),
            "expected a .csv, .npy, .npz or .json file of labels".into(),
        ),
    ];
    for (name, bytes, said) in cases {
        let error = labelled(name, bytes, Some(&names)).expect_err(&said);
        assert!(error.contains(&said), "said: {error}\n  not: {said}");
    }
    let text = b"a,b,c,d,label\n1,2,3,4,0\n".to_vec();
    let samples = Samples::parse("x.csv", text, &form()).expect("one");
    let error = samples.labelled_by("y.csv", b"label\n0\n".to_vec(), &Classes::any());
    assert!(
        error
            .expect_err("twice")
            .to_string()
            .contains("already have labels")
    );
}

#[test]
fn a_file_that_is_written_has_its_data_at_a_multiple_of_64_and_is_read_as_it_was() {
    for dims in [vec![1, 4], vec![3, 4], vec![1000, 2, 2]] {
        let count: usize = dims.iter().product();
        let values = (0..count).map(|i| i as f32 / 8.0);
        let bytes = to_npy(values.clone(), &dims);
        let data = bytes.len() - 4 * count;
        assert_eq!(data % 64, 0);
        assert_eq!(bytes[data - 1], b'\n');
        let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        assert_eq!(length, data - 10);
        let samples = parse(bytes, &form()).expect("a file of ours");
        let written: Vec<f32> = values.collect();
        assert_eq!(samples.rows(0, dims[0])[..], written[..]);
    }
}
