//! Reasons are shown as a whole: why a model is not served, or a change of it was refused; lines of
//! the log; versions of models with all their digits.

use std::num::NonZeroU64;
use std::time::Duration;

use crossterm::event::KeyCode;
use divisi_engine::deployment::CatalogueChange;
use divisi_model::codes::Code;
use divisi_session::{
    CatalogueView, LogEntry, LogLevel, ModelChangeState, ModelChangeView, ModelKind, Refusal,
};

use crate::fake::Bench;
use crate::models_panel::{models, served, unserved};

const LONG: &str = "e_stepcycle/config.pbtxt:14: model `e_stepcycle`, step 3 (`classify`), input `X`: no \
                    step before it makes `features`, which `classify` makes of `resized`, which is made of \
                    `features`: a circle of the steps 1, 2 and 3 of the ensemble, beginning at LAST_WORD";

/// Whether the screen shows a text, wherever its lines break.
fn shows(bench: &Bench, expected: &str) -> bool {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    words(&bench.plain()).contains(&words(expected))
}

fn last_model(width: u16, height: u16, model: CatalogueView) -> Bench {
    let mut bench = models(width, height);
    bench.show(|shown| shown.models.push(model));
    bench.keys("jjjjjj");
    bench
}

#[test]
fn why_the_model_under_the_cursor_is_not_served_is_told_as_a_whole() {
    for (width, height) in [(40, 24), (80, 24), (160, 50)] {
        let mut bench = last_model(width, height, unserved("circle", LONG, Some(LONG)));
        assert!(shows(&bench, LONG), "{}", bench.plain());
        bench.keys("k");
        assert!(!shows(&bench, LONG), "{}", bench.plain());
    }
}

#[test]
fn why_newer_files_are_not_served_is_told_as_a_whole() {
    let model = CatalogueView {
        failure: Some(LONG.into()),
        ..served("circle", 1, ModelKind::Pipeline, 2)
    };
    let bench = last_model(80, 24, model);
    let said = format!("newest files cannot be served: {LONG}");
    assert!(shows(&bench, &said), "{}", bench.plain());
}

#[test]
fn why_a_change_was_refused_is_told_as_a_whole() {
    let mut bench = last_model(80, 24, unserved("circle", "unloaded", None));
    bench.show(|shown| {
        shown.model_change = Some(ModelChangeView {
            number: 7,
            change: CatalogueChange::Load("circle".into()),
            state: ModelChangeState::Refused(Refusal::new(Code::DoesNotFit, LONG)),
        });
    });
    bench.press(KeyCode::Up);
    bench.press(KeyCode::Down);
    let said = format!("load `circle` was refused: {LONG} · Esc hides this");
    assert!(shows(&bench, &said), "{}", bench.plain());
}

#[test]
fn where_there_is_no_room_a_reason_is_cut_and_the_list_stays() {
    let bench = last_model(40, 12, unserved("circle", LONG, Some(LONG)));
    let text = bench.plain();
    assert!(text.contains("▸✗ circle"), "{text}");
    assert!(text.contains("e_stepcycle/config.pbtxt:14:"), "{text}");
    assert!(!text.contains("LAST_WORD"), "{text}");
}

#[test]
fn a_word_that_is_longer_than_a_line_is_broken_and_nothing_of_it_left_out() {
    let path = "a/".repeat(60) + "end";
    let bench = last_model(80, 24, unserved("deep", &path, None));
    let joined: String = bench.plain().split_whitespace().collect();
    assert!(joined.contains(&path), "{}", bench.plain());
}

fn entry(text: String) -> LogEntry {
    LogEntry {
        at: Duration::from_secs(12),
        level: LogLevel::Warn,
        text,
    }
}

#[test]
fn the_log_breaks_long_lines_where_it_has_the_whole_screen() {
    for width in [40, 80] {
        let mut bench = Bench::new(width, 24);
        bench.show(|shown| shown.log = vec![entry(LONG.into())]);
        bench.keys("6");
        assert!(!bench.plain().contains("LAST_WORD"), "{}", bench.plain());
        bench.keys("z");
        assert!(shows(&bench, LONG), "{}", bench.plain());
    }
}

#[test]
fn lines_of_the_log_that_were_broken_are_scrolled_through_one_by_one() {
    let mut bench = Bench::new(80, 24);
    bench.show(|shown| {
        shown.log = (0..10)
            .map(|n| entry(format!("FIRST_{n} {LONG}")))
            .collect()
    });
    bench.keys("6z");
    assert!(bench.plain().contains("FIRST_9"), "{}", bench.plain());
    bench.keys("k");
    assert!(bench.plain().contains("1 line back"), "{}", bench.plain());
    bench.keys(&"k".repeat(100));
    assert!(bench.plain().contains("FIRST_0"), "{}", bench.plain());
}

#[test]
fn versions_are_shown_with_all_their_digits_or_with_the_last_ones() {
    let versions = [7, 20_240_115, 1_617_304_800, 20_240_115_103_000];
    let shown_at = |width| {
        let mut bench = models(width, 24);
        bench.show(|shown| {
            let each = versions.map(|version| served("dated", version, ModelKind::Model, 1));
            shown.models = each.to_vec();
        });
        bench.plain()
    };
    for width in [80, 160] {
        let text = shown_at(width);
        for version in versions {
            let whole = format!("{version:>14} model");
            assert!(text.contains(&whole), "{whole}: {text}");
        }
    }
    let narrow = shown_at(40);
    for cut in [
        "      7 model",
        "…240115 model",
        "…304800 model",
        "…103000 model",
    ] {
        assert!(narrow.contains(cut), "{cut}: {narrow}");
    }
}

#[test]
fn the_longest_version_that_there_is_leaves_room_for_figures() {
    let mut bench = models(80, 24);
    bench.show(|shown| shown.models[0].version = NonZeroU64::new(u64::MAX));
    let text = bench.plain();
    assert!(text.contains("…") && text.contains("req/s"), "{text}");
}
