//! Figures on the screen: what they are of, over which time, and how sure they are.

use std::time::Duration;

use divisi_console::console::{Colours, TerminalLook, lint_texts};
use divisi_model::ensemble::PolicyKind;
use divisi_model::metrics::{Bucket, LatencySummary};
use divisi_runtime::device::DeviceIndex;
use divisi_session::*;

use crate::fake::{Bench, device, snapshot};
use crate::rich::bench;

const COLOURED: TerminalLook = TerminalLook {
    colours: Colours::True,
    ascii: false,
};

/// The lines of the screen as signs.
fn lines(bench: &Bench) -> Vec<Vec<char>> {
    bench.plain().lines().map(|l| l.chars().collect()).collect()
}

fn line_with<'a>(screen: &'a str, text: &str) -> &'a str {
    let line = screen.lines().find(|l| l.contains(text));
    line.unwrap_or_else(|| panic!("`{text}` in\n{screen}"))
}

/// The style of the first cell of `text`.
fn role_of(bench: &Bench, text: &str) -> ratatui::style::Style {
    let screen = bench.plain();
    let (y, line) = screen
        .lines()
        .enumerate()
        .find(|(_, l)| l.contains(text))
        .unwrap_or_else(|| panic!("`{text}` in\n{screen}"));
    let x = line[..line.find(text).unwrap()].chars().count();
    bench.buffer()[(x as u16, y as u16)].style()
}

fn answered(count: u64) -> LatencySummary {
    LatencySummary {
        count,
        p50: 1_780,
        p90: 2_500,
        p99: 6_800,
        p999: 12_100,
        max: 20_400,
    }
}

/// A burst a minute ago, one millisecond since.
fn after_a_burst(shown: &mut Snapshot) {
    shown.latency.since.summary.p99 = 14_598_000;
    shown.latency.now.summary = LatencySummary {
        p50: 900,
        p99: 1_000,
        ..answered(4_000)
    };
}

#[test]
fn the_header_is_of_the_last_seconds_and_says_so() {
    for (width, height) in [(80, 24), (160, 50)] {
        let mut bench = Bench::new(width, height);
        bench.show(after_a_burst);
        let screen = bench.plain();
        let head = screen.lines().next().expect("a header");
        assert!(head.contains("10 s  p50 0.90  p99 1.00 ms"), "{head}");
        assert!(!head.contains("14598"), "{head}");
    }
    let mut bench = bench(160, 50);
    bench.show(after_a_burst);
    bench.keys("4z");
    let screen = bench.plain();
    assert!(line_with(&screen, "since ").contains("14.6 s"), "{screen}");
    assert!(line_with(&screen, " 10 s   ").contains("1.00"), "{screen}");
}

#[test]
fn percentiles_of_too_few_requests_are_dim_and_marked() {
    for (count, p99, p999) in [
        (50, "~6.80", "~12.1"),
        (200, "6.80", "~12.1"),
        (2000, "6.80", "12.1"),
    ] {
        let mut bench = Bench::with(160, 50, false, COLOURED);
        bench.show(|s| s.latency.now.summary = answered(count));
        let head = bench.plain().lines().next().expect("a header").to_owned();
        assert!(head.contains(&format!("p99 {p99} ms")), "{count}: {head}");
        let sure = role_of(&bench, "p50 1.78");
        assert_eq!(role_of(&bench, &format!("p99 {p99}")) == sure, count >= 100);
        bench.keys("4z");
        let screen = bench.plain();
        let row = line_with(&screen, " 10 s   ");
        let told = |value: &str| row.split_whitespace().any(|word| word == value);
        assert!(told("1.78") && told(p99) && told(p999), "{count}: {row}");
    }
}

#[test]
fn what_waits_longer_than_any_answer_took_is_said() {
    let mut bench = Bench::new(120, 40);
    bench.show(|s| {
        s.latency.now.summary = answered(40);
        s.oldest_waiting = Some(Duration::from_millis(5_200));
    });
    let head = bench.plain().lines().next().expect("a header").to_owned();
    assert!(head.contains("oldest waiting 5.2 s"), "{head}");
    // As long as others take: nothing new.
    bench.show(|s| s.oldest_waiting = Some(Duration::from_millis(15)));
    assert!(!bench.plain().contains("oldest waiting"));
}

