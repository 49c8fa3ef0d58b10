//! The streams: rows, time, the span cursor, what is kept and what is written.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use divisi_console::console::{Colours, ConsoleEvent, Effect, Role, TerminalLook};
use divisi_model::trace::{Span, SpanKind, StepPlace};
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::{Mark, MarkKind};
use ratatui::style::Modifier;

use crate::fake::{Bench, PLAIN};
use crate::simulated;

const MILLI: Duration = Duration::from_millis(1);

/// A batch of `cpu:0 × mlp` from 41.9 s on, with all five steps.
fn batch() -> Vec<Span> {
    let steps = [
        (SpanKind::Wait, 41_900, 41_920),
        (SpanKind::CopyIn, 41_920, 41_930),
        (SpanKind::Compute, 41_930, 41_980),
        (SpanKind::CopyOut, 41_980, 41_990),
        (SpanKind::Send, 41_990, 41_999),
    ];
    let span = |(kind, start, end)| Span {
        device: DeviceIndex::new(0),
        member: MemberIndex::new(0),
        batch_size: 16,
        lane: 0,
        kind,
        start: MILLI * start,
        end: MILLI * end,
        samples: 12,
        batch: Some(812),
        request: 4711,
        requests: 3,
        of_step: Some(StepPlace { entry: 0, step: 0 }),
    };
    steps.map(span).to_vec()
}

const COLOURED: TerminalLook = TerminalLook {
    colours: Colours::True,
    ascii: false,
};

/// A console whose only spans are those of one batch, 200 ms shown.
fn one_batch(width: u16, height: u16, look: TerminalLook) -> Bench {
    let mut bench = Bench::empty(width, height, look);
    *bench.desk.spans.lock().unwrap() = batch();
    bench.console.refresh();
    bench.keys("3++");
    bench.show(|s| s.now = MILLI * 42_000);
    bench.keys("z");
    bench
}

/// The names of the panel's rows.
fn rows(bench: &Bench) -> Vec<String> {
    let text = bench.plain();
    let panel = text.lines().skip_while(|l| !l.contains("3 streams"));
    let inside = panel.skip(1).map(|l| l.trim_start_matches(['│', ' ']));
    let named = inside.take_while(|l| l.starts_with("cpu:"));
    let name = |l: &str| l.chars().take(17).collect::<String>().trim().to_owned();
    named.map(name).collect()
}

fn line<'a>(text: &'a str, with: &str) -> &'a str {
    text.lines().find(|l| l.contains(with)).unwrap()
}

#[test]
fn five_steps_have_five_signs() {
    let look = |colours, ascii| TerminalLook { colours, ascii };
    for (colours, ascii, signs) in [
        (Colours::None, false, ['░', '▒', '█', '▞', '▓']),
        (Colours::None, true, ['.', ':', '#', '/', '%']),
    ] {
        let bench = one_batch(80, 24, look(colours, ascii));
        let text = bench.plain();
        let row = line(&text, "mlp/16").split_once("mlp/16").unwrap().1;
        let at: Vec<usize> = signs.iter().map(|s| row.find(*s).unwrap()).collect();
        assert!(at.is_sorted(), "{row}");
        assert!(row.contains("12"), "{row}");
    }
    let look = look(Colours::True, false);
    let bench = one_batch(80, 24, look);
    let (buffer, styles) = (bench.buffer(), &bench.console.model().settings.styles);
    for (sign, role) in [
        ("░", Role::Wait),
        ("▒", Role::Copy),
        ("▞", Role::CopyOut),
        ("▓", Role::Send),
    ] {
        let row = buffer.content.chunks(80).nth(3).unwrap();
        let cell = row.iter().find(|c| c.symbol() == sign).unwrap();
        assert_eq!(cell.fg, styles.role_style(role).fg.unwrap(), "{sign}");
    }
}

#[test]
fn sizes_and_looks() {
    screen!("streams_batch_80x24", one_batch(80, 24, PLAIN));
    screen!("streams_batch_160x50", one_batch(160, 50, PLAIN));
    let ascii = TerminalLook {
        colours: Colours::None,
        ascii: true,
    };
    let mut bench = one_batch(80, 24, ascii);
    bench.keys(".");
    assert!(bench.plain().is_ascii(), "{}", bench.plain());
    let text = bench.plain();
    assert!(text.contains("batch 812: 12/16 . rq 4711+2"), "{text}");
    assert!(text.contains("/ out 10.0 ms % send 9.00 ms"), "{text}");
    screen!("streams_ascii_80x24", bench);
}

