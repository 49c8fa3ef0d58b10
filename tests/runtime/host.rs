//! The load of the host from the system's counters, and the partitions that suit it. No test needs
//! `/proc`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use divisi_runtime::device::host::{
    CoreLoad, CoreTicks, Disturbance, HostCounters, HostLoad, HostMonitor, Periods, ThreadTime,
    group_folders, parse_cores, parse_process, parse_quota, quota_of,
};
use divisi_runtime::device::{Host, Partitioning, SharedReason};
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);

/// A text of `/proc/stat` with two cores.
const STAT: &str = "cpu  43484 0 6334 19104 269 0 68 755 0 0
cpu0 21700 5 2981 9874 76 1 5 357 100 0
cpu1 21784 0 3352 9229 192 0 63 397 0 0
intr 1 2 3
ctxt 5
";

/// A text of `/proc/self/task/*/stat` of a thread with spaces and brackets in its name.
fn stat(id: u64, core: usize, policy: u8, nice: i8) -> String {
    format!(
        "{id} (a) (b c) S 1 1 1 0 -1 64 0 0 0 0 120 30 0 0 20 {nice} 9 0 4000 1 1 1 1 1 1 1 1 0 0 \
         0 0 1 0 0 17 {core} 0 {policy} 0 0 0"
    )
}

fn ticks(core: usize, busy: u64, rest: u64, steal: u64) -> CoreTicks {
    CoreTicks {
        core,
        busy,
        rest,
        steal,
    }
}

fn thread(id: u64, core: usize, ran_ms: u64, waited_ms: u64) -> ThreadTime {
    ThreadTime {
        id,
        started: 7,
        core,
        ran: Duration::from_millis(ran_ms),
        waited: Some(Duration::from_millis(waited_ms)),
    }
}

fn counters(at: Instant, cores: &[CoreTicks], process_ms: u64) -> HostCounters {
    let process = Duration::from_millis(process_ms);
    HostCounters::new(at, cores.to_vec(), process).expect("cores")
}

/// Returns the load of a second after counters of zero.
fn load(cores: &[CoreTicks], process_ms: u64, threads: Vec<ThreadTime>) -> HostLoad {
    let start = Instant::now();
    let zero: Vec<CoreTicks> = cores.iter().map(|c| ticks(c.core, 0, 0, 0)).collect();
    let before = counters(start, &zero, 0);
    let after = counters(start + SECOND, cores, process_ms).with_threads(threads);
    after.load_since(&before)
}

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-9
}

#[test]
fn cores_are_read_with_busy_idle_and_stolen_time() {
    let cores = parse_cores(STAT);
    let first = ticks(0, 21700 + 5 + 2981, 9874 + 76 + 1 + 5, 357);
    assert_eq!(cores[0], first, "guests' time is part of the user time");
    assert_eq!(cores.len(), 2, "the line of all cores is no core");
}

#[test]
fn old_systems_have_no_stolen_time() {
    assert_eq!(parse_cores("cpu0 1 2 3 4\n"), [ticks(0, 6, 4, 0)]);
}

#[test]
fn lines_that_are_no_cores_are_left_out() {
    for text in [
        "",
        "cpu 1 2 3 4",
        "cpux 1 2 3 4",
        "cpu0 1 2 3",
        "cpu0 1 2 x 4",
        "cpu-1 1 2 3 4",
    ] {
        assert_eq!(parse_cores(text), [], "{text}");
    }
}

#[test]
fn a_thread_has_its_time_and_the_core_of_its_last_turn() {
    let thread = ThreadTime::parse(&stat(12, 1, 0, 0), Some("2500000 1500000 7\n"));
    let expected = ThreadTime {
        id: 12,
        started: 4000,
        core: 1,
        ran: Duration::from_micros(2500),
        waited: Some(Duration::from_micros(1500)),
    };
    assert_eq!(thread, Some(expected));
}

