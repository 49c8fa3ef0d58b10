//! The ledger of predictions' errors: corrections, intervals and the file.

use std::fs;
use std::time::Duration;

use divisi_engine::search::{
    Cache, CapacityWatch, Occasion, PastError, PredictedFigure, PredictionBasis, PredictionBook,
    PredictionLedger, Question,
};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const QUIET: Question = Question {
    subject: 1,
    setup: None,
    basis: PredictionBasis::Profiles,
    disturbed: false,
    figure: PredictedFigure::Throughput,
};

fn of_setup(setup: u64) -> Question {
    Question {
        setup: Some(setup),
        ..QUIET
    }
}

/// A measurement of setup number `at`, an hour after the one before, at `ratio` of its prediction.
fn error(at: u64, ratio: f64) -> PastError {
    PastError {
        at: 3600 * at,
        question: of_setup(at),
        predicted: 1000.0,
        measured: 1000.0 * ratio,
        runs: 1,
    }
}

fn ledger(ratios: impl IntoIterator<Item = f64>) -> PredictionLedger {
    let errors = (0..).zip(ratios);
    PredictionLedger::from_errors(errors.map(|(at, ratio)| error(at, ratio)))
}

fn near(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-9
}

#[test]
fn without_errors_the_interval_is_the_assumed_one_of_the_basis() {
    for basis in [
        PredictionBasis::Seen,
        PredictionBasis::Profiles,
        PredictionBasis::Laws,
    ] {
        let said = PredictionLedger::default().correction(&Question { basis, ..QUIET });
        assert_eq!(
            (said.factor, said.spread, said.errors),
            (1.0, basis.prior(), 0)
        );
        let predicted = said.apply(900.0);
        assert!(near(predicted.low, 900.0 / basis.prior()), "{predicted:?}");
        assert!(near(predicted.high, 900.0 * basis.prior()));
        assert!(predicted.grounds().contains("assumed range"));
    }
}

#[test]
fn errors_under_another_load_do_not_count_as_the_grounds_of_an_interval() {
    let quiet = ledger([0.5; 20]);
    let busy = Question {
        disturbed: true,
        ..QUIET
    };
    let said = quiet.correction(&busy);
    assert!(near(said.spread, 2.0), "{said:?}");
    let grounds = said.apply(900.0).grounds();
    assert!(grounds.contains("assumed range"), "{grounds}");
}

#[test]
fn a_constant_error_corrects_the_next_prediction_and_narrows_its_interval() {
    let few = ledger([0.5; 3]).correction(&QUIET);
    assert!(near(few.factor, 0.5), "{few:?}");
    assert!(near(few.spread, 2.0), "too few for an interval: {few:?}");
    let enough = ledger([0.5; 10]).correction(&QUIET);
    assert!(
        near(enough.factor, 0.5) && enough.spread < 1.02,
        "{enough:?}"
    );
    assert_eq!(enough.errors, PredictionLedger::ENOUGH);
    let words = enough.apply(100.0).grounds();
    assert_eq!(words, "profiles; range of 9 in 10 by 9 past errors");
}

#[test]
fn one_wild_error_does_not_move_the_correction() {
    let ratios = [1.0, 1.02, 0.98, 1.01, 20.0, 0.99, 1.0, 1.03, 0.97, 1.0];
    let said = ledger(ratios).correction(&QUIET);
    assert!((said.factor - 1.0).abs() < 0.05, "{said:?}");
}

/// Returns the share of errors that lay in the interval before them, and the last spread.
fn coverage(ratios: &[f64]) -> (f64, f64) {
    let mut covered = 0;
    let mut ledger = PredictionLedger::default();
    let (mut asked, mut spread) = (0, 0.0);
    for (at, ratio) in (0..).zip(ratios) {
        let said = ledger.correction(&of_setup(at));
        if said.errors >= PredictionLedger::ENOUGH {
            let predicted = said.apply(1000.0);
            let measured = 1000.0 * ratio;
            covered += usize::from((predicted.low..=predicted.high).contains(&measured));
            asked += 1;
        }
        spread = said.spread;
        ledger.record(error(at, *ratio));
    }
    (covered as f64 / f64::from(asked), spread)
}