#[test]
fn the_cursor_reads_a_span_out() {
    let mut bench = one_batch(160, 50, PLAIN);
    bench.keys(".");
    assert!(bench.plain().contains("FROZEN"));
    let text = bench.plain();
    assert!(
        text.contains("▓ send 9.00 ms from 41.990000 s · cpu:0 × mlp lane 0 · batch 812: 12 of 16 samples · request 4711 and 2 more"),
        "{text}"
    );
    assert!(
        text.contains(
            "░ wait 20.0 ms  ▒ in 10.0 ms  █ compute 50.0 ms  ▞ out 10.0 ms  ▓ send 9.00 ms"
        ),
        "{text}"
    );
    bench.keys(",,");
    assert!(bench.plain().contains("█ compute 50.0 ms from 41.930000 s"));
    // Nothing before the first: the cursor stays.
    bench.keys(",,,,,,");
    assert!(bench.plain().contains("░ wait 20.0 ms from 41.900000 s"));
    bench.keys(".");
    assert!(bench.plain().contains("▒ copy in 10.0 ms from"));
    screen!("streams_cursor_160x50", bench);
    bench.press(KeyCode::Esc);
    assert!(bench.console.model().streams.reading.is_none());
    assert!(bench.plain().contains("FROZEN"));
}

#[test]
fn the_span_that_is_read_out_is_marked() {
    let mut bench = one_batch(80, 24, PLAIN);
    bench.keys(".,,");
    let buffer = bench.buffer();
    let row = buffer.content.chunks(80).nth(3).unwrap();
    let marked = |c: &&ratatui::buffer::Cell| c.modifier.contains(Modifier::REVERSED);
    let marked: String = row.iter().filter(marked).map(|c| c.symbol()).collect();
    assert!(marked.starts_with("cpu:0 m mlp/16"), "{marked}");
    assert!(marked.contains("█12█"), "{marked}");
    assert!(!marked.contains('▓'), "{marked}");
}

#[test]
fn the_cursor_brings_its_span_into_the_picture() {
    let mut bench = one_batch(120, 40, PLAIN);
    bench.keys(".");
    for _ in 0..7 {
        bench.keys("+");
    }
    // A window of 500 µs; the wait began 90 ms before.
    bench.keys(",,,,");
    let model = bench.console.model();
    let (end, length) = (model.streams.frozen.unwrap(), model.streams.length());
    assert_eq!(length, Duration::from_micros(500));
    let wait = model.streams.reading.as_ref().unwrap().span;
    assert_eq!(wait.kind, SpanKind::Wait);
    assert!(wait.start < end && wait.end > end - length);
    let text = bench.plain();
    assert!(line(&text, "mlp/16").contains("░░░░░░░"), "{text}");
}

#[test]
fn rows_are_chosen_and_scrolled_into_view() {
    let mut bench = simulated::bench(80, 24);
    bench.keys("3");
    for _ in 0..11 {
        bench.press(KeyCode::Down);
    }
    let selected = |bench: &Bench| {
        let buffer = bench.buffer();
        let mut rows = buffer.content.chunks(80);
        let row = rows.find(|r| {
            let marked = |c: &ratatui::buffer::Cell| c.modifier.contains(Modifier::REVERSED);
            r[1..8].iter().all(marked)
        });
        row.map(|r| r.iter().map(|c| c.symbol()).collect::<String>())
    };
    assert!(selected(&bench).is_some());
    for _ in 0..30 {
        bench.press(KeyCode::Up);
    }
    assert!(selected(&bench).unwrap().contains("v100:0 r resnet50·1"));
}

#[test]
fn zoom_goes_from_microseconds_to_minutes() {
    let mut bench = one_batch(120, 40, PLAIN);
    for _ in 0..30 {
        bench.keys("+");
    }
    assert!(bench.plain().contains("3 streams · 100 µs"));
    assert!(bench.plain().contains("−50 µs"));
    for _ in 0..30 {
        bench.keys("-");
    }
    assert!(bench.plain().contains("3 streams · 30 min"));
    bench.keys("++");
    assert!(bench.plain().contains("3 streams · 5 min"));
}

#[test]
fn a_held_picture_zooms_around_its_middle() {
    let mut bench = one_batch(120, 40, PLAIN);
    bench.keys("f");
    let middle = |bench: &Bench| {
        let streams = &bench.console.model().streams;
        streams.frozen.unwrap() - streams.length() / 2
    };
    let before = middle(&bench);
    bench.keys("++");
    assert_eq!(middle(&bench), before);
}

