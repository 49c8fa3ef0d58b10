//! The panels beside the streams, with all that there is to show.

use crossterm::event::KeyCode;
use divisi_console::console::{Colours, Role, TerminalLook};
use divisi_engine::search::{Comparison, Doubt};
use divisi_runtime::device::MemberIndex;
use divisi_session::*;
use ratatui::style::Style;
use std::time::Duration;

use crate::fake::Bench;
use crate::rich::{bench, on_probation, recorded, rich, searching, troubled};

/// Number and name of those that this file is about.
const PANELS: [(char, &str); 7] = [
    ('1', "allocation"),
    ('2', "search"),
    ('4', "latency"),
    ('5', "throughput"),
    ('6', "log"),
    ('7', "members"),
    ('8', "steps"),
];

const ASCII: TerminalLook = TerminalLook {
    colours: Colours::None,
    ascii: true,
};

const COLOURED: TerminalLook = TerminalLook {
    colours: Colours::True,
    ascii: false,
};

fn coloured(width: u16, height: u16) -> Bench {
    let mut bench = Bench::with(width, height, false, COLOURED);
    bench.show(rich);
    bench
}

/// The style of the first cell of `text`, from where it stands after `after`.
pub fn style(bench: &Bench, after: &str, text: &str) -> Style {
    let screen = bench.text();
    let all = bench.buffer();
    for (y, line) in screen.lines().enumerate() {
        let Some(from) = line.find(after) else {
            continue;
        };
        if let Some(at) = line[from..].find(text) {
            let x = line[..from + at].chars().count() as u16;
            return all[(x, y as u16)].style();
        }
    }
    panic!("no `{text}` after `{after}` in\n{screen}");
}

fn is(bench: &Bench, after: &str, text: &str, role: Role) {
    let found = style(bench, after, text);
    let wanted = bench.console.model().settings.styles.role_style(role);
    assert_eq!(found.fg, wanted.fg.or(found.fg), "{text}");
    assert!(found.add_modifier.contains(wanted.add_modifier), "{text}");
}

#[test]
fn every_panel_has_the_whole_screen_at_every_size() {
    for (key, name) in PANELS {
        for (width, height) in [(80, 24), (120, 40), (40, 12)] {
            let mut bench = bench(width, height);
            bench.keys(&format!("{key}z"));
            screen!(format!("panel_{name}_{width}x{height}"), bench);
        }
    }
}

#[test]
fn every_panel_in_ascii() {
    for (key, name) in PANELS {
        let mut bench = Bench::with(80, 24, false, ASCII);
        bench.show(rich);
        bench.show(troubled);
        bench.keys(&format!("{key}z"));
        assert!(bench.text().is_ascii(), "{}", bench.text());
        screen!(format!("panel_{name}_ascii"), bench);
    }
}

#[test]
fn empty_panels_say_what_to_press() {
    let mut bench = Bench::new(80, 24);
    bench.show(|s| {
        s.latency = LatencyView::default();
        s.log.clear();
    });
    for (key, text) in [
        ("2z", "s starts one"),
        ("4", "l starts a load"),
        ("7", "l load"),
        ("6", "no messages"),
    ] {
        bench.keys(key);
        assert!(bench.text().contains(text), "{}", bench.text());
    }
}

#[test]
fn an_entry_shows_load_fill_and_queue_where_there_is_room() {
    let mut bench = bench(80, 24);
    bench.keys("z");
    for row in [" fill", " wait", " load", "queue", "grows"] {
        assert!(bench.text().contains(row), "{row} in\n{}", bench.text());
    }
    assert!(bench.text().contains("copy"));
}

#[test]
fn lints_name_what_is_wrong_and_its_keys() {
    let mut bench = bench(160, 50);
    bench.show(troubled);
    bench.keys("z");
    for lint in [
        "4.3% of requests exceed 5.00 ms; limit 1% · 4 latency, s search",
        "res-m's queue grows by 912 samples/s, 4 210 waiting · 5 throughput, l load, e edit",
        "res-m is the bottleneck: 4 210 samples queued · 3 streams, e edit, s search",
        "cpu:1 copies 41 % of the time and computes 22 % · 3 streams, e edit",
        "cpu:0 × cnn-m: copying takes ×1.8 the computing time · 3 streams, e edit",
        "cpu:1 idle 78 % of the time · e edit, s search",
        "cpu:0 × mlp: batches of 16 are 30 % full · p policy, e edit",
    ] {
        assert!(bench.text().contains(lint), "{lint} in\n{}", bench.text());
    }
    let mut narrow = crate::rich::bench(80, 24);
    assert!(
        narrow.text().contains(" · 4 latency, s search"),
        "{}",
        narrow.text()
    );
    narrow.keys("z");
    assert!(
        narrow.text().contains("limit 1% · 4 latency, s search"),
        "{}",
        narrow.text()
    );
    bench.show(|s| s.throughput.samples_per_s = 0.0);
    assert!(
        !bench.text().contains("requests exceed"),
        "{}",
        bench.text()
    );
}

