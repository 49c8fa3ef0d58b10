//! The live system: requests in, answers out.

use divisi::serving::Request;

use crate::common::{digits, fakes, networks, start};

#[test]
fn digits_are_read_rightly() {
    let ensemble = digits();
    let samples = ensemble.calibration.clone().expect("digits has samples");
    let engine = start(&ensemble, networks(&ensemble));
    let answer = engine
        .predict(Request::new(samples.values()))
        .expect("admitted")
        .expect("answered");
    let labels = samples.labels().expect("labelled");
    let right = answer.labels().zip(labels).filter(|(a, b)| a == *b).count();
    assert!(
        right as f64 > 0.97 * samples.len() as f64,
        "{right} of {}",
        samples.len()
    );
    assert_eq!(engine.pooled(), 0);
}

#[test]
fn one_sample_and_many_give_the_same_answer() {
    let ensemble = digits();
    let samples = ensemble.calibration.clone().expect("digits has samples");
    let engine = start(&ensemble, networks(&ensemble));
    let all = engine
        .predict(Request::new(&samples.values()[..300 * 64]))
        .expect("admitted")
        .expect("answered");
    for (i, row) in all.rows().enumerate().step_by(37) {
        let one = engine
            .predict(Request::new(samples.row(i)))
            .expect("admitted")
            .expect("answered");
        let alone = one.rows().next().expect("one row");
        assert!(row.iter().zip(alone).all(|(a, b)| (a - b).abs() < 1e-5));
    }
}

#[test]
fn fakes_combine_to_what_the_rule_says() {
    let ensemble = digits();
    let engine = start(&ensemble, fakes(&ensemble));
    let answer = engine
        .predict(Request::new(&[0.0; 64 * 200]))
        .expect("admitted")
        .expect("answered");
    let rows: Vec<_> = (0..6)
        .map(|m| divisi::compute::constant_row(m, 10))
        .collect();
    for row in answer.rows() {
        for (class, score) in row.iter().enumerate() {
            let mean: f32 = rows.iter().map(|r| r[class]).sum::<f32>() / 6.0;
            assert!((mean - score).abs() < 1e-6);
        }
    }
}
