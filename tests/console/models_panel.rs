//! The models panel: what can be asked and what cannot, with the reasons; loading and unloading.

use std::num::NonZeroU64;
use std::time::Duration;

use crossterm::event::KeyCode;
use divisi_console::config::Config;
use divisi_console::linear::LineDesk;
use divisi_engine::deployment::{CatalogueChange, CataloguePreview, Handover, MemoryChange};
use divisi_model::codes::Code;
use divisi_model::metrics::LatencySummary;
use divisi_runtime::device::MemberIndex;
use divisi_session::{
    CallerFigures, CallerView, CatalogueView, Command, DoorAddress, DoorProtocol, DoorView,
    ErrorKey, ErrorKind, ErrorOutcome, ErrorSubject, ModelCallers, ModelChangeState,
    ModelChangeView, ModelFigures, ModelKind, ModelsChanged, Refusal,
};

use crate::fake::{Bench, FakeSession};

pub fn served(name: &str, version: u64, kind: ModelKind, members: usize) -> CatalogueView {
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
            refused: 412,
            requests_per_s: 812.0,
            samples_per_s: 1_624.0,
            latency: LatencySummary {
                count: 8_120,
                p50: 2_100,
                p99: 6_800,
                ..LatencySummary::default()
            },
        },
        asked: None,
        errors: Vec::new(),
        variant: None,
    }
}

fn caller(name: &str, has_key: bool, per_second: f64, failed: u64) -> CallerView {
    CallerView {
        name: name.into(),
        has_key,
        figures: CallerFigures {
            per_second,
            calls: (per_second * 60.0) as u64,
            failed,
        },
    }
}

/// Who asks a model: somebody with a key, one whose input is wrong, and others.
fn asked() -> ModelCallers {
    ModelCallers {
        callers: vec![
            caller("alice", true, 712.0, 0),
            caller("10.0.3.17", false, 96.4, 16),
        ],
        others: Some((4, caller("", false, 3.6, 0).figures)),
    }
}

/// A door that is open, with `digits` version 2 asked over it.
fn listens(bench: &mut Bench) {
    bench.show(|shown| {
        shown.door = Some(DoorView {
            addresses: vec![DoorAddress {
                protocol: DoorProtocol::Http,
                address: ([127, 0, 0, 1], 8000).into(),
                tls: false,
                keys: true,
            }],
            window: Duration::from_secs(60),
            rate_window: Duration::from_secs(10),
            moment: Duration::from_secs(1),
            ..DoorView::default()
        });
        shown.models[0].asked = Some(asked());
        let refused = |reason| ErrorKey {
            subject: ErrorSubject::Request,
            outcome: ErrorOutcome::Refused,
            reason,
        };
        let errors = [(ErrorKind::BadInput, 12), (ErrorKind::TooMany, 4)];
        shown.models[0].errors = errors.map(|(kind, count)| (refused(kind), count)).to_vec();
    });
}