#[test]
fn the_histogram_is_empty_where_no_request_was() {
    let bar = |from: u64, count| Bucket {
        from,
        micros: from * 6 / 5,
        count,
    };
    let mut bench = bench(80, 24);
    bench.show(|s| {
        s.target = None;
        s.latency_before = None;
        s.latency.now.buckets = vec![bar(1_000, 900), bar(100_000, 300)];
    });
    bench.keys("4z");
    let rows = lines(&bench);
    let is_bar = |c: &char| ('▁'..='█').contains(c);
    // The row above the marks is where every bar begins.
    let marks = rows.iter().position(|r| r.contains(&'▴')).expect("marks");
    let foot = &rows[marks - 1];
    let bars: Vec<usize> = (0..foot.len()).filter(|&x| is_bar(&foot[x])).collect();
    let gaps: Vec<usize> = bars
        .windows(2)
        .map(|w| w[1] - w[0])
        .filter(|g| *g > 1)
        .collect();
    assert_eq!(
        gaps.len(),
        1,
        "two bars and a gap: {bars:?}\n{}",
        bench.plain()
    );
    assert!(
        gaps[0] > 30,
        "a hundred times as long is far away: {gaps:?}"
    );
    assert!(
        bars.len() <= 8 && bars[0] > 1,
        "{bars:?}\n{}",
        bench.plain()
    );
}

#[test]
fn members_have_the_time_axis_of_the_chart_above_them() {
    for (width, length) in [(160, 480), (120, 480), (160, 60)] {
        let mut bench = bench(width, 50);
        // All stood still until a third of the time ago.
        bench.show(|s| {
            let step = |i: usize| if i * 3 < length * 2 { 0.0 } else { 4_000.0 };
            s.marks.clear();
            s.throughput.series = (0..length).map(step).collect();
            for member in &mut s.members {
                // It began to be counted later.
                member.series = (length / 4..length).map(|i| step(i) as f32).collect();
            }
        });
        bench.keys("5z");
        let rows = lines(&bench);
        let with = |text: &str| {
            let line = |r: &Vec<char>| r.iter().collect::<String>().contains(text);
            rows.iter().position(line).expect("a row")
        };
        // Where the curve leaves the ground: the last dots at the foot of a row.
        let low = |c: &char| matches!(*c as u32, 0x2840..=0x28ff);
        let left = |row: usize| rows[row].iter().rposition(low).expect("dots");
        let (chart, member) = (left(with("−") - 1), left(with("res-m ")));
        assert!(
            member.abs_diff(chart) <= 1,
            "{member} and {chart} at {width}\n{}",
            bench.plain()
        );
    }
}

/// So many devices that compute so much.
fn devices(busy: &[f64]) -> Snapshot {
    let mut shown = snapshot();
    shown.devices = busy.iter().map(|b| device("gpu", *b, 100)).collect();
    shown.members.iter_mut().for_each(|m| m.queued = 0);
    shown
}

#[test]
fn idle_devices_are_counted_as_they_are() {
    let mut busy = vec![0.3; 17];
    busy[..5].fill(0.0);
    let shown = devices(&busy);
    let texts = |shown: &Snapshot| -> Vec<String> {
        lint_texts(shown).into_iter().map(|lint| lint.1).collect()
    };
    let said = texts(&shown);
    assert!(
        said.iter().any(|l| l == "5 of 17 devices compute nothing"),
        "{said:?}"
    );
    assert!(
        said.iter()
            .any(|l| l.contains("all devices idle at least 70 %")),
        "{said:?}"
    );
    assert!(
        !said.iter().any(|l| l.contains("5 of 17 devices idle")),
        "{said:?}"
    );
    // Where somebody is pressed, every idle one counts.
    let mut pressed = shown;
    pressed.members[4].queued = 4210;
    pressed.members[4].growth = 912.0;
    let said = texts(&pressed);
    let all = "17 of 17 devices idle more than half the time";
    assert!(said.iter().any(|l| l == all), "{said:?}");
}

#[test]
fn memory_that_partitions_share_is_shown_once() {
    for (width, height) in [(80, 24), (160, 50)] {
        let mut bench = Bench::new(width, height);
        bench.show(|s| {
            for device in &mut s.devices {
                device.memory_booked = 812 << 20;
            }
            s.devices[1].shares_memory_of = Some(DeviceIndex::new(0));
        });
        bench.keys("1z");
        let screen = bench.plain();
        let row = |name: &str| line_with(&screen, name).to_owned();
        let told = |row: &str| row.contains(" 20%") || row.contains("812 MiB");
        assert!(told(&row("cpu:0 ")), "{screen}");
        assert!(
            !told(&row("cpu:1 ")) && row("cpu:1 ").contains('″'),
            "{screen}"
        );
    }
}

#[test]
fn a_load_that_cannot_send_as_fast_as_it_should_says_how_far_it_is_behind() {
    let mut bench = Bench::new(160, 50);
    bench.show(|s| s.load.behind = Duration::from_millis(2_300));
    let screen = bench.plain();
    assert!(screen.contains("poisson:800, 2.3 s behind"), "{screen}");
}

