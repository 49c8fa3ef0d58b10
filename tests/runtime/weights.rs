//! Weights of files: read in place, refused whole where they are not what they claim.

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use divisi_runtime::network::builders::{Builder, Published};
use divisi_runtime::network::{Graph, GraphBuilder, NodeId, Op, Shape, Weights, WeightsError};

/// A file that goes away with the test.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(bytes: &[u8]) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("divisi-weights-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, bytes).expect("writes");
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Two classes from three features: `fc.weight` is `[2, 3]`, `fc.bias` `[2]`.
pub fn linear() -> Graph {
    let mut builder = GraphBuilder::new(Shape::vector(3));
    let op = Op::Linear {
        features: 2,
        bias: true,
    };
    builder.add("fc", op, &[NodeId::INPUT]).expect("fits");
    builder.build().expect("a graph")
}

/// A file of this header and so many bytes of data.
pub fn file(header: &str, data: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    bytes.resize(bytes.len() + data, 0);
    bytes
}

/// Opens `bytes`, mapped and in memory, which must agree.
pub fn opened(bytes: &[u8], graph: &Graph) -> Result<Weights, WeightsError> {
    let held = Weights::from_safetensors(bytes, graph);
    let mapped = Weights::open(&Scratch::new(bytes).0, graph);
    match (held, mapped) {
        (Ok(held), Ok(mapped)) => {
            assert!(held.iter().eq(mapped.iter()), "the same values");
            assert_eq!(held.notes(), mapped.notes());
            Ok(mapped)
        }
        (Err(held), Err(mapped)) => {
            // What begins like an index is followed where it lies in a folder, and told alone
            // in memory that it is one.
            if !bytes.trim_ascii_start().starts_with(b"{") {
                assert_eq!(held.to_string(), mapped.to_string());
            }
            Err(mapped)
        }
        (held, mapped) => panic!("{held:?} and {mapped:?}"),
    }
}

const WEIGHT: &str = r#""fc.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}"#;
const BIAS: &str = r#""fc.bias":{"dtype":"F32","shape":[2],"data_offsets":[24,32]}"#;

#[test]
fn values_are_read_in_place_or_copied_where_they_lie_crooked() {
    let values: Vec<f32> = (0..8).map(|i| i as f32 - 3.5).collect();
    // The header's length decides where the data begin.
    for spaces in 0..8 {
        let header = format!("{{{WEIGHT},{BIAS}}}{}", " ".repeat(spaces));
        let mut bytes = file(&header, 0);
        bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
        let weights = opened(&bytes, &linear()).expect("valid");
        assert_eq!(weights.get("fc.weight"), &values[..6]);
        assert_eq!(weights.get("fc.bias"), &values[6..]);
        assert_eq!(weights.get("fc.none"), &[] as &[f32]);
        assert!(!weights.is_synthetic());
    }
}

#[test]
fn all_that_does_not_fit_is_named_at_once() {
    let header = r#"{
        "fc.weight":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]},
        "conv.weight":{"dtype":"F32","shape":[1],"data_offsets":[24,28]},
        "bn.num_batches_tracked":{"dtype":"I64","shape":[],"data_offsets":[28,36]},
        "fc.bias":{"dtype":"I64","shape":[2],"data_offsets":[36,52]}}"#;
    let error = opened(&file(header, 52), &linear()).expect_err("does not fit");
    assert_eq!(
        error.to_string(),
        "does not fit the network: tensor `fc.weight`: expected shape [2, 3], found [3, 2]; \
         tensor `fc.bias`: expected type F32, F64, F16 or BF16, found I64; \
         tensor `conv.weight` belongs to no layer"
    );
    let error = opened(&file("{}", 0), &linear()).expect_err("empty");
    assert!(
        error
            .to_string()
            .contains("2 tensors are missing: `fc.weight`, `fc.bias`")
    );
    let mut bytes = file(&format!("{{{WEIGHT},{BIAS}}}"), 32);
    let at = bytes.len() - 12;
    bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    let error = opened(&bytes, &linear()).expect_err("a NaN");
    assert!(
        error
            .to_string()
            .contains("tensor `fc.weight`: value 5 is not a finite number"),
        "{error}"
    );
}