#[test]
fn without_precise_counters_a_thread_has_ticks_and_no_wait() {
    let thread = ThreadTime::parse(&stat(12, 1, 0, 0), None).expect("a thread");
    assert_eq!(thread.ran, Duration::from_millis(1500));
    assert_eq!(thread.waited, None);
}

#[test]
fn threads_of_low_priority_wait_on_purpose() {
    for (policy, nice) in [(5, 0), (0, 10)] {
        let thread = ThreadTime::parse(&stat(12, 1, policy, nice), Some("1 9 1"));
        assert_eq!(thread.expect("a thread").waited, None, "{policy} {nice}");
    }
}

#[test]
fn a_process_has_the_time_of_ended_threads_too() {
    let process = parse_process(&stat(1, 0, 0, 0));
    assert_eq!(process, Some(Duration::from_millis(1500)));
}

#[test]
fn the_limits_of_both_versions_of_control_groups_are_read() {
    let second = "usage_usec 9\nnr_periods 40\nnr_throttled 10\nthrottled_usec 5\n";
    let first = "nr_periods 40\nnr_throttled 10\nthrottled_time 5000\n";
    let expected = Periods {
        all: 40,
        throttled: 10,
    };
    assert_eq!(Periods::parse(second), Some(expected));
    assert_eq!(Periods::parse(first), Some(expected));
    assert_eq!(
        Periods::parse("usage_usec 9\n"),
        None,
        "no limit is possible"
    );
    assert_eq!(parse_quota("150000 100000\n"), Some(1.5));
    assert_eq!(parse_quota("max 100000\n"), None);
    assert_eq!(quota_of("50000\n", "100000\n"), Some(0.5));
    assert_eq!(quota_of("-1\n", "100000\n"), None);
    assert_eq!(quota_of("1", "0"), None);
}

#[test]
fn the_group_and_the_groups_above_it_are_looked_at() {
    let folders = group_folders("4:memory:/other\n2:cpu,cpuacct:/a/b\n0::/c\n");
    let expected = [
        "/sys/fs/cgroup/cpu/a/b",
        "/sys/fs/cgroup/cpu/a",
        "/sys/fs/cgroup/cpu",
        "/sys/fs/cgroup/c",
        "/sys/fs/cgroup",
    ];
    assert_eq!(folders, expected.map(PathBuf::from));
}

#[test]
fn a_group_outside_of_the_folder_of_groups_is_that_folder() {
    for path in ["/../../etc", "etc", "/a/../../.."] {
        let folders = group_folders(&format!("0::{path}\n"));
        assert_eq!(folders, [PathBuf::from("/sys/fs/cgroup")], "{path}");
    }
}

#[test]
fn other_programs_take_the_busy_time_that_is_not_ours() {
    let load = load(
        &[ticks(0, 90, 10, 0), ticks(1, 63, 32, 5)],
        900,
        vec![thread(1, 0, 900, 100)],
    );
    assert_eq!(load.window, SECOND);
    assert!(near(load.cores[0].own, 0.9) && near(load.cores[0].others, 0.0));
    assert!(near(load.cores[1].others, 0.63) && near(load.cores[1].steal, 0.05));
    assert!(near(load.wait.expect("a wait"), 0.1));
}

#[test]
fn time_of_a_thread_that_moved_is_taken_from_the_core_it_came_from() {
    let load = load(
        &[ticks(0, 50, 50, 0), ticks(1, 50, 50, 0)],
        1000,
        vec![thread(1, 1, 1000, 0)],
    );
    assert!(
        load.cores
            .iter()
            .all(|c| near(c.own, 0.5) && near(c.others, 0.0))
    );
}

#[test]
fn time_of_ended_threads_is_not_other_programs() {
    let load = load(&[ticks(0, 80, 20, 0)], 800, Vec::new());
    assert!(near(load.cores[0].own, 0.8) && near(load.cores[0].others, 0.0));
}

#[test]
fn an_idle_process_has_no_wait() {
    let load = load(&[ticks(0, 0, 100, 0)], 1, vec![thread(1, 0, 1, 1)]);
    assert_eq!(load.wait, None, "a few milliseconds say nothing");
}