#[test]
fn intervals_contain_nine_of_ten_measurements() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    // The sum of three uniform numbers is almost normal.
    let mut noise = || (0..3).map(|_| random.random_range(-0.1..0.1)).sum::<f64>();
    let steady: Vec<f64> = (0..240).map(|_| (0.3 + noise()).exp()).collect();
    let (share, spread) = coverage(&steady);
    assert!((0.85..=0.97).contains(&share), "{share}");
    assert!(spread < 1.3, "{spread}");
    // The machine's pace changes by a factor of 1.5 every 40 measurements.
    let pace = |at: usize| {
        if (at / 40).is_multiple_of(2) {
            1.0
        } else {
            1.5
        }
    };
    let changing: Vec<f64> = (0..240).map(|at| pace(at) * noise().exp()).collect();
    let (share, _) = coverage(&changing);
    assert!(share >= 0.85, "{share}");
}

#[test]
fn a_measured_setup_is_predicted_by_its_own_error() {
    let mut ledger = ledger([1.0; 12]);
    let odd = PastError {
        question: of_setup(99),
        ..error(20, 0.6)
    };
    ledger.record(odd.clone());
    let own = ledger.correction(&of_setup(99)).factor;
    let other = ledger.correction(&of_setup(5)).factor;
    assert!(own < 0.8 && (other - 1.0).abs() < 0.01, "{own} {other}");
    for hour in 21..25 {
        ledger.record(PastError {
            at: 3600 * hour,
            ..odd.clone()
        });
    }
    let own = ledger.correction(&of_setup(99)).factor;
    assert!((own - 0.6).abs() < 0.07, "{own}");
}

#[test]
fn errors_of_a_disturbed_host_leave_quiet_predictions_alone() {
    let mut ledger = ledger([1.0; 12]);
    let before = ledger.correction(&QUIET);
    for at in 20..32 {
        let mut error = error(at, if at % 2 == 0 { 0.3 } else { 0.6 });
        error.question.disturbed = true;
        ledger.record(error);
    }
    assert_eq!(ledger.correction(&QUIET), before);
    let disturbed = Question {
        disturbed: true,
        ..QUIET
    };
    let said = ledger.correction(&disturbed);
    assert!(said.factor < 0.7 && said.spread > 1.3, "{said:?}");
}

#[test]
fn errors_of_other_models_stand_in_until_there_are_enough() {
    let other = Question {
        subject: 2,
        setup: None,
        ..QUIET
    };
    let said = ledger([0.8; 12]).correction(&other);
    assert!(near(said.factor, 0.8) && said.errors >= PredictionLedger::ENOUGH);
}

#[test]
fn laws_are_not_corrected() {
    let laws = Question {
        basis: PredictionBasis::Laws,
        ..QUIET
    };
    let mut ledger = PredictionLedger::default();
    for at in 0..12 {
        let mut error = error(at, 0.95);
        error.question.basis = PredictionBasis::Laws;
        ledger.record(error);
    }
    let said = ledger.correction(&laws);
    assert!(
        near(said.factor, 1.0) && near(said.spread, 1.0 / 0.95),
        "{said:?}"
    );
}

#[test]
fn repeated_runs_of_a_setup_count_once() {
    let mut ledger = PredictionLedger::default();
    for (second, ratio) in [(0, 0.5), (10, 2.0), (60, 1.0)] {
        ledger.record(PastError {
            at: second,
            question: of_setup(7),
            ..error(0, ratio)
        });
    }
    let errors: Vec<&PastError> = ledger.errors().collect();
    assert_eq!(errors.len(), 1);
    assert!(
        near(errors[0].measured, 1000.0) && errors[0].runs == 3,
        "the geometric mean"
    );
    ledger.record(PastError {
        question: of_setup(7),
        ..error(1, 1.0)
    });
    assert_eq!(ledger.errors().count(), 2, "an hour later");
}

#[test]
fn the_ledger_is_bounded() {
    let many = ledger(std::iter::repeat_n(1.0, 3 * PredictionLedger::MOST));
    assert_eq!(many.errors().count(), PredictionLedger::MOST);
    let oldest = many.errors().next().map(|error| error.at);
    assert_eq!(oldest, Some(3600 * 2 * PredictionLedger::MOST as u64));
}

proptest! {
    /// A file may hold any numbers.
    #[test]
    fn any_errors_make_a_sane_interval(
        pairs in prop::collection::vec((any::<f64>(), any::<f64>(), any::<u64>(), any::<u32>()), 0..40),
    ) {
        let errors = pairs.into_iter().map(|(predicted, measured, at, runs)| PastError {
            at, question: of_setup(at % 5), predicted, measured, runs,
        });
        let said = PredictionLedger::from_errors(errors).correction(&of_setup(1));
        prop_assert!(said.factor.is_finite() && said.factor > 0.0);
        prop_assert!(said.spread.is_finite() && said.spread >= 1.0);
        let predicted = said.apply(1000.0);
        prop_assert!(predicted.low <= predicted.samples_per_s);
        prop_assert!(predicted.samples_per_s <= predicted.high);
    }
}