#[test]
fn time_is_gone_through_by_quarters_pages_and_ends() {
    let mut bench = Bench::new(120, 40);
    bench.keys("3");
    let end = |bench: &Bench| bench.console.model().streams.frozen;
    bench.press(KeyCode::Left);
    assert_eq!(end(&bench), Some(MILLI * 41_875));
    // The oldest span begins at 40.988 s.
    bench.keys("{");
    assert_eq!(end(&bench), Some(MILLI * 41_488));
    bench.keys("}");
    assert_eq!(end(&bench), Some(MILLI * 41_988));
    bench.keys("}}}");
    assert_eq!(end(&bench), Some(MILLI * 42_000));
    bench.press(KeyCode::Home);
    assert_eq!(end(&bench), Some(MILLI * 41_488));
    assert!(bench.plain().contains("at 41.488 s"));
    bench.press(KeyCode::End);
    assert_eq!(end(&bench), None);
}

#[test]
fn a_held_picture_stays_while_history_goes_on() {
    let mut bench = one_batch(120, 40, PLAIN);
    bench.keys("f");
    let before = bench.plain();
    let later = batch().into_iter().map(|s| Span {
        start: s.start + MILLI * 500,
        end: s.end + MILLI * 500,
        ..s
    });
    bench.desk.spans.lock().unwrap().extend(later);
    bench.show(|s| s.now += MILLI * 500);
    assert_eq!(bench.plain(), before);
    bench.press(KeyCode::End);
    bench.keys("{}");
    let text = bench.plain();
    assert!(line(&text, "mlp/16").contains('▞'), "{text}");
}

#[test]
fn what_was_painted_before_does_not_change_the_picture() {
    let mut bench = Bench::new(160, 50);
    let mut step = Duration::ZERO;
    for i in 0..40u32 {
        step += MILLI * (i % 7 * 9);
        let moved = batch().into_iter().map(|s| Span {
            member: MemberIndex::new([0, 2, 4][i as usize % 3]),
            start: s.start + step,
            end: s.end + step,
            ..s
        });
        bench.desk.spans.lock().unwrap().extend(moved);
        bench.show(|s| s.now = MILLI * 42_000 + step);
        let followed = bench.plain();
        // Another width and back: painted from nothing.
        bench.console.handle(ConsoleEvent::Resize(120, 50));
        bench.size.0 = 120;
        bench.plain();
        bench.console.handle(ConsoleEvent::Resize(160, 50));
        bench.size.0 = 160;
        assert_eq!(bench.plain(), followed, "after {i}");
    }
}

#[test]
fn rows_are_filtered_by_what_is_typed() {
    let mut bench = Bench::new(120, 40);
    bench.keys("3/res");
    assert!(bench.plain().contains("rows with / res"));
    // Letters are text now, not commands.
    assert!(bench.sent().is_empty() && bench.console.dialogs().is_empty());
    assert_eq!(rows(&bench), ["cpu:0 R res-m/32", "cpu:1 r res-s/16"]);
    bench.press(KeyCode::Enter);
    assert!(bench.plain().contains("/res"));
    bench.press(KeyCode::Esc);
    assert_eq!(rows(&bench).len(), 8);
    bench.keys("/cpu:1");
    assert_eq!(rows(&bench).len(), 4);
    bench.press(KeyCode::Esc);
    assert_eq!(rows(&bench).len(), 8);
}

#[test]
fn rows_are_sorted() {
    let mut bench = Bench::new(120, 40);
    bench.keys("3");
    for (words, row) in [
        ("by member", "cpu:0 m mlp/16"),
        ("busiest first", "cpu:0 all"),
        ("by name", "cpu:0 all"),
    ] {
        bench.keys("o");
        assert!(bench.plain().contains(&format!("500 ms · {words}")));
        assert_eq!(rows(&bench)[0], row, "{words}");
    }
    bench.keys("o");
    assert_eq!(rows(&bench)[0], "cpu:0 m mlp/16");
}

#[test]
fn losses_are_counted_in_the_title() {
    let mut bench = Bench::new(160, 50);
    assert!(!bench.plain().contains("spans lost"));
    bench
        .desk
        .lost
        .store(12_345, std::sync::atomic::Ordering::SeqCst);
    assert!(bench.console.follow());
    assert!(bench.plain().contains("12k spans lost"));
}