#[test]
fn members_whose_answers_are_none_are_named() {
    let mut bench = bench(160, 50);
    bench.show(|s| {
        s.members[1].flaws.not_finite = 12;
        s.members[2].flaws.not_probabilities = 3;
    });
    bench.keys("z");
    for lint in [
        "! cnn-s returned NaN or infinities for 12 samples so far · 6 log, 7 members",
        "! cnn-m returns values that are not probabilities · 6 log, 7 members",
    ] {
        assert!(bench.text().contains(lint), "{lint} in\n{}", bench.text());
    }
    bench.show(|s| s.lately.failed.requests = 2);
    let text = bench.text();
    assert!(
        text.contains("✗ cnn-s returned NaN or infinities for 12 samples"),
        "{text}"
    );
}

#[test]
fn the_search_names_the_best_change_and_shades_the_others() {
    let mut bench = coloured(160, 50);
    bench.keys("2z");
    assert!(bench.text().contains("cpu:1 × res-m 0 → 16 (+9 %)"));
    is(&bench, "cpu:0  ", "−2▒", Role::Warn);
    is(&bench, "cpu:1  ", "+9▓", Role::Good);
    is(&bench, "cpu:0  ", "·", Role::Dim);
}

/// The words for the best, from the best of many looks to what runs beside the start say.
#[test]
fn the_search_says_how_far_its_best_is_to_be_believed() {
    let pairs = |low: f64, high: f64| Comparison {
        ratio: (low * high).sqrt(),
        low,
        high,
        pairs: 6,
    };
    let looks = Doubt::Runs {
        runs: 4,
        error: 0.008,
    };
    let cases = [
        (looks, None, "± 0.8 %"),
        (
            Doubt::Predicted { spread: 1.25 },
            None,
            "predicted, −20 … +25 %",
        ),
        (Doubt::Exact, None, "exact"),
        (
            looks,
            Some(pairs(1.361, 1.402)),
            "over the start +36.1 … +40.2 % (95 %, 6 pairs",
        ),
        (
            looks,
            Some(pairs(0.99, 1.021)),
            "start kept: -1.0 … +2.1 % (95 %, 6 pairs",
        ),
    ];
    for (doubt, gain, says) in cases {
        let mut bench = bench(100, 40);
        bench.show(|s| {
            let mut view = searching();
            view.progress.best_doubt = doubt;
            view.progress.gain = gain;
            s.search = Some(view);
        });
        bench.keys("2z");
        let shown = bench.text();
        assert!(shown.contains(says), "{says}\n{shown}");
    }
}

#[test]
fn no_gap_is_claimed_to_a_bound_that_was_exceeded() {
    let mut bench = bench(100, 40);
    bench.show(|s| {
        let mut view = searching();
        view.progress.bound = Some(4_000.0);
        s.search = Some(view);
    });
    bench.keys("2z");
    let shown = bench.text();
    assert!(
        shown.contains("above the model's bound of 4 000: profiles do not hold"),
        "{shown}"
    );
    assert!(!shown.contains("below the model's bound"), "{shown}");
}

#[test]
fn steps_of_the_search_can_be_scrolled() {
    let mut bench = bench(80, 24);
    bench.show(|s| {
        let mut view = searching();
        let last = view.progress.accepted.last().cloned().unwrap();
        view.progress.accepted.resize(40, last);
        s.search = Some(view);
    });
    bench.keys("2z");
    assert!(bench.text().contains("40 of 40"), "{}", bench.text());
    bench.keys("kkk");
    assert!(bench.text().contains("37 of 40"), "{}", bench.text());
    bench.keys("jjj");
    assert!(bench.text().contains("40 of 40"));
}

#[test]
fn latency_is_of_the_ensemble_a_member_or_a_worker() {
    let mut bench = bench(120, 40);
    bench.keys("4");
    assert!(bench.text().contains("4 latency ensemble ·") || bench.text().contains("ensemble · "));
    bench.keys("gz");
    assert!(bench.text().contains("mlp · to its answer, ms"));
    assert!(!bench.text().contains("before"));
    bench.press(KeyCode::Right);
    assert!(bench.text().contains("cnn-s · to its answer, ms"));
    bench.press(KeyCode::Left);
    bench.keys("g");
    assert!(
        bench
            .text()
            .contains("cpu:0 × mlp · to its batches' end, ms")
    );
    bench.press(KeyCode::Right);
    assert!(
        bench
            .text()
            .contains("cpu:0 × cnn-m · to its batches' end, ms")
    );
    bench.keys("g");
    assert!(bench.text().contains("ensemble · due to answer, ms"));
}

#[test]
fn a_missed_target_is_marked_by_a_sign_and_a_colour() {
    let mut bench = coloured(120, 40);
    bench.keys("4z");
    is(&bench, "missed", "4.3% ✗", Role::Bad);
    assert!(bench.text().contains("┆"));
    bench.show(|s| s.latency.now.missed = Some(0.004));
    is(&bench, "missed", "0.4% ✓", Role::Good);
}