pub fn unserved(name: &str, reason: &str, failure: Option<&str>) -> CatalogueView {
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

pub fn models(width: u16, height: u16) -> Bench {
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
fn who_asks_the_model_under_the_cursor_is_shown_with_what_was_refused() {
    for (width, height) in [(80, 24), (160, 50)] {
        let mut bench = models(width, height);
        listens(&mut bench);
        screen!(format!("models_asked_{width}x{height}"), bench);
        bench.keys("j");
        assert!(!bench.plain().contains("alice"), "{}", bench.plain());
    }
}

#[test]
fn where_there_is_no_room_for_rows_who_asks_stands_on_a_line() {
    let mut bench = models(80, 24);
    listens(&mut bench);
    bench.keys("\rLLLLLL");
    let said = "called by alice 712/s, 10.0.3.17 96/s, 4 others 3.6/s";
    assert!(bench.plain().contains(said), "{}", bench.plain());
}

#[test]
fn who_asks_is_named_at_every_height_under_the_head_of_callers() {
    for height in 12..30 {
        let mut bench = models(60, height);
        listens(&mut bench);
        let text = bench.plain();
        assert!(text.contains("alice"), "{height}: {text}");
    }
}

#[test]
fn lines_tell_who_asks_which_model() {
    let mut bench = models(80, 24);
    listens(&mut bench);
    let mut session = FakeSession::at(bench.desk.clone());
    let mut desk = LineDesk::new(false, Config::default().terms);
    let said = desk.line("status", &mut session).lines;
    let expected = "calls of digits version 2 in 60 s: alice 42720 calls, 0 errors; \
                    10.0.3.17 5784 calls, 16 errors; 4 others 216 calls, 0 errors; \
                    12 refused: bad input; 4 refused: no room";
    assert!(said.iter().any(|line| line == expected), "{said:#?}");
}

#[test]
fn why_the_newest_files_are_not_served_is_said_of_the_model_under_the_cursor() {
    let mut bench = models(160, 50);
    bench.keys("jj");
    let said = "newest files cannot be served: config.pbtxt:3: no such field `instance`";
    assert!(bench.plain().contains(said), "{}", bench.plain());
}

fn plan(change: CatalogueChange, preview: CataloguePreview) -> ModelChangeView {
    ModelChangeView {
        number: 7,
        change,
        state: ModelChangeState::Planned(Box::new(preview)),
    }
}

fn preview(during: Option<u64>) -> CataloguePreview {
    let memory = |device: &str| MemoryChange {
        device: device.into(),
        now: 812 << 20,
        during: during.map(|mib| mib << 20),
        after: 930 << 20,
        bytes: 1024 << 20,
    };
    CataloguePreview {
        came: vec!["digits version 4".into()],
        went: vec!["digits version 3".into()],
        columns_came: vec!["res-l".into()],
        columns_went: vec!["res-s".into()],
        moved: vec!["cnn-m".into()],
        memory: vec![memory("cpu:0"), memory("cpu:1")],
        not_beside: during.is_none().then(|| {
            "`cpu:0` has 212.0 MiB free next to the running models; 930.0 MiB are needed".into()
        }),
    }
}

fn load() -> CatalogueChange {
    CatalogueChange::Load("digits".into())
}

#[test]
fn a_change_of_the_model_under_the_cursor_is_planned_first() {
    let mut bench = models(80, 24);
    bench.keys("jjjjo");
    let idle = CatalogueChange::Load("idle".into());
    assert_eq!(bench.sent(), [Command::PlanModels(idle)]);
    let mut bench = models(80, 24);
    bench.keys("d");
    let unload = CatalogueChange::Unload {
        name: "digits".into(),
        dependents: false,
    };
    assert_eq!(bench.sent(), [Command::PlanModels(unload)]);
}

#[test]
fn a_plan_is_shown_and_applied_by_another_key_or_on_probation() {
    for (width, height) in [(80, 24), (160, 50)] {
        let mut bench = models(width, height);
        bench.show(|shown| shown.model_change = Some(plan(load(), preview(Some(1000)))));
        screen!(format!("model_plan_{width}x{height}"), bench);
    }
    for (key, watched) in [("y", false), ("g", true)] {
        let mut bench = models(80, 24);
        bench.show(|shown| shown.model_change = Some(plan(load(), preview(Some(1000)))));
        bench.keys("fo");
        assert_eq!(bench.sent(), [], "no other key applies it");
        bench.keys(key);
        let apply = Command::ApplyModels {
            number: 7,
            handover: Handover::Beside,
            terms: watched.then(|| bench.console.model().change.terms),
        };
        assert_eq!(bench.sent(), [apply]);
    }
}

#[test]
fn where_both_do_not_fit_the_old_one_ends_first_by_a_key_of_its_own() {
    for (width, height) in [(80, 24), (160, 50)] {
        let mut bench = models(width, height);
        bench.show(|shown| shown.model_change = Some(plan(load(), preview(None))));
        screen!(format!("model_plan_old_first_{width}x{height}"), bench);
    }
    let mut bench = models(80, 24);
    bench.show(|shown| shown.model_change = Some(plan(load(), preview(None))));
    bench.keys("y");
    assert_eq!(bench.sent(), []);
    bench.keys("f");
    let apply = Command::ApplyModels {
        number: 7,
        handover: Handover::OldFirst,
        terms: None,
    };
    assert_eq!(bench.sent(), [apply]);
}

#[test]
fn a_plan_is_dropped() {
    let mut bench = models(80, 24);
    bench.show(|shown| shown.model_change = Some(plan(load(), preview(Some(1000)))));
    bench.press(KeyCode::Esc);
    assert_eq!(bench.sent(), [Command::DropModelsPlan(7)]);
}

#[test]
fn a_change_that_was_refused_is_told_in_the_message_and_at_the_model() {
    let refused = |name: &str| ModelChangeView {
        number: 7,
        change: CatalogueChange::Load(name.into()),
        state: ModelChangeState::Refused(Refusal::new(Code::DoesNotFit, "it is too large")),
    };
    for (width, height) in [(80, 24), (160, 50)] {
        let mut bench = models(width, height);
        bench.show(|shown| shown.model_change = Some(refused("digits")));
        screen!(format!("model_refused_{width}x{height}"), bench);
        bench.keys("l");
        bench.press(KeyCode::Esc);
        let text = bench.plain();
        assert!(
            text.contains("load `digits` was refused: it is too large"),
            "{text}"
        );
    }
    let mut bench = models(80, 24);
    bench.show(|shown| shown.model_change = Some(refused("nobody")));
    let text = bench.plain();
    assert!(text.contains("load `nobody`: it is too large"), "{text}");
}

#[test]
fn the_sign_of_a_refused_change_goes_with_esc_or_after_a_minute_and_comes_with_the_next() {
    let refused = |number: u64| ModelChangeView {
        number,
        change: load(),
        state: ModelChangeState::Refused(Refusal::new(Code::DoesNotFit, "it is too large")),
    };
    let is_told = |bench: &mut Bench| bench.plain().contains("load `digits` was refused");
    let mut bench = models(80, 24);
    bench.show(|shown| shown.model_change = Some(refused(7)));
    assert!(is_told(&mut bench));
    bench.press(KeyCode::Esc);
    assert!(!is_told(&mut bench), "{}", bench.plain());
    assert!(bench.plain().contains("9 models"), "nothing else was left");
    bench.show(|shown| shown.model_change = Some(refused(8)));
    assert!(is_told(&mut bench));
    bench.show(|shown| shown.now += Duration::from_secs(59));
    assert!(is_told(&mut bench));
    bench.show(|shown| shown.now += Duration::from_secs(1));
    assert!(!is_told(&mut bench), "{}", bench.plain());
}

#[test]
fn how_long_no_request_was_begun_is_said() {
    let mut bench = models(80, 24);
    bench.show(|shown| {
        shown.model_change = Some(ModelChangeView {
            number: 7,
            change: load(),
            state: ModelChangeState::Done(ModelsChanged {
                took: Duration::from_millis(120),
                gap: Some(Duration::from_millis(80)),
            }),
        });
    });
    let text = bench.plain();
    assert!(text.contains("load `digits`: done in"), "{text}");
    assert!(text.contains("no request started for"), "{text}");
}

#[test]
fn where_models_are_fixed_nothing_is_loaded_and_that_is_said() {
    let mut bench = models(80, 24);
    bench.show(|shown| shown.can_load = false);
    bench.keys("o");
    assert_eq!(bench.sent(), []);
    let said = "the models are fixed at the start of the server";
    assert!(bench.plain().contains(said), "{}", bench.plain());
}

#[test]
fn a_plan_on_a_narrow_screen_names_its_keys_and_the_memory_after() {
    let short = CataloguePreview {
        came: Vec::new(),
        columns_came: Vec::new(),
        columns_went: Vec::new(),
        moved: Vec::new(),
        ..preview(Some(1000))
    };
    for width in [40, 50, 60] {
        let mut bench = models(width, 12);
        bench.show(|shown| shown.model_change = Some(plan(load(), short.clone())));
        let text = bench.plain();
        for said in [
            "930 MiB",
            "1.0 GiB",
            "y apply",
            "g probation",
            "Esc drop",
            "instant",
        ] {
            assert!(text.contains(said), "{width}: {said}: {text}");
        }
    }
}

#[test]
fn a_plan_of_more_lines_than_there_is_room_for_says_so() {
    let mut bench = models(40, 12);
    bench.show(|shown| shown.model_change = Some(plan(load(), preview(None))));
    let text = bench.plain();
    assert!(text.contains("↑ ↓ 0 lines above, "), "{text}");
    assert!(text.contains("Esc drop"), "{text}");
    bench.keys(&"j".repeat(30));
    let text = bench.plain();
    assert!(text.contains("lines above, 0 below"), "{text}");
    assert!(text.contains("started"), "{text}");
}

/// A repository of so many models, with the cursor on the first.
fn many(width: u16, height: u16, count: usize) -> Bench {
    let mut bench = models(width, height);
    bench.show(|shown| {
        let names = (0..count).map(|number| format!("model-{number:03}"));
        let models = names.map(|name| served(&name, 1, ModelKind::Model, 1));
        shown.models = models.collect();
    });
    bench.press(KeyCode::Home);
    bench
}

#[test]
fn how_many_models_the_list_hides_stands_in_the_title() {
    let title = |bench: &Bench| {
        let text = bench.plain();
        let title = text.lines().find(|line| line.contains("9 models"));
        title.expect("a title").to_owned()
    };
    let mut bench = many(80, 24, 40);
    assert!(title(&bench).contains("40 served · "), "{}", bench.plain());
    assert!(title(&bench).contains(" rows below"), "{}", bench.plain());
    bench.press(KeyCode::End);
    assert!(title(&bench).contains(" rows above"), "{}", bench.plain());
    let few = many(80, 24, 14);
    assert!(!title(&few).contains("below"), "{}", few.plain());
}

#[test]
fn the_models_panel_takes_the_rows_that_reasons_need() {
    let mut bench = models(80, 60);
    let reason = format!(
        "config.pbtxt:2: {} last-word",
        "expected another ".repeat(24)
    );
    bench.show(|shown| shown.models[5].unserved = Some(reason));
    bench.keys("jjjjj\rLLLLLL");
    let text = bench.plain();
    assert!(text.contains("9 models"), "{text}");
    assert!(text.contains("last-word"), "{text}");
    assert!(text.contains("● cascade"), "{text}");
}

#[test]
fn files_of_matrices_are_named_as_commands_that_find_matrices_name_them() {
    let mut bench = models(80, 24);
    assert_eq!(bench.console.model().matrix_name(), "digits", "of several");
    bench.show(|shown| {
        shown.ensemble = "repository".into();
        shown.models = vec![
            served("only", 1, ModelKind::Model, 1),
            unserved("idle", "unloaded", None),
        ];
    });
    assert_eq!(bench.console.model().matrix_name(), "only");
    bench.show(|shown| shown.models.clear());
    assert_eq!(bench.console.model().matrix_name(), "repository");
}