#[test]
fn files_that_lie_are_refused() {
    let tensor = |name: &str, dtype: &str, shape: &str, from: u128, to: u128| {
        format!(r#""{name}":{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{from},{to}]}}"#)
    };
    let huge = u128::from(u64::MAX);
    let deep = format!("{{\"a\":{}", "[".repeat(100_000));
    let nested = format!(
        "{{\"__metadata__\":{}{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let many: Vec<String> = (0..=50_000)
        .map(|i| tensor(&i.to_string(), "U8", "[0]", 0, 0))
        .collect();
    // Sizes that add up to 0 again where nobody looks for an overflow.
    let eighth = 1u128 << 61;
    let round: Vec<String> = (0..8)
        .map(|i| {
            tensor(
                &i.to_string(),
                "U8",
                &format!("[{}]", eighth - 1),
                i * (eighth - 1),
                (i + 1) * (eighth - 1),
            )
        })
        .collect();
    let cases = [
        (
            "twice",
            format!("{{{WEIGHT},{WEIGHT},{BIAS}}}"),
            32,
            "`fc.weight` appears twice",
        ),
        ("no object", "[]".into(), 0, "an object of tensors by name"),
        ("cut JSON", format!("{{{WEIGHT},"), 32, "in the header: EOF"),
        ("no JSON", "\u{0}\u{0}".into(), 0, "in the header"),
        (
            "more after it",
            format!("{{{WEIGHT},{BIAS}}}{{}}"),
            32,
            "trailing characters",
        ),
        ("deep", deep, 0, "in the header"),
        ("deep metadata", nested, 0, "2 tensors are missing"),
        (
            "many",
            format!("{{{}}}", many.join(",")),
            0,
            "at most 50000 tensors",
        ),
        (
            "many dimensions",
            format!("{{{}}}", tensor("a", "U8", "[1,1,1,1,1,1,1,1,1]", 0, 1)),
            1,
            "at most 8 dimensions",
        ),
        (
            "unknown type",
            format!("{{{}}}", tensor("a", "Q4", "[2]", 0, 1)),
            1,
            "tensor `a`: unknown type `Q4`",
        ),
        (
            "half a byte",
            format!("{{{}}}", tensor("a", "F4", "[1]", 0, 1)),
            1,
            "splits a byte",
        ),
        (
            "negative",
            format!(
                "{{{WEIGHT},\"a\":{{\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[24,25]}}}}"
            ),
            25,
            "in the header: invalid value",
        ),
        (
            "overflow",
            format!(
                "{{{}}}",
                tensor("a", "F32", &format!("[{huge},{huge}]"), 0, 4)
            ),
            4,
            "too large",
        ),
        (
            "overflow of bits",
            format!(
                "{{{}}}",
                tensor("a", "F32", &format!("[{}]", huge / 8), 0, 4)
            ),
            4,
            "too large",
        ),
        (
            "beyond counting",
            format!("{{{}}}", tensor("a", "U8", "[1]", 0, huge + 1)),
            1,
            "in the header",
        ),
        (
            "outside",
            format!("{{{}}}", tensor("a", "U8", "[9]", 0, 9)),
            8,
            "tensor `a`: ends at byte 9, the file has 8",
        ),
        (
            "far outside",
            format!(
                "{{{}}}",
                tensor("a", "U8", &format!("[{}]", huge / 8), 0, huge / 8)
            ),
            8,
            "ends at byte",
        ),
        (
            "round the end",
            format!("{{{}}}", round.join(",")),
            8,
            "ends at byte",
        ),
        (
            "backwards",
            format!("{{{}}}", tensor("a", "U8", "[8]", 8, 0)),
            8,
            "expected to begin at byte 0",
        ),
        (
            "overlap",
            format!("{{{WEIGHT},{}}}", tensor("b", "U8", "[8]", 20, 28)),
            28,
            "tensor `b`: expected to begin at byte 24",
        ),
        (
            "gap",
            format!("{{{WEIGHT},{}}}", tensor("b", "U8", "[8]", 28, 36)),
            36,
            "tensor `b`: expected to begin at byte 24",
        ),
        (
            "shorter than it says",
            format!("{{{WEIGHT},{BIAS}}}"),
            31,
            "ends at byte 32, the file has 31",
        ),
        (
            "longer than it says",
            format!("{{{WEIGHT},{BIAS}}}"),
            33,
            "the tensors end at byte 32, the file has 33",
        ),
        (
            "another size",
            format!("{{{}}}", tensor("a", "F32", "[2]", 0, 4)),
            4,
            "need 8 bytes, its offsets are (0, 4)",
        ),
    ];
    for (what, header, data, said) in cases {
        let error = opened(&file(&header, data), &linear())
            .expect_err(what)
            .to_string();
        assert!(error.contains(said), "{what}: {error:.300}");
    }
}

#[test]
fn lengths_of_headers_are_not_believed() {
    let mut claims = file(&format!("{{{WEIGHT},{BIAS}}}"), 32);
    for (length, said) in [
        (u64::MAX, "at most 100000000 bytes"),
        (u64::MAX - 7, "at most 100000000 bytes"),
        (100_000_001, "at most 100000000 bytes"),
        (100_000_000, "the file ends within its header"),
        (0, "in the header: EOF"),
    ] {
        claims[..8].copy_from_slice(&length.to_le_bytes());
        let error = opened(&claims, &linear()).expect_err(said).to_string();
        assert!(error.contains(said), "{length}: {error}");
    }
    for length in 0..8 {
        let error = opened(&claims[..length], &linear())
            .expect_err("cut")
            .to_string();
        assert!(error.contains("the file is shorter"), "{error}");
    }
}

#[test]
fn what_is_no_file_is_refused() {
    for (path, said) in [
        (std::env::temp_dir(), "expected a file, found a folder"),
        (
            PathBuf::from("/dev/zero"),
            "expected a file, found a device",
        ),
        (PathBuf::from("/nowhere/at/all"), "No such file"),
    ] {
        let error = Weights::open(&path, &linear()).expect_err(said).to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_file_that_is_written_to_is_not_taken_for_what_it_was() {
    let bytes = file(&format!("{{{WEIGHT},{BIAS}}}"), 32);
    let changes: [fn(&PathBuf); 3] = [
        |path| {
            File::options()
                .write(true)
                .open(path)
                .and_then(|f| f.set_len(16))
                .expect("cut")
        },
        |path| {
            File::options()
                .append(true)
                .open(path)
                .and_then(|f| f.set_len(4096))
                .expect("grown")
        },
        |path| {
            let later = SystemTime::now() + Duration::from_secs(5);
            File::options()
                .write(true)
                .open(path)
                .and_then(|f| f.set_modified(later))
                .expect("dated");
        },
    ];
    for change in changes {
        let scratch = Scratch::new(&bytes);
        let weights = Weights::open(&scratch.0, &linear()).expect("valid");
        assert!(weights.check().is_ok());
        change(&scratch.0);
        let error = weights.check().expect_err("changed").to_string();
        assert!(
            error.contains(&*scratch.0.to_string_lossy()) && error.contains("changed since"),
            "{error}"
        );
    }
}

#[test]
fn a_file_that_is_replaced_stays_what_it_was() {
    let scratch = Scratch::new(&file(&format!("{{{WEIGHT},{BIAS}}}"), 32));
    let weights = Weights::open(&scratch.0, &linear()).expect("valid");
    let other = Scratch::new(b"something else");
    fs::rename(&other.0, &scratch.0).expect("renames");
    assert!(weights.check().is_ok());
    assert_eq!(weights.get("fc.weight"), &[0.0; 6]);
    weights.release();
    assert_eq!(weights.get("fc.bias"), &[0.0; 2]);
}

#[test]
fn what_is_written_is_what_is_read() {
    let graph = Builder::Published(Published::from_name("mobilenet-v2").expect("is published"))
        .build(Shape::image(3, 32, 32), 10)
        .expect("builds");
    let weights = Weights::synthetic(&graph, 5);
    let scratch = Scratch::new(b"");
    weights.write(&graph, &scratch.0).expect("writes");
    let read = Weights::open(&scratch.0, &graph).expect("valid");
    assert!(read.iter().eq(weights.iter()));
    let error = weights
        .write(&graph, &PathBuf::from("/nowhere/at/all"))
        .expect_err("no folder");
    assert!(error.to_string().contains("cannot be written"), "{error}");
}

/// Of `divisi network show resnet18 --seed 42`, as
/// `benches/networks/python/divisi_weights.py` prints them.
#[test]
fn synthetic_weights_are_those_that_python_makes() {
    let graph = Builder::Published(Published::from_name("resnet18").expect("is published"))
        .build(Shape::image(3, 224, 224), 1000)
        .expect("builds");
    let weights = Weights::synthetic(&graph, 42);
    let checksum = |values: &[f32]| {
        let numbered = (0u64..).zip(values);
        numbered.fold(0u64, |sum, (i, v)| {
            sum.wrapping_add(u64::from(v.to_bits()).wrapping_mul(2 * i + 1))
        })
    };
    for (name, expected) in [
        ("conv1.weight", 0x029c_c53c_d0a0_e6f1),
        ("layer2.0.downsample.1.running_var", 0x0000_101a_ab9b_c000),
        ("layer4.1.conv2.weight", 0x5c62_b909_30ec_e232),
        ("fc.weight", 0xcf32_4c55_5d20_51cc),
    ] {
        assert_eq!(checksum(weights.get(name)), expected, "{name}");
    }
    let first = &weights.get("conv1.weight")[..4];
    assert_eq!(
        first,
        [0.082_757_846, -0.127_184_96, 0.096_993_43, 0.109_430_03]
    );
}
