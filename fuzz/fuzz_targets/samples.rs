//! Any bytes as a file of samples, of each kind: refused in few words, or samples of the form.

#![no_main]

use divisi_model::ensemble::{AnswerKind, AnswerWidth, SampleForm, Samples};
use divisi_runtime::network::Shape;
use divisi_runtime::tensor::{DataType, TensorSpec};
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 8] = [
    "x.csv", "x.npy", "x.npz", "x.json", "x.jsonl", "x.png", "x.jpg", "x.webp",
];

// The first byte says which kind of file the rest is.
fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    let name = NAMES[usize::from(*kind) % NAMES.len()];
    let labels = ["cat", "dog"].map(str::to_owned);
    let answers = AnswerKind::Classes {
        count: AnswerWidth::new(2).expect("in range"),
    };
    let image = SampleForm::new(Shape::image(3, 4, 5)).answers(answers, Some(&labels));
    check(name, bytes, &image);
    let tensors = [
        TensorSpec::fixed("ids", DataType::Int64, &[4]),
        TensorSpec::fixed("weights", DataType::Fp32, &[2, 3]),
    ];
    let mut named = SampleForm::new(Shape::vector(10));
    named.tensors = Some(&tensors);
    check(name, bytes, &named);
    let samples = Samples::new(vec![0.0; 60], 60, None).expect("one sample");
    if let Err(error) = samples.targeted_by(name, bytes.to_vec(), &image) {
        assert!(error.to_string().len() < 4096);
    }
});

fn check(name: &str, bytes: &[u8], form: &SampleForm<'_>) {
    match Samples::parse(name, bytes.to_vec(), form) {
        Ok(samples) => {
            assert_eq!(samples.width(), form.shape.elements());
            assert_eq!(samples.values().len(), samples.len() * samples.width());
            assert!(samples.values().iter().all(|v| v.is_finite()));
        }
        Err(error) => assert!(error.to_string().len() < 4096, "{error}"),
    }
}
