//! The panel of figures over time: its rows, its time axis, its cursor, and the changes.

use std::time::Duration;

use crossterm::event::KeyCode;
use divisi_console::console::Panel;
use divisi_session::{
    Figure, FigureHistory, FigureRecord, FigureSpread, Mark, MarkKind, Snapshot, Target,
};

use crate::fake::Bench;

/// 14:00:00 UTC on a day.
const STARTED: u64 = (20_000 * 24 + 14) * 3_600_000;

/// The seconds of the session.
const SECONDS: u64 = 900;

fn second(number: u64) -> FigureRecord {
    let wave = 100.0 * (number as f64 / 60.0).sin();
    // A minute of trouble.
    let bad = (300..360).contains(&number);
    let p99 = if bad { 80_000.0 } else { 6_800.0 };
    let figures = [
        (Figure::P50, 2_100.0 + wave),
        (Figure::P99, p99),
        (Figure::Offered, 800.0 + wave),
        (Figure::Answered, 790.0 + wave),
        (Figure::Samples, 4_812.0),
        (Figure::Queue, if bad { 1_900.0 } else { 12.0 }),
        (Figure::Refused, if bad { 212.0 } else { 0.0 }),
        (Figure::Failed, 0.0),
        (Figure::Met, if bad { 0.62 } else { 0.9997 }),
        (Figure::Device, 0.71),
        (Figure::Host, 0.4),
    ];
    let record = FigureRecord::new(number, number + 1);
    figures.into_iter().fold(record, |record, (figure, value)| {
        record.with(figure, FigureSpread::single(value, 1.0))
    })
}

fn mark(second: u64, kind: MarkKind, text: &str) -> Mark {
    Mark {
        at: Duration::from_secs(second),
        kind,
        text: text.into(),
    }
}

fn set(shown: &mut Snapshot) {
    shown.now = Duration::from_millis(SECONDS * 1000 + 200);
    shown.started = Some(STARTED);
    shown.second = Some(second(SECONDS - 1));
    shown.target = Some(Target {
        latency: Duration::from_millis(20),
        share: 0.99,
    });
    shown.marks = vec![
        mark(20, MarkKind::Load, "poisson 800 rq/s"),
        mark(299, MarkKind::Device, "cpu:1 is slowed down 8 times"),
        mark(362, MarkKind::Reload, "res-m moved to cpu:0"),
    ];
}

fn bench(width: u16, height: u16) -> Bench {
    let mut bench = Bench::new(width, height);
    let history = FigureHistory::from_records((0..SECONDS).map(second));
    *bench.desk.history.lock().expect("lock") = history;
    bench.show(set);
    bench
}

#[test]
fn figures_over_time_share_an_axis_with_the_changes() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut bench = bench(width, height);
        bench.keys("t");
        screen!(format!("time_{width}x{height}"), bench);
    }
}

#[test]
fn a_cursor_reads_out_the_figures_and_the_change_at_its_time() {
    let mut bench = bench(120, 40);
    // The whole session: a column is about ten seconds.
    bench.keys("t-------------");
    bench.press(KeyCode::Home);
    let before = bench.plain();
    assert!(before.contains("whole session"), "{before}");
    (0..58).for_each(|_| bench.keys(","));
    let text = bench.plain();
    assert!(text.contains("values at 14:0"), "{text}");
    screen!("time_cursor_120x40", bench);
}

#[test]
fn what_changed_is_listed_with_its_time_of_day() {
    let mut bench = bench(120, 40);
    bench.keys("t-");
    let text = bench.plain();
    assert!(text.contains("14:04:59"), "{text}");
    assert!(text.contains("D cpu:1 is slowed down 8 times"), "{text}");
}

#[test]
fn it_is_said_since_when_the_objective_is_met() {
    let mut bench = bench(120, 40);
    bench.keys("t");
    let text = bench.plain();
    // From second 360 until second 900.
    assert!(
        text.contains("objective 99.0% within 20 ms: met for 9 min 00 s"),
        "{text}"
    );
}

#[test]
fn the_worst_of_merged_seconds_is_named() {
    let mut bench = bench(120, 40);
    bench.keys("t++++");
    assert!(!bench.plain().contains("p99 max"), "{}", bench.plain());
    bench.keys("----");
    let text = bench.plain();
    for name in ["p99 max", "queue max", "refused max", "objective min"] {
        assert!(text.contains(name), "{name}: {text}");
    }
}

#[test]
fn scrolling_back_stays_there_until_the_end_key() {
    let mut bench = bench(120, 40);
    bench.keys("t");
    bench.press(KeyCode::Left);
    assert!(!bench.console.model().time.is_live());
    bench.press(KeyCode::End);
    assert!(bench.console.model().time.is_live());
}

#[test]
fn escape_removes_the_cursor_first() {
    let mut bench = bench(120, 40);
    bench.keys("t,");
    bench.press(KeyCode::Esc);
    assert_eq!(bench.console.model().time.cursor(), None);
    assert_eq!(bench.console.model().focus, Panel::Time);
}

#[test]
fn figures_without_a_measurement_have_no_row() {
    let mut bench = bench(120, 40);
    bench.keys("t");
    let text = bench.plain();
    let has = |name: &str| text.lines().any(|line| line.trim_start().starts_with(name));
    assert!(has("host"), "{text}");
    assert!(!has("cost") && !has("load"), "{text}");
}

#[test]
fn before_the_first_second_there_is_nothing_to_show() {
    let mut bench = Bench::new(80, 24);
    bench.keys("t");
    assert!(
        bench
            .plain()
            .contains("figures appear after the first second")
    );
}

#[test]
fn missing_seconds_are_read_from_the_session() {
    let mut bench = bench(80, 24);
    assert_eq!(bench.console.model().figures.len(), 600 + 30);
    // Seconds passed unseen, and the session has them.
    let all = FigureHistory::from_records((0..SECONDS + 50).map(second));
    *bench.desk.history.lock().expect("lock") = all.clone();
    bench.show(|shown| {
        shown.now = Duration::from_secs(SECONDS + 50);
        shown.second = Some(second(SECONDS + 49));
    });
    assert_eq!(bench.console.model().figures, all);
}

#[test]
fn the_last_second_alone_draws_nothing_while_the_panel_is_hidden() {
    let mut bench = bench(80, 24);
    let next = |shown: &mut Snapshot| {
        shown.now += Duration::from_secs(1);
        shown.second = Some(second(SECONDS));
    };
    assert!(!bench.show(next));
    assert_eq!(
        bench.console.model().figures.until(),
        Duration::from_secs(SECONDS + 1)
    );
}

#[test]
fn the_log_has_times_of_day_next_to_times_since_the_start() {
    let mut bench = bench(120, 40);
    bench.keys("6z");
    let text = bench.plain();
    assert!(text.contains("14:00:"), "{text}");
}