#[test]
fn before_and_after_a_reload_stand_side_by_side() {
    for (width, height) in [(120, 40), (60, 40)] {
        let mut bench = bench(width, height);
        bench.keys("4z");
        let text = bench.text();
        for word in ["before", "10 s", "since", "change", "p99.9", "max", "−52%"] {
            assert!(text.contains(word), "{word} in\n{text}");
        }
    }
}

#[test]
fn throughput_marks_what_changed() {
    let mut bench = bench(120, 40);
    bench.keys("5z");
    let text = bench.text();
    for word in [
        "12 s ago",
        "start cpu:1 × res-s",
        "no-wait",
        "poisson:800",
        "samples/s",
    ] {
        assert!(text.contains(word), "{word} in\n{text}");
    }
    bench.keys("g");
    assert!(bench.text().contains("mlp · samples/s"), "{}", bench.text());
    bench.keys("g");
    assert!(bench.text().contains("ensemble · samples/s"));
}

#[test]
fn a_vote_is_given_and_taken_by_one_key() {
    let mut bench = bench(120, 40);
    bench.keys("7jv");
    assert_eq!(bench.sent(), [Command::SetVote(MemberIndex::new(1), false)]);
    bench.keys("jjjjv");
    assert_eq!(
        bench.sent()[1..],
        [Command::SetVote(MemberIndex::new(5), true)]
    );
}

#[test]
fn the_last_vote_stays() {
    let mut bench = bench(80, 24);
    bench.show(|s| s.combination.voting = vec![false, true, false, false, false, false]);
    bench.keys("7jv");
    assert!(
        bench.text().contains("the last voting member stays"),
        "{}",
        bench.text()
    );
    assert!(bench.sent().is_empty());
}

#[test]
fn a_read_only_console_takes_no_votes() {
    let mut bench = Bench::with(80, 24, true, COLOURED);
    bench.show(rich);
    bench.keys("7v");
    assert!(bench.text().contains("read-only"));
    assert!(bench.sent().is_empty());
}

#[test]
fn who_does_not_vote_is_told_by_a_sign_and_a_colour() {
    let mut bench = coloured(120, 40);
    bench.keys("7z");
    is(&bench, "✗", "✗", Role::Warn);
    is(&bench, "✗", "dense", Role::Dim);
    is(&bench, "✓", "✓", Role::Good);
    is(&bench, "▸", "mlp", Role::Cursor);
}

#[test]
fn the_focus_is_told_by_a_rule_and_a_colour() {
    let mut bench = coloured(120, 40);
    is(&bench, "1 allocation", "━", Role::Focus);
    is(&bench, "4 latency", "─", Role::Border);
    bench.keys("4");
    is(&bench, "4 latency", "━", Role::Focus);
}

#[test]
fn a_probation_counts_down() {
    let mut bench = coloured(120, 40);
    bench.show(on_probation);
    let shown = bench.text();
    for part in [
        "on probation, 12 s left",
        "p99 8.1 ms ≤ 12.0 ms (was 10.0 ms), 318 missing",
        "318 missing · p99 8.1 ms, limit 12.0 ms, was 10.0 ms; 7 of 812",
    ] {
        assert!(shown.contains(part), "{part} in\n{shown}");
    }
    is(&bench, "", "on probation", Role::Warn);
    let state = |state| {
        move |s: &mut Snapshot| {
            let probation = s.probation.as_mut().unwrap();
            (probation.state, probation.ended) = (state, Some(s.now));
        }
    };
    bench.show(state(ProbationState::Failed("p99 ×2.1".into())));
    is(&bench, "", "! rolled back", Role::Warn);
    let header = |bench: &Bench| bench.text().lines().take(2).collect::<String>();
    assert!(header(&bench).contains("! rolled back"));
    bench.show(|s| s.now += Duration::from_secs(23));
    assert!(!header(&bench).contains("rolled back"), "{}", bench.text());
    bench.show(state(ProbationState::Kept));
    assert!(!bench.text().contains("probation"));
}

#[test]
fn recording_playing_and_watching_are_signs_in_the_header() {
    let mut bench = bench(120, 40);
    bench.show(recorded);
    let text = bench.text();
    assert!(text.contains("● REC evening.divisi  1.2 MiB"), "{text}");
    assert!(
        text.contains("attached · 3 viewers · ada@pts/4 edits"),
        "{text}"
    );
    bench.show(|s| {
        s.recording = None;
        s.playback = Some(Playback {
            epoch: 0,
            path: "evening.divisi".into(),
            position: Duration::from_millis(62_500),
            length: Duration::from_secs(600),
            speed: 2.0,
            paused: true,
        });
    });
    let text = bench.text();
    assert!(text.contains("‖  1:02.5 / 10:00.0 ×2"), "{text}");
}

#[test]
fn no_size_panics_with_everything_known() {
    for width in (0..220).step_by(13) {
        for height in (0..70).step_by(5) {
            let mut bench = bench(width, height);
            bench.show(troubled);
            bench.show(on_probation);
            for keys in [
                "", "2z", "4g", "5", "7", "1", "zL4", "L", "L", "L", "L", "LH",
            ] {
                bench.keys(keys);
                bench.buffer();
            }
        }
    }
}