#[test]
fn changes_are_marked_on_the_axis() {
    let mut bench = one_batch(120, 40, PLAIN);
    let mark = |at: u32, kind| Mark {
        at: MILLI * at,
        kind,
        text: "elastic".into(),
    };
    bench.show(|s| {
        s.marks = vec![
            mark(20_000, MarkKind::Load),
            mark(41_925, MarkKind::Policy),
            mark(41_960, MarkKind::Reload),
        ];
    });
    let text = bench.plain();
    let axis = line(&text, "now");
    assert!(
        axis.contains("╎policy") && axis.contains("╎reload"),
        "{axis}"
    );
    assert!(!axis.contains("╎load"), "{axis}");
}

#[test]
fn the_mouse_chooses_spans_scrolls_and_zooms() {
    let mut bench = one_batch(120, 40, PLAIN);
    let mouse = |bench: &mut Bench, kind, column, row, modifiers| {
        bench.console.handle(ConsoleEvent::Mouse(MouseEvent {
            kind,
            column,
            row,
            modifiers,
        }));
    };
    let text = bench.plain();
    let row = text.lines().position(|l| l.contains("mlp/16")).unwrap() as u16;
    let column = line(&text, "mlp/16")
        .chars()
        .position(|c| c == '▞')
        .unwrap() as u16;
    let plain = KeyModifiers::NONE;
    let down = MouseEventKind::Down(MouseButton::Left);
    mouse(&mut bench, down, column, row, plain);
    assert!(bench.plain().contains("▞ copy out 10.0 ms"));
    let length = bench.console.model().streams.length();
    mouse(
        &mut bench,
        MouseEventKind::ScrollUp,
        column,
        row,
        KeyModifiers::CONTROL,
    );
    assert!(bench.console.model().streams.length() < length);
    mouse(&mut bench, MouseEventKind::ScrollDown, column, 38, plain);
    assert_eq!(bench.console.model().streams.length(), length);
}

