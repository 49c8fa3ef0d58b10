//! Variants of tasks in the panel of models.

use std::time::Duration;

use divisi_session::{
    CatalogueView, CountedAccuracy, GoalCounts, ModelKind, RunningBatches, VariantView,
};

use crate::fake::Bench;
use crate::models_panel::served;

fn variant(name: &str, percent: f64, cost: f64, goals: GoalCounts) -> CatalogueView {
    let accuracy = percent / 100.0;
    CatalogueView {
        variant: Some(VariantView {
            task: "digits".to_owned(),
            accuracy,
            counted: Some(CountedAccuracy {
                low: accuracy - 0.012,
                high: accuracy + 0.006,
                rows: 1_797,
            }),
            running: Some(RunningBatches {
                size: 32,
                alone: Duration::from_micros(61),
                full: Duration::from_micros(234),
                cost,
            }),
            goals,
        }),
        ..served(name, 1, ModelKind::Ensemble, 2)
    }
}

fn answered(answered: u64, missed_latency: u64) -> GoalCounts {
    GoalCounts {
        answered,
        met: answered - missed_latency,
        missed_latency,
        ..GoalCounts::default()
    }
}

fn variants(width: u16, height: u16) -> Bench {
    let mut bench = Bench::new(width, height);
    bench.show(|shown| {
        let mut idle = variant("digits.f32.all", 99.16, 0.00213, answered(0, 0));
        if let Some(variant) = &mut idle.variant {
            variant.running = None;
            variant.counted = None;
        }
        shown.models = vec![
            variant(
                "digits.int8.cnn-s+res-s",
                98.83,
                0.0000583,
                answered(12_000, 340),
            ),
            variant("digits.bf16.mlp", 91.46, 12.5, answered(4_000, 0)),
            idle,
        ];
    });
    bench.keys("9\r");
    bench
}

#[test]
fn variants_are_listed_with_accuracy_cost_and_the_goals_that_they_missed() {
    for (width, height) in [(80, 24), (160, 50)] {
        let bench = variants(width, height);
        screen!(format!("variants_{width}x{height}"), bench);
    }
}

#[test]
fn what_was_not_counted_and_what_does_not_run_have_no_figures() {
    let mut bench = variants(120, 24);
    bench.keys("jj");
    let text = bench.plain();
    let said = "variant of digits: accuracy 99.16 % · not loaded · no queries yet";
    assert!(text.contains(said), "{text}");
}
