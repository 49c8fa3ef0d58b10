//! The models panel: what can be asked and what cannot, with the reasons; loading and unloading.

use std::num::NonZeroU64;

use divisi::device::MemberIndex;
use divisi::metrics::LatencySummary;
use divisi::session::{CatalogueView, Command, ModelFigures, ModelKind};

use crate::fake::Bench;

fn served(name: &str, version: u64, kind: ModelKind, members: usize) -> CatalogueView {
    CatalogueView {
        name: name.into(),
        version: NonZeroU64::new(version),
        kind: Some(kind),
        members: MemberIndex::all(members).collect(),
        unserved: None,
        failure: None,
        figures: ModelFigures {
            answered: 48_000,
            samples: 96_000,
            failed: 3,
            requests_per_s: 812.0,
            samples_per_s: 1_624.0,
            latency: LatencySummary {
                count: 8_120,
                p50: 2_100,
                p99: 6_800,
                ..LatencySummary::default()
            },
        },
    }
}

fn unserved(name: &str, reason: &str, failure: Option<&str>) -> CatalogueView {
    CatalogueView {
        version: None,
        kind: None,
        unserved: Some(reason.into()),
        failure: failure.map(Into::into),
        members: Vec::new(),
        figures: ModelFigures::default(),
        ..served(name, 1, ModelKind::Model, 0)
    }
}

fn models(width: u16, height: u16) -> Bench {
    let mut bench = Bench::new(width, height);
    bench.show(|shown| {
        shown.can_load = true;
        shown.models = vec![
            served("digits", 2, ModelKind::Model, 1),
            served("digits", 3, ModelKind::Model, 1),
            CatalogueView {
                failure: Some("config.pbtxt:3: no such field `instance`".into()),
                ..served("faces", 1, ModelKind::Ensemble, 4)
            },
            CatalogueView {
                figures: ModelFigures::default(),
                ..served("cascade", 1, ModelKind::Pipeline, 4)
            },
            unserved("idle", "unloaded", None),
            unserved(
                "broken",
                "model.onnx: it is cut off",
                Some("model.onnx: it is cut off"),
            ),
        ];
    });
    bench.keys("9\r");
    bench
}

#[test]
fn models_are_listed_with_their_figures_or_why_they_are_not_served() {
    for (width, height) in [(80, 24), (160, 50)] {
        let bench = models(width, height);
        screen!(format!("models_{width}x{height}"), bench);
    }
}

#[test]
fn why_the_newest_files_are_not_served_is_said_of_the_model_under_the_cursor() {
    let mut bench = models(160, 50);
    bench.keys("jj");
    let said = "its newest files cannot be served: config.pbtxt:3: no such field `instance`";
    assert!(bench.text().contains(said), "{}", bench.text());
}

#[test]
fn the_model_under_the_cursor_is_loaded_at_once_and_unloaded_after_a_question() {
    let mut bench = models(80, 24);
    bench.keys("jjjjo");
    assert_eq!(bench.sent(), [Command::LoadModel("idle".into())]);
    let mut bench = models(80, 24);
    bench.keys("d");
    assert!(
        bench.text().contains("Unload `digits`?"),
        "{}",
        bench.text()
    );
    assert_eq!(bench.sent(), []);
    bench.keys("y");
    let unload = Command::UnloadModel {
        name: "digits".into(),
        dependents: false,
    };
    assert_eq!(bench.sent(), [unload]);
}

#[test]
fn where_models_are_fixed_nothing_is_loaded_and_that_is_said() {
    let mut bench = models(80, 24);
    bench.show(|shown| shown.can_load = false);
    bench.keys("o");
    assert_eq!(bench.sent(), []);
    let said = "the models are those that the server was started with";
    assert!(bench.text().contains(said), "{}", bench.text());
}
