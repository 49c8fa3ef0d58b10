//! Incidents: the screen names the problem, its cause and the key that helps.

use std::time::Duration;

use divisi_console::console::{Colours, Effect, Role, TerminalLook};
use divisi_engine::deployment::CatalogueChange;
use divisi_model::codes::Code;
use divisi_model::metrics::{CoreLoad, HostLoad};
use divisi_session::{
    ErrorCount, ErrorKey, ErrorKind, ErrorOutcome, ErrorSubject, HostView, Lost, LostRequests,
    ModelChangeState, ModelChangeView, Refusal, RequestError, Snapshot, Target,
};

use crate::fake::Bench;
use crate::simulated::{bench, interfered, lost};

const SECOND: Duration = Duration::from_secs(1);

/// Shows the same state for some seconds.
fn lasts(bench: &mut Bench, seconds: u32) {
    for _ in 0..seconds {
        bench.show(|s| s.now += SECOND);
    }
}

/// A screen without a missed objective.
fn calm() -> Bench {
    let mut bench = bench(120, 40);
    bench.show(|shown| shown.latency.now.missed = None);
    bench
}

/// Shows a change for long enough to be an incident.
fn incident(change: impl FnOnce(&mut Snapshot)) -> Bench {
    let mut bench = calm();
    bench.show(change);
    lasts(&mut bench, 3);
    bench
}

#[track_caller]
fn has(bench: &Bench, texts: &[&str]) {
    let text = bench.text();
    for expected in texts {
        assert!(text.contains(expected), "{expected} in\n{text}");
    }
}

fn notified(bench: &mut Bench) -> Vec<String> {
    let effects = bench.console.take_effects().into_iter();
    let texts = effects.filter_map(|effect| match effect {
        Effect::Notify(text) => Some(text),
        _ => None,
    });
    texts.collect()
}

fn refusing(shown: &mut Snapshot) {
    shown.members[1].queued = 1900;
    shown.members[1].growth = 40.0;
    shown.lately = LostRequests {
        over: Duration::from_secs(5),
        refused: Lost {
            requests: 1060,
            why: Some("the pool is full".into()),
        },
        failed: Lost::default(),
    };
}

#[test]
fn a_calm_screen_has_no_incident() {
    let mut bench = calm();
    lasts(&mut bench, 3);
    assert!(!bench.text().contains("─ ! incident"));
    assert!(notified(&mut bench).is_empty());
}

#[test]
fn a_lost_device_can_be_brought_back_or_replaced() {
    let bench = incident(lost);
    has(
        &bench,
        &["sim:v100:0 is lost", "R bring it back", "s search"],
    );
}

#[test]
fn a_slow_device_names_the_move_that_relieves_it() {
    let bench = incident(interfered);
    let helps = [
        "sim:v100:3 is ×2.5 slower",
        "M move resnet152 to sim:v100:1",
        "S end",
    ];
    has(&bench, &helps);
    screen!("incident_120x40", bench);
}

#[test]
fn a_full_pool_names_the_longest_queue_and_its_device() {
    let bench = incident(refusing);
    let helps = [
        "requests refused: the pool is full",
        "resnet101 has 1 900 samples queued",
        "s search",
    ];
    has(&bench, &helps);
}

#[test]
fn invalid_requests_lead_to_the_clients() {
    let key = ErrorKey {
        subject: ErrorSubject::Request,
        outcome: ErrorOutcome::Refused,
        reason: ErrorKind::BadInput,
    };
    let bench = incident(|shown| {
        shown.errors.counts = vec![ErrorCount {
            key,
            total: 31,
            series: vec![31],
        }];
        shown.errors.last = vec![RequestError {
            at_ms: 0,
            sender: "10.0.0.7".into(),
            model: None,
            key,
            message: "expected 64 values, found 60".into(),
        }];
    });
    has(
        &bench,
        &["31 invalid requests", "10.0.0.7", "found 60", "0 who sends"],
    );
}