#[test]
fn admission_has_a_name_of_its_own() {
    let mut bench = bench(160, 50);
    bench.show(|s| {
        s.latency.now.split.admission = 50_000.0;
        s.latency.now.split.copying = 800.0;
    });
    bench.keys("4z");
    let screen = bench.plain();
    for part in ["admission 50.0", "copying 0.80"] {
        assert!(screen.contains(part), "{part} in\n{screen}");
    }
}

#[test]
fn a_window_without_answers_shows_what_was_since() {
    let mut bench = bench(80, 24);
    bench.show(|s| s.latency.now = Distribution::default());
    bench.keys("4z");
    let screen = bench.plain();
    assert!(line_with(&screen, " 10 s   ").contains('–'), "{screen}");
    assert!(line_with(&screen, "since ").contains("6.80"), "{screen}");
}

#[test]
fn latencies_in_the_header_stand_whole_or_not_at_all() {
    let mut cut = 0;
    for width in 60..130 {
        let mut bench = Bench::new(width, 24);
        bench.show(|s| s.health = Health::Degraded("sim:v100:0 gone".into()));
        let head = bench.plain().lines().next().expect("a header").to_owned();
        let whole = head.contains("10 s  p50 2.10  p99 6.80 ms");
        let some = ["p50", "p99", "10 s"]
            .iter()
            .any(|part| head.contains(part));
        assert_eq!(some, whole, "{width}: {head}");
        assert!(whole || width < 80, "{width}: {head}");
        cut += usize::from(!whole);
    }
    assert!(cut > 0);
}

#[test]
fn the_window_is_as_long_as_it_was_measured() {
    let head = |bench: &Bench| bench.plain().lines().next().expect("a header").to_owned();
    let mut bench = bench(160, 50);
    assert!(head(&bench).contains("10 s  p50"));
    bench.keys("c");
    bench.show(|s| s.now += Duration::from_millis(2_400));
    assert!(head(&bench).contains("  3 s  p50"), "{}", head(&bench));
    bench.keys("4z");
    let screen = bench.plain();
    assert!(screen.contains(" 3 s mean "), "{screen}");
    bench.show(|s| s.now += Duration::from_secs(60));
    assert!(head(&bench).contains("10 s  p50"));
    // What runs has run for four seconds; the votes before are no other matrix.
    bench.show(|s| {
        let ran = |from, policy| HistoryEntry {
            number: 1,
            setup: Setup {
                policy,
                ..s.setup()
            },
            from: s.now - Duration::from_secs(from),
            until: None,
            why: "applied".into(),
            did: Measured::default(),
        };
        let waits = PolicyKind::Elastic { max_inf: None };
        s.history = vec![ran(30, waits), ran(4, s.policy), ran(1, s.policy)];
    });
    assert!(head(&bench).contains("  4 s  p50"), "{}", head(&bench));
}

#[test]
fn only_what_computed_has_a_bar_and_only_batches_a_fill() {
    let mut bench = Bench::new(120, 40);
    bench.show(|s| {
        s.entries[0].load = 0.0;
        s.entries[0].fill = 0.0;
        s.entries[2].load = 0.061;
    });
    let screen = bench.plain();
    let row = line_with(&screen, "cpu:0 ");
    assert!(row.contains("16 ") && !row.contains("16▁"), "{row}");
    assert!(row.contains("8▁"), "{row}");
    assert!(screen.contains("filled –"), "{screen}");
    bench.keys("1z");
    let screen = bench.plain();
    assert!(line_with(&screen, " fill").contains("– "), "{screen}");
}

#[test]
fn the_limits_of_a_probation_fit_on_a_small_screen() {
    let mut bench = Bench::new(80, 24);
    bench.show(crate::rich::on_probation);
    let screen = bench.plain();
    let head = screen.lines().nth(1).expect("a header");
    for part in ["probation 12 s", "p99 8.1 ≤ 12.0 ms", "failed 0.0 ≤ 1.0 %"] {
        assert!(head.contains(part), "{part}: {head}");
    }
    assert!(
        screen.contains("› 318 missing · p99 8.1 ms, limit 12.0 ms"),
        "{screen}"
    );
}

#[test]
fn an_objective_is_in_the_header_and_missing_it_is_a_warning() {
    let mut bench = Bench::new(160, 50);
    let target = Target {
        latency: Duration::from_millis(5),
        share: 0.99,
    };
    bench.show(|s| {
        s.target = Some(target);
        s.latency.now.missed = Some(0.002);
    });
    let first = bench.plain().lines().next().unwrap_or_default().to_owned();
    assert!(
        first.contains("● serving") && first.contains("99% ≤ 5.00 ms: 99.8% met"),
        "{first}"
    );
    bench.show(|s| s.latency.now.missed = Some(0.07));
    let first = bench.plain().lines().next().unwrap_or_default().to_owned();
    assert!(first.contains("! 7% miss 5.00 ms"), "{first}");
}