#[test]
fn the_most_throttled_group_counts() {
    let start = Instant::now();
    let groups = |all, throttled| {
        let periods = Periods { all, throttled };
        vec![
            (PathBuf::from("/a"), periods),
            (PathBuf::from("/"), Periods::default()),
        ]
    };
    let before = counters(start, &[ticks(0, 0, 0, 0)], 0).with_groups(groups(10, 1));
    let after = counters(start + SECOND, &[ticks(0, 0, 100, 0)], 0).with_groups(groups(20, 5));
    let load = after.load_since(&before);
    assert!(near(load.throttled.expect("counted"), 0.4));
    assert_eq!(load.disturbances(None), [Disturbance::Throttled(0.4)]);
}

/// A load with other programs' share of each core.
fn taken(others: &[f64]) -> HostLoad {
    let cores = others.iter().enumerate();
    HostLoad {
        window: 10 * SECOND,
        cores: cores
            .map(|(core, &others)| CoreLoad {
                core,
                others,
                ..CoreLoad::default()
            })
            .collect(),
        ..HostLoad::default()
    }
}

#[test]
fn a_disturbance_names_its_cores() {
    let words = |load: HostLoad| {
        let all = load.disturbances(None);
        all.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        words(taken(&[0.03, 0.63])),
        ["other programs take 63 % of cpu:1"]
    );
    assert_eq!(
        words(taken(&[0.5, 0.7, 0.0, 0.6])),
        ["other programs take 60 % of cpu:0-1, cpu:3"]
    );
    assert!(words(taken(&[0.03, 0.05])).is_empty());
}

#[test]
fn only_the_cores_of_interest_count() {
    let load = taken(&[0.0, 0.8]);
    assert!(!load.is_disturbed(Some(&[0])));
    assert!(load.is_disturbed(Some(&[1])) && load.is_disturbed(None));
    assert!(near(load.others_on(None), 0.4));
    assert!(near(load.others_on(Some(&[7])), 0.0));
}

#[test]
fn a_monitor_measures_over_the_last_ten_seconds() {
    let start = Instant::now();
    let mut monitor = HostMonitor::new();
    assert!(monitor.is_due(start));
    for second in 0..30 {
        // Other programs are busy until second 15.
        let busy = 100 * second.min(15);
        let rest = 100 * second - busy;
        let at = start + Duration::from_secs(second);
        monitor.note(counters(at, &[ticks(0, busy, rest, 0)], 0));
        assert!(!monitor.is_due(at) && monitor.is_due(at + SECOND));
        let load = monitor.load().cloned();
        match second {
            0 => assert_eq!(load, None, "one reading is no measurement"),
            4 => assert_eq!(load.expect("a load").window, 4 * SECOND),
            20 => assert!(near(load.expect("a load").others_on(None), 0.5)),
            25.. => assert!(near(load.expect("a load").others_on(None), 0.0)),
            _ => {}
        }
    }
    assert_eq!(monitor.load().expect("a load").window, 10 * SECOND);
}

fn host(cores: usize) -> Host {
    Host {
        cores: (0..cores).collect(),
        memory_bytes: 1 << 30,
    }
}

#[test]
fn a_quiet_host_has_a_partition_for_each_core() {
    for load in [None, Some(taken(&[0.02, 0.04]))] {
        let chosen = Partitioning::choose(2, load.as_ref(), Some(2.0));
        assert_eq!(chosen, Partitioning::PerCore);
    }
}

#[test]
fn a_disturbed_host_has_one_partition_of_all_cores() {
    let chosen = Partitioning::choose(2, Some(&taken(&[0.02, 0.63])), None);
    assert_eq!(
        chosen.to_string(),
        "partitions of several cores, because other programs take 63 % of cpu:1"
    );
}

