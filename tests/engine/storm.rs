//! Random events over random setups in virtual time, as `cargo bench --bench storm` lets
//! them happen a million times.

#[path = "../../benches/storm/deeds.rs"]
mod deeds;
#[path = "../../benches/storm/hours.rs"]
mod hours;
#[path = "../../benches/storm/ledger.rs"]
mod ledger;
#[path = "../../benches/storm/setup.rs"]
mod setup;
#[path = "../../benches/storm/world.rs"]
mod world;

use ledger::Figures;
use world::World;

#[test]
fn whatever_happens_every_request_is_answered_exactly_once() {
    let mut all = Figures::default();
    for seed in 0..400 {
        let figures = World::new(seed).run(500);
        assert!(figures.are_right(), "seed {seed}: {figures:#?}");
        all.add(&figures);
    }
    // The storm would show nothing without these.
    for (what, times) in [
        ("answers", all.answered),
        ("failures", all.failed),
        ("panics", all.panics),
        ("losses", all.losses),
        ("drains", all.drains),
        ("cancels", all.cancels),
        ("withdrawals", all.withdrawn),
    ] {
        assert!(times > 50, "{times} {what}: {all:#?}");
    }
}

#[test]
fn a_minute_of_serving_under_faults_answers_every_request_in_virtual_time() {
    for seed in 0..4 {
        let (report, samples, faults) = hours::serve(seed, 0.02, 3.0);
        let over = report.samples as u64 + report.failed + report.refused;
        assert_eq!(over, samples as u64, "seed {seed}: {faults} faults");
        assert!(
            report.failed > 0 && faults > 5,
            "seed {seed}: {faults} faults"
        );
    }
}