#[test]
fn a_busy_host_names_the_programs_and_a_way_out() {
    let core = CoreLoad {
        core: 1,
        own: 0.2,
        others: 0.63,
        steal: 0.0,
    };
    let bench = incident(|shown| {
        shown.host = Some(HostView {
            load: HostLoad {
                window: Duration::from_secs(10),
                cores: vec![core],
                wait: None,
                throttled: None,
            },
            disturbed_since: Some(SECOND),
        });
    });
    has(
        &bench,
        &["the host is busy", "63 % of cpu:1", "e move members"],
    );
}

#[test]
fn a_model_that_does_not_fit_leads_to_the_models() {
    let bench = incident(|shown| {
        let why = Refusal::new(Code::DoesNotFit, "2 GiB more are needed on cpu:0");
        shown.model_change = Some(ModelChangeView {
            number: 7,
            change: CatalogueChange::Load("imn4".into()),
            state: ModelChangeState::Refused(why),
        });
    });
    has(
        &bench,
        &[
            "memory is short",
            "9 unload another model",
            "e smaller batches",
        ],
    );
}

#[test]
fn a_missed_objective_names_its_burn_rate() {
    let bench = incident(|shown| {
        shown.target = Some(Target {
            latency: Duration::from_millis(5),
            share: 0.99,
        });
        shown.latency.now.missed = Some(0.38);
    });
    has(
        &bench,
        &["38% of requests exceed 5", "burn rate 38", "s search"],
    );
}

#[test]
fn a_short_warning_is_no_incident() {
    let mut bench = calm();
    bench.show(interfered);
    lasts(&mut bench, 1);
    assert!(!bench.text().contains("─ ! incident"));
    lasts(&mut bench, 1);
    assert!(bench.text().contains("─ ! incident"));
}

#[test]
fn an_incident_stays_for_seconds_after_its_problem_so_that_it_does_not_flap() {
    let mut bench = incident(interfered);
    bench.show(|s| s.entries[15].interfered = None);
    lasts(&mut bench, 4);
    assert!(bench.text().contains("─ ! incident"));
    lasts(&mut bench, 1);
    assert!(!bench.text().contains("─ ! incident"));
}

#[test]
fn the_operator_is_notified_once() {
    let mut bench = incident(lost);
    assert_eq!(notified(&mut bench).len(), 1);
    lasts(&mut bench, 20);
    assert!(notified(&mut bench).is_empty());
}

#[test]
fn an_acknowledged_incident_stays_and_says_so() {
    let mut bench = incident(lost);
    bench.keys("A");
    has(&bench, &["acknowledged", "is lost"]);
}

#[test]
fn a_dismissed_incident_is_hidden_until_it_begins_again() {
    let mut bench = incident(lost);
    bench.keys("X");
    lasts(&mut bench, 20);
    assert!(!bench.text().contains("is lost; other"));
    bench.show(|s| s.devices[0].lost = false);
    lasts(&mut bench, 6);
    bench.show(|s| s.devices[0].lost = true);
    assert!(bench.text().contains("is lost; other"));
}

#[test]
fn the_culprit_is_lit_and_the_rest_is_dim() {
    const FULL: TerminalLook = TerminalLook {
        colours: Colours::True,
        ascii: false,
    };
    let mut bench = Bench::with(120, 40, false, FULL);
    bench.show(crate::simulated::v100s);
    bench.show(interfered);
    lasts(&mut bench, 3);
    let colour = |role| bench.console.model().settings.styles.role_style(role).fg;
    let found = |device: &str| {
        let text = bench.text();
        let line = text.lines().position(|line| line.contains(device));
        let y = line.expect("a row of the device") as u16;
        bench.buffer()[(1, y)].style().fg
    };
    assert_eq!(found("│v100:3"), colour(Role::Bad));
    assert_eq!(found("│v100:2"), colour(Role::Dim));
}

#[test]
fn keys_for_incidents_do_nothing_without_one() {
    let mut bench = bench(120, 40);
    bench.keys("A");
    has(&bench, &["there is no incident"]);
}

#[test]
fn a_read_only_console_offers_no_change() {
    let mut bench = Bench::with(120, 40, true, crate::fake::PLAIN);
    bench.show(crate::simulated::v100s);
    bench.show(lost);
    has(&bench, &["is lost; other devices"]);
    assert!(!bench.text().contains("bring it back"));
}
