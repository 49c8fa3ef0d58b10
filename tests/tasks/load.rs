//! The built-in load as one of queries with goals.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use divisi_engine::load::{Generator, LoadSamples};
use divisi_modelless::goals::QueryGoals;
use divisi_modelless::quantities::Accuracy;
use divisi_modelless::variants::VariantIndex;
use divisi_tasks::routing::{GoalChooser, LiveRouter};

use crate::common::{MIDDLING, SMALL, serving};
use crate::wait::wait_until;

/// The queries that are sent.
const QUERIES: usize = 40;

fn accuracy(percent: f64) -> QueryGoals {
    QueryGoals {
        accuracy: Some(Accuracy::percent(percent).expect("percent")),
        ..QueryGoals::default()
    }
}

/// Sends queries one after another, and returns how many were sent, refused and failed.
fn send(live: &Arc<LiveRouter>, goals: &[QueryGoals]) -> [u64; 3] {
    let engine = Arc::clone(&live.deployment().running().engine);
    let chooser = Arc::new(GoalChooser::new(Arc::clone(live), goals));
    let samples = LoadSamples::chosen_by(engine.catalogue(), chooser).expect("samples");
    let pattern = "closed:1x1".parse().expect("a pattern");
    let generator = Generator::start(engine, samples, pattern, 1, Some(QUERIES)).expect("starts");
    let tally = Arc::clone(generator.tally());
    wait_until("all queries are over", || generator.is_finished());
    [&tally.sent, &tally.refused, &tally.failed].map(|count| count.load(Ordering::Relaxed))
}

#[test]
fn queries_of_the_load_are_answered_by_variants_that_meet_their_goals_in_turn() {
    let live = serving(&[SMALL, MIDDLING]);
    let counts = send(&live, &[accuracy(80.0), accuracy(95.0)]);
    assert_eq!(counts, [QUERIES as u64, 0, 0]);
    let answered = |at: usize| {
        let tally = live.router().variant_tallies()[at];
        assert_eq!(tally.met, tally.answered);
        let variant = live.router().tasks().words(VariantIndex(at as u32));
        (variant.split(' ').next().map(str::to_owned), tally.answered)
    };
    let half = QUERIES as u64 / 2;
    assert_eq!(
        answered(0),
        (Some("numbers.sample.bf16.mlp".to_owned()), half)
    );
    assert_eq!(
        answered(1),
        (Some("numbers.sample.int8.cnn-s+cnn-m".to_owned()), half)
    );
}

#[test]
fn queries_of_the_load_that_nothing_meets_are_refused() {
    let live = serving(&[SMALL]);
    let [sent, refused, failed] = send(&live, &[accuracy(99.0)]);
    assert_eq!((sent, failed), (0, 0));
    assert!(refused > 0);
    assert!(live.router().task_tallies()[0].unreachable > 0);
}
