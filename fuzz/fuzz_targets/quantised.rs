//! A quantised model of ONNX with any scales and zero points, also such as no quantiser writes: refused
//! in few words, or a network that can be run.

#![no_main]

use divisi_runtime::onnx::OnnxModel;
use divisi_fuzz::import;
use divisi_fuzz::onnx_made::{QuantisedFile, Steps};
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;

/// Scales that break what is not careful.
const SCALES: [f32; 10] = [
    0.01,
    0.0,
    -0.01,
    1e-45,
    1e-39,
    f32::MIN_POSITIVE,
    f32::MAX,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

/// Zero points within the bytes, at their ends and beyond.
const ZEROS: [i32; 9] = [0, 1, 127, 128, 255, 256, -1, -128, i32::MIN];

/// How many scales or zero points there are: one for all, one for each channel, or another number.
const COUNTS: [usize; 5] = [1, 16, 0, 15, 17];

/// Element types of weights: bytes, and one that is not read.
const ELEMENTS: [u64; 4] = [3, 3, 2, 22];

fuzz_target!(|bytes: &[u8]| {
    if let Ok(file) = file(&mut Unstructured::new(bytes)) {
        import(OnnxModel::from_bytes(file.bytes()));
    }
});

fn file(from: &mut Unstructured<'_>) -> Result<QuantisedFile> {
    Ok(QuantisedFile {
        operators: from.arbitrary()?,
        input: steps(from)?,
        weights: steps(from)?,
        axis: from.int_in_range(-5..=5)?,
        element: *from.choose(&ELEMENTS)?,
        biases: from.arbitrary::<bool>()?.then(|| from.choose(&COUNTS).copied()).transpose()?,
        output: steps(from)?,
    })
}

/// One known number of three, else any at all.
fn number<T: Copy>(from: &mut Unstructured<'_>, known: &[T], any: fn(u32) -> T) -> Result<T> {
    match from.ratio(1, 3)? {
        true => Ok(any(from.arbitrary()?)),
        false => from.choose(known).copied(),
    }
}

fn steps(from: &mut Unstructured<'_>) -> Result<Steps> {
    let counts = [*from.choose(&COUNTS)?, *from.choose(&COUNTS)?];
    let scales = (0..counts[0]).map(|_| number(from, &SCALES, f32::from_bits));
    let scales = scales.collect::<Result<_>>()?;
    let zeros = (0..counts[1]).map(|_| number(from, &ZEROS, u32::cast_signed));
    Ok(Steps { scales, zeros: zeros.collect::<Result<_>>()? })
}