#[test]
fn saved_errors_are_found_by_another_process_and_damage_is_not_trusted() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = PredictionBook::at(folder.path());
    (0..12).for_each(|at| first.record(error(at, 0.5)));
    first.save();
    let second = PredictionBook::at(folder.path());
    assert!(near(second.correction(&QUIET).factor, 0.5));
    // Each process adds its own errors to those in the file.
    second.record(error(20, 0.5));
    second.save();
    first.record(error(21, 0.5));
    first.save();
    let third = Cache::at(folder.path());
    assert_eq!(third.book().correction(&QUIET).errors, 13);
    let file = fs::read_dir(folder.path()).expect("folder").next();
    let file = file.expect("a file").expect("an entry").path();
    let whole = fs::read_to_string(&file).expect("text");
    let large = " ".repeat(2 << 20);
    for damaged in [
        &whole[..whole.len() / 2],
        &whole.replace("500.0", "501.0"),
        &large,
    ] {
        fs::write(&file, damaged).expect("writes");
        let said = PredictionBook::at(folder.path()).correction(&QUIET);
        assert_eq!((said.factor, said.errors), (1.0, 0));
    }
}

#[test]
fn an_occasion_reports_its_age_and_load_and_expires() {
    let day = 24 * 3600;
    let occasion = |disturbed| Occasion {
        at: 1000 * day,
        disturbed,
    };
    let quiet = occasion(Some(false));
    for (seconds, words) in [
        (5, "measured just now, quiet host"),
        (12 * 60, "measured 12 min ago, quiet host"),
        (5 * 3600 + 60, "measured 5 h ago, quiet host"),
        (3 * day, "measured 3 days ago, quiet host"),
    ] {
        let now = quiet.at + seconds;
        assert_eq!(quiet.in_words(now), words);
        assert!(quiet.holds(now));
        assert!(!occasion(Some(true)).holds(now), "under load");
    }
    assert!(!quiet.holds(quiet.at + 8 * day));
    let busy = occasion(Some(true));
    assert_eq!(busy.in_words(busy.at), "measured just now, busy host");
    assert_eq!(occasion(None).in_words(0), "measured just now");
}

#[test]
fn a_period_at_capacity_is_complete_after_six_seconds_without_a_gap_or_a_change() {
    let ms = Duration::from_millis;
    let complete = |readings: &[(u64, Option<u64>)]| {
        let mut watch = CapacityWatch::default();
        let readings = readings
            .iter()
            .map(|(at, setup)| watch.note(ms(*at), *setup));
        readings.filter(|is_complete| *is_complete).count()
    };
    let steady: Vec<(u64, Option<u64>)> = (0..=130).map(|i| (100 * i, Some(1))).collect();
    assert_eq!(complete(&steady[..60]), 0);
    assert_eq!(
        complete(&steady[..61]),
        1,
        "a second to settle and five to measure"
    );
    assert_eq!(complete(&steady), 2, "the next period settles too");
    let mut idle = steady.clone();
    idle[30].1 = None;
    assert_eq!(complete(&idle[..61]), 0);
    let mut changed = steady.clone();
    changed[30..]
        .iter_mut()
        .for_each(|reading| reading.1 = Some(2));
    assert_eq!(complete(&changed[..61]), 0);
    let mut gap = steady;
    gap.drain(20..30);
    assert_eq!(complete(&gap[..51]), 0);
}

#[test]
fn errors_of_latencies_do_not_correct_throughputs() {
    let of_p99 = Question {
        figure: PredictedFigure::P99,
        ..QUIET
    };
    let late = (0..12).map(|at| PastError {
        question: of_p99,
        ..error(at, 2.0)
    });
    let ledger = PredictionLedger::from_errors(late);
    assert_eq!(ledger.correction(&QUIET).errors, 0);
    assert!(ledger.correction(&of_p99).factor > 1.9);
}

#[test]
fn the_typical_error_is_what_corrections_left() {
    let ratios = [1.0, 1.1, 1.0, 1.1, 1.0, 1.1];
    let errors = (0..).zip(ratios).map(|(at, ratio)| error(at, ratio));
    let ledger = PredictionLedger::from_errors(errors);
    let typical = ledger.typical_error(&QUIET).expect("there are errors");
    assert!((1.0..1.11).contains(&typical.factor), "{typical:?}");
    assert!(typical.errors > 0);
    assert_eq!(PredictionLedger::default().typical_error(&QUIET), None);
}