#[test]
fn what_is_held_is_exported() {
    let mut bench = one_batch(120, 40, PLAIN);
    let effects = bench.press(KeyCode::Char('Z'));
    let [
        Effect::Write {
            path,
            bytes,
            replace: false,
        },
    ] = effects.as_slice()
    else {
        panic!("{effects:?}");
    };
    assert_eq!(path.to_str(), Some("digits-trace-42s.json"));
    let all: serde_json::Value = serde_json::from_slice(bytes).unwrap();
    let kinds = |trace: &serde_json::Value, ph: &str| {
        let events = trace["traceEvents"].as_array().unwrap();
        let named = events.iter().filter(|e| e["ph"] == ph);
        named
            .map(|e| e["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds(&all, "X"), ["copy in", "compute", "copy out", "send"]);
    // The wait and the copy in are over at the right edge.
    bench.keys("f++++++");
    bench.press(KeyCode::Home);
    bench.press(KeyCode::Right);
    let effects = bench.press(KeyCode::Char('Z'));
    let [Effect::Write { bytes, .. }] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    let held: serde_json::Value = serde_json::from_slice(bytes).unwrap();
    assert_eq!(kinds(&held, "b"), ["wait"]);
    assert!(kinds(&held, "X").is_empty());
}

#[test]
fn nothing_to_export_is_said() {
    let mut bench = Bench::empty(120, 40, PLAIN);
    bench.keys("3Z");
    assert!(bench.plain().contains("no span to export"));
}

/// Five minutes of 48 lanes at 2 000 spans a second.
#[test]
fn five_minutes_fit_in_64_mib() {
    let mut bench = Bench::empty(160, 50, PLAIN);
    let span = |i: u64| Span {
        device: DeviceIndex::new((i % 4) as usize),
        member: MemberIndex::new((i % 12) as usize),
        lane: 0,
        start: Duration::from_micros(i * 500),
        end: Duration::from_micros(i * 500 + 900),
        ..batch()[2]
    };
    for part in 0..600 {
        let spans = (part * 1000..(part + 1) * 1000).map(span);
        bench.desk.spans.lock().unwrap().extend(spans);
        bench.show(|s| s.now = Duration::from_micros((part + 1) * 500_000));
    }
    let timeline = &bench.console.model().timeline;
    assert_eq!(timeline.crowded_out(), 0);
    assert_eq!(timeline.earliest(), Some(Duration::ZERO));
    assert!(timeline.bytes() <= 64 << 20, "{}", timeline.bytes());
    bench.keys("3-------");
    bench.press(KeyCode::Home);
    bench.buffer();
    // Twice as much: the oldest go, the bound holds, and the title says so.
    for part in 600..1200 {
        let spans = (part * 1000..(part + 1) * 1000).map(span);
        bench.desk.spans.lock().unwrap().extend(spans);
        bench.show(|s| s.now = Duration::from_micros((part + 1) * 500_000));
    }
    let timeline = &bench.console.model().timeline;
    assert!(timeline.crowded_out() > 0);
    assert!(timeline.bytes() <= 64 << 20, "{}", timeline.bytes());
    assert!(
        bench.plain().contains(" spans dropped"),
        "{}",
        bench.plain()
    );
}

#[test]
fn frames_are_drawn_only_where_they_differ() {
    let mut bench = one_batch(120, 40, PLAIN);
    // Less than a column of the picture passes.
    bench.pass(Duration::from_micros(100));
    assert!(!bench.console.follow());
    bench.pass(MILLI * 5);
    assert!(bench.console.follow());
    bench.keys("f");
    bench.pass(MILLI * 500);
    assert!(!bench.console.follow());
    bench.keys("f");
    // The last span leaves the picture, then time stops scrolling.
    bench.pass(Duration::from_secs(60));
    bench.console.follow();
    for _ in 0..100 {
        bench.pass(MILLI * 33);
        assert!(!bench.console.follow() && !bench.console.refresh());
    }
}

#[test]
fn hidden_streams_do_not_draw() {
    let mut bench = one_batch(120, 40, PLAIN);
    bench.keys("6");
    bench.pass(MILLI * 50);
    assert!(!bench.console.follow());
}

#[test]
fn series_of_nothing_are_nothing_to_draw() {
    let mut bench = Bench::empty(120, 40, PLAIN);
    let rest = |bench: &mut Bench, moments: usize| {
        bench.show(|s| {
            s.throughput.series = vec![0.0; moments];
            s.members
                .iter_mut()
                .for_each(|m| m.series = vec![0.0; moments]);
        })
    };
    assert!(rest(&mut bench, 4));
    assert!(!rest(&mut bench, 5));
    assert!(bench.show(|s| s.throughput.series[4] = 1.0));
}

#[test]
fn no_size_panics() {
    for width in (0..210).step_by(13) {
        for height in (0..62).step_by(5) {
            let mut bench = simulated::bench(width, height);
            for keys in ["3.", ",o", "z-", "/v1", "z++++++", "}{"] {
                bench.keys(keys);
                bench.buffer();
            }
        }
    }
}

#[test]
fn more_time_than_there_was_leaves_the_left_empty() {
    let mut bench = one_batch(80, 24, PLAIN);
    // A minute shown, 42 s after the engine's start: the batch is next to now.
    bench.keys("--------");
    let text = bench.plain();
    let row = line(&text, "mlp/16").split_once("mlp/16").unwrap().1;
    let signs = ['░', '▒', '█', '▞', '▓', '▁', '▂', '▃', '▄', '▅', '▆', '▇'];
    let at = row.chars().position(|c| signs.contains(&c)).unwrap();
    assert!(at > row.chars().count() / 2, "{row}");
}

#[test]
fn the_spans_of_a_request_stand_out_in_all_rows_and_their_steps_are_named() {
    let mut bench = Bench::empty(160, 50, COLOURED);
    let beside = batch().into_iter().map(|span| Span {
        member: MemberIndex::new(4),
        batch: Some(813),
        ..span
    });
    let other = batch().into_iter().map(|span| Span {
        member: MemberIndex::new(2),
        batch: Some(814),
        request: 4712,
        ..span
    });
    *bench.desk.spans.lock().unwrap() = batch().into_iter().chain(beside).chain(other).collect();
    bench.console.refresh();
    bench.keys("3++");
    bench.show(|shown| {
        shown.now = MILLI * 42_000;
        shown.graphs[0].steps[0].name = "quick".into();
    });
    bench.keys("z,");
    let text = bench.plain();
    assert!(text.contains("step quick"), "{text}");
    let accent = bench
        .console
        .model()
        .settings
        .styles
        .role_style(Role::Accent)
        .fg;
    let is_lit = |row: &str| {
        let text = bench.plain();
        let y = text.lines().position(|line| line.contains(row)).expect(row) as u16;
        let buffer = bench.buffer();
        (2..158).any(|x| buffer[(x, y)].fg == accent.expect("a colour"))
    };
    assert!(is_lit("res-m/32"), "a batch of the same request");
    assert!(!is_lit("cnn-m/8"), "a batch of another one");
}

#[test]
fn the_way_of_a_request_is_told_its_last_step_and_what_it_waited_for() {
    let mut bench = Bench::empty(160, 50, PLAIN);
    let beside = batch().into_iter().map(|span| Span {
        member: MemberIndex::new(4),
        batch: Some(813),
        of_step: None,
        start: span.start + MILLI * 30,
        end: span.end + MILLI * 30,
        ..span
    });
    *bench.desk.spans.lock().unwrap() = batch().into_iter().chain(beside).collect();
    bench.console.refresh();
    bench.keys("3++");
    bench.show(|shown| shown.now = MILLI * 42_100);
    bench.keys("z,");
    let text = bench.plain();
    let told = line(&text, "its request:");
    for part in [
        "4711 in 129 ms, 2 of 6 steps recorded",
        "last send of res-m",
    ] {
        assert!(told.contains(part), "{told}");
    }
    assert!(told.contains("waited 20.0 ms, most for"), "{told}");
    screen!("streams_request_160x50", bench);
}

#[test]
fn the_wait_of_a_request_is_that_of_its_longest_chain_of_steps() {
    for (needs, waited) in [(&[][..], "waited 20.0 ms,"), (&[0][..], "waited 40.0 ms,")] {
        let mut bench = Bench::empty(160, 50, PLAIN);
        let beside = batch().into_iter().map(|span| Span {
            member: MemberIndex::new(4),
            batch: Some(813),
            of_step: span.of_step.map(|of| StepPlace { step: 1, ..of }),
            start: span.start + MILLI * 30,
            end: span.end + MILLI * 30,
            ..span
        });
        *bench.desk.spans.lock().unwrap() = batch().into_iter().chain(beside).collect();
        bench.console.refresh();
        bench.keys("3++");
        bench.show(|shown| {
            shown.now = MILLI * 42_100;
            shown.graphs[0].steps[1].needs = needs.to_vec();
        });
        bench.keys("z,");
        let text = bench.plain();
        let told = line(&text, "its request:");
        assert!(told.contains(waited), "{told}");
    }
}

/// A batch of `cpu:0 × mlp` that runs since 41.95 s.
fn running() -> Span {
    Span {
        start: MILLI * 41_950,
        batch: Some(900),
        request: 9_000,
        ..batch()[2]
    }
}

#[test]
fn a_running_batch_is_drawn_up_to_now() {
    let mut bench = Bench::empty(80, 24, PLAIN);
    bench.keys("3++");
    bench.show(|s| (s.now, s.under_way) = (MILLI * 42_000, vec![running()]));
    let row = line(&bench.plain(), "mlp/16").to_owned();
    let drawn = row.trim_end_matches(['│', ' ']);
    assert!(drawn.ends_with('█'), "{row}");
    // A picture without the batch ends before now.
    bench.show(|s| s.under_way.clear());
    assert!(!line(&bench.plain(), "mlp/16").contains('█'));
}

#[test]
fn a_device_that_computes_all_the_time_is_drawn_busy_all_the_time() {
    let mut bench = Bench::empty(80, 24, PLAIN);
    bench.keys("3++");
    let long = Span {
        start: MILLI * 30_000,
        ..running()
    };
    bench.show(|s| (s.now, s.under_way) = (MILLI * 42_000, vec![long]));
    let text = bench.plain();
    let row = line(&text, "mlp/16");
    let inside: String = row.chars().filter(|c| matches!(c, '█' | ' ')).collect();
    let blank = inside.trim().chars().filter(|c| *c == ' ').count();
    assert!(blank <= 4, "{row}");
}

#[test]
fn the_way_of_a_request_names_the_steps_without_spans() {
    let mut bench = one_batch(160, 50, PLAIN);
    let mut computing = running();
    computing.request = 4711;
    computing.of_step = Some(StepPlace { entry: 0, step: 4 });
    bench.show(|s| s.under_way = vec![computing]);
    bench.keys(",");
    let text = bench.plain();
    let told = line(&text, "its request:");
    assert!(told.contains("1 of 6 steps recorded"), "{told}");
    assert!(told.contains("running res-m"), "{told}");
    assert!(
        told.contains("no spans yet from cnn-s, cnn-m, res-s, dense"),
        "{told}"
    );
}