#[test]
fn one_busy_core_of_many_does_not_change_the_partitions() {
    let mut others = [0.0; 16];
    others[3] = 0.9;
    let chosen = Partitioning::choose(16, Some(&taken(&others)), None);
    assert_eq!(chosen, Partitioning::PerCore);
}

#[test]
fn a_limit_below_the_cores_needs_partitions_of_several_cores() {
    let chosen = Partitioning::choose(4, None, Some(1.5));
    assert_eq!(chosen, Partitioning::Shared(SharedReason::Quota(1.5)));
    assert_eq!(
        chosen.to_string(),
        "partitions of several cores, because the control group allows the time of only 1.5 cores"
    );
}

#[test]
fn one_core_leaves_no_choice() {
    let chosen = Partitioning::choose(1, Some(&taken(&[0.9])), Some(0.5));
    assert_eq!(chosen, Partitioning::PerCore);
}

#[test]
fn single_cores_pairs_and_all_cores_are_compared() {
    let names = |cores| {
        let all = Partitioning::candidates(&host(cores)).into_iter();
        all.map(|names| names.join(",")).collect::<Vec<_>>()
    };
    assert_eq!(names(1), ["cpu:0"]);
    assert_eq!(names(2), ["cpu:0,cpu:1", "cpu:0-1"]);
    assert_eq!(
        names(4),
        ["cpu:0,cpu:1,cpu:2,cpu:3", "cpu:0-1,cpu:2-3", "cpu:0-3"]
    );
    assert!(
        names(256)
            .iter()
            .all(|names| names.split(',').count() <= 32)
    );
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic(text in "(?s).{0,400}", other in "[0-9 .:/a-z()\n-]{0,400}") {
        for text in [&text, &other] {
            let _ = (parse_cores(text), parse_process(text), parse_quota(text));
            let _ = (Periods::parse(text), ThreadTime::parse(text, Some(text)));
            let folders = group_folders(text);
            prop_assert!(folders.iter().all(|f| f.starts_with("/sys/fs/cgroup")));
        }
    }

    #[test]
    fn lines_with_any_numbers_make_cores(numbers in proptest::collection::vec(any::<u64>(), 4..11)) {
        let fields: Vec<String> = numbers.iter().map(u64::to_string).collect();
        let cores = parse_cores(&format!("cpu3 {}\n", fields.join(" ")));
        prop_assert_eq!(cores.len(), 1);
        prop_assert_eq!(cores[0].core, 3);
    }

    /// Counters may go back, and a core may disappear.
    #[test]
    fn shares_are_between_0_and_1_for_any_counters(
        before in proptest::collection::vec((0..4_usize, any::<u64>(), any::<u64>(), any::<u64>()), 1..4),
        after in proptest::collection::vec((0..4_usize, any::<u64>(), any::<u64>(), any::<u64>()), 1..4),
        threads in proptest::collection::vec((0..3_u64, 0..5_usize, any::<u64>(), any::<u64>()), 0..6),
        process in any::<u64>(),
        millis in 0..20_000_u64,
    ) {
        let cores = |all: Vec<(usize, u64, u64, u64)>| {
            let mut all: Vec<CoreTicks> =
                all.into_iter().map(|(c, b, r, s)| ticks(c, b, r, s)).collect();
            all.sort_by_key(|c| c.core);
            all.dedup_by_key(|c| c.core);
            all
        };
        let threads = threads.into_iter().map(|(id, core, ran, waited)| thread(id, core, ran, waited));
        let start = Instant::now();
        let before = counters(start, &cores(before), 0);
        let after = counters(start + Duration::from_millis(millis), &cores(after), process)
            .with_threads(threads.collect());
        let load = after.load_since(&before);
        let share = |s: f64| (0.0..=1.0 + 1e-9).contains(&s);
        for core in &load.cores {
            prop_assert!(share(core.own) && share(core.others) && share(core.steal), "{core:?}");
            prop_assert!(share(core.own + core.others + core.steal), "{core:?}");
        }
        prop_assert!(load.wait.is_none_or(share));
    }
}
