//! A search can be followed: what it tried, which steps it took, how the best grew.

use std::sync::Arc;
use std::time::Duration;

use divisi_engine::search::{
    Algorithm, Bounds, Control, Evaluator, EvaluatorKind, Goal, Method, Score, SearchError,
    SearchJob, SearchProgress, greedy, worst_fit,
};
use divisi_model::allocation::{Footprints, Frame, Matrix};
use divisi_model::ensemble::Ensemble;
use divisi_runtime::device::Devices;
use divisi_runtime::device::simulated::find_profile;
use proptest::prelude::*;

use crate::common::{digits, fakes, frame, two_devices};

/// The more workers the better; among as many, larger batches on the second device.
struct Busy;

impl Evaluator for Busy {
    fn score(&mut self, matrix: &Matrix, _best: f64) -> Result<Score, SearchError> {
        let worker = |(cell, size): (
            divisi_model::allocation::Cell,
            divisi_model::ensemble::BatchSize,
        )| { 100.0 + (cell.device.get() * size.get()) as f64 / 10.0 };
        Ok(Score::exact(matrix.workers().map(worker).sum()))
    }
}

fn start(ensemble: &Ensemble, devices: &Devices) -> Matrix {
    let footprints = Footprints::plan(ensemble, devices);
    worst_fit(&frame(ensemble, devices), devices, &footprints).expect("fits")
}

/// Runs a search on simulated devices to its end.
fn searched(method: Method, count: usize) -> (SearchProgress, Matrix, f64) {
    let ensemble = digits();
    let devices = Devices::simulated(&find_profile("v100").expect("built in"), count);
    let job = SearchJob {
        known: None,
        demand: Arc::clone(&ensemble).into(),
        devices: devices.clone(),
        measured_on: devices.clone(),
        frame: Frame::from_ensemble(&ensemble, &devices),
        factory: fakes(&ensemble),
        method,
        cache: None,
    };
    let control = Arc::new(Control::default());
    let found = job.run(&control).expect("finds").found;
    (control.progress(), found.matrix, found.score)
}

/// The start with every accepted step's entries put in, one step after another.
fn replayed(start: &Matrix, progress: &SearchProgress) -> Matrix {
    let size = |matrix: &Matrix, cell| matrix.get(cell);
    let mut entries: Vec<_> = start.cells().map(|cell| size(start, cell)).collect();
    let members = start.frame().members.len();
    for (cell, to) in progress.accepted.iter().flat_map(|a| &a.changes) {
        entries[cell.index_in(members)] = *to;
    }
    Matrix::new(Arc::clone(start.frame()), entries).expect("valid")
}

fn rises(curve: &[(usize, f64)]) -> bool {
    curve
        .windows(2)
        .all(|w| w[0].0 <= w[1].0 && w[0].1 <= w[1].1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn greedy_shows_what_it_tried_and_the_steps_that_lead_to_its_best(
        seed in 0u64..100, max_neighs in 1usize..60, max_iter in 1usize..5,
    ) {
        let (ensemble, devices) = (digits(), two_devices());
        let (from, control) = (start(&ensemble, &devices), Control::default());
        let bounds = Bounds { max_iter, max_neighs, seed };
        let found = greedy(from.clone(), bounds, &mut Busy, &control).expect("runs");
        let seen = control.progress();
        prop_assert_eq!(seen.tried.len(), seen.neighbour);
        prop_assert!(seen.accepted.first().is_some_and(|a| a.changes.is_empty()));
        prop_assert!(seen.accepted.iter().skip(1).all(|a| a.changes.len() == 1));
        prop_assert_eq!(&replayed(&from, &seen), &found.matrix);
        prop_assert_eq!(seen.best.as_ref(), Some(&found.matrix));
        prop_assert!(rises(&seen.curve));
        prop_assert_eq!(seen.curve.last().map(|p| p.1), Some(found.score));
        prop_assert_eq!(seen.accepted.last().map(|a| a.score), Some(found.score));
    }
}

#[test]
fn what_a_neighbour_scored_is_what_its_matrix_scores() {
    let (ensemble, devices) = (digits(), two_devices());
    let (from, control) = (start(&ensemble, &devices), Control::default());
    let bounds = Bounds {
        max_iter: 1,
        max_neighs: 40,
        seed: 3,
    };
    greedy(from.clone(), bounds, &mut Busy, &control).expect("runs");
    for tried in control.progress().tried {
        let neighbour = from.with_entry(tried.cell, tried.to).expect("valid");
        let score = Busy.score(&neighbour, 0.0).expect("scores").samples_per_s;
        assert_eq!(tried.score, score);
    }
}

#[test]
fn local_search_shows_its_steps_and_is_bounded() {
    let method = Method {
        finalists: 0,
        ..Method::quick()
    };
    let (seen, found, score) = searched(method, 3);
    assert_eq!(seen.best.as_ref(), Some(&found));
    assert_eq!(seen.best_score, Some(score));
    assert!(!seen.tried.is_empty() && seen.tried.len() <= 4096);
    assert!(seen.accepted.len() > 1 && seen.accepted.len() <= 256);
    assert!(seen.curve.len() <= 512 && rises(&seen.curve));
    assert_eq!(seen.climbs.0, seen.climbs.1);
    assert!(seen.evaluations >= seen.curve.last().expect("a best").0);
    let ensemble = digits();
    let devices = Devices::simulated(&find_profile("v100").expect("built in"), 3);
    assert_eq!(replayed(&start(&ensemble, &devices), &seen), found);
}

#[test]
fn every_algorithm_ends_with_its_best_and_a_curve() {
    for algorithm in Algorithm::ALL {
        for evaluator in [EvaluatorKind::Bench, EvaluatorKind::Model] {
            let method = Method {
                algorithm,
                evaluator,
                bounds: Bounds {
                    max_iter: 1,
                    max_neighs: 4,
                    seed: 1,
                },
                restarts: 1,
                goal: Goal::default(),
                ..Method::default()
            };
            if method.check().is_err() {
                continue;
            }
            let (seen, found, score) = searched(method, 2);
            assert_eq!(seen.best.as_ref(), Some(&found), "{algorithm:?}");
            assert_eq!(seen.best_score, Some(score), "{algorithm:?}");
            assert!(
                !seen.curve.is_empty() && seen.evaluations > 0,
                "{algorithm:?}"
            );
        }
    }
}

#[test]
fn time_left_is_known_once_there_is_a_pace_and_is_nothing_at_the_end() {
    let (ensemble, devices) = (digits(), two_devices());
    let control = Control::default();
    assert_eq!(control.left(), None);
    let bounds = Bounds {
        max_iter: 1,
        max_neighs: 20,
        seed: 3,
    };
    greedy(start(&ensemble, &devices), bounds, &mut Busy, &control).expect("runs");
    assert_eq!(control.left(), Some(Duration::ZERO));
}
