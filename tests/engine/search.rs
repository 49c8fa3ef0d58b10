//! Searches: worst-fit fits, greedy never falls below its start, the cache is not trusted.

use std::fs;
use std::sync::Arc;

use divisi_engine::search::{
    Bounds, Cache, CacheKey, Comparison, Control, Doubt, Evaluator, EvaluatorKind, Method,
    Occasion, ProfileRenewal, Score, SearchError, SearchResult, Ties, greedy, greedy_by, worst_fit,
};
use divisi_model::allocation::{Cell, Footprints, Frame, Matrix};
use divisi_model::catalogue::Demand;
use divisi_model::ensemble::Ensemble;
use divisi_model::wall_clock::unix_seconds;
use divisi_runtime::device::{DeviceIndex, Devices, Host, MemberIndex};
use proptest::prelude::*;

use crate::common::{digits, frame, two_devices};

/// Scores by a formula: members' shares of two devices, smaller batches faster.
struct Formula(u64);

impl Evaluator for Formula {
    fn score(&mut self, matrix: &Matrix, _best: f64) -> Result<Score, SearchError> {
        let mut slowest = f64::MAX;
        for member in 0..matrix.frame().members.len() {
            let speed: f64 = matrix
                .column(MemberIndex::new(member))
                .filter_map(|(device, size)| size.map(|s| (device, s)))
                .map(|(device, size)| {
                    let mixed =
                        (self.0 ^ (size.get() * 31 + device.get() * 7 + member) as u64) % 97;
                    10.0 + mixed as f64
                })
                .sum();
            slowest = slowest.min(speed);
        }
        Ok(Score::exact(slowest))
    }
}

fn start(ensemble: &Ensemble, devices: &Devices) -> Matrix {
    worst_fit(
        &frame(ensemble, devices),
        devices,
        &Footprints::plan(ensemble, devices),
    )
    .expect("fits")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn greedy_is_never_below_its_start_and_repeats_by_its_seed(
        formula: u64, seed in 0u64..100, max_neighs in 1usize..80, max_iter in 0usize..6,
    ) {
        let ensemble = digits();
        let devices = two_devices();
        let run = || {
            let bounds = Bounds { max_iter, max_neighs, seed };
            greedy(start(&ensemble, &devices), bounds, &mut Formula(formula), &Control::default()).expect("runs")
        };
        let (a, b) = (run(), run());
        prop_assert!(a.score >= a.start_score);
        prop_assert_eq!(&a.matrix, &b.matrix);
        prop_assert!(a.iterations <= max_iter && a.evaluations <= 1 + max_iter * max_neighs);
        prop_assert_eq!(a.score, Formula(formula).score(&a.matrix, 0.0).expect("scores").samples_per_s);
    }

    #[test]
    fn worst_fit_fits_or_says_which_member_has_no_room(kilobytes in 1u64..12_000) {
        let ensemble = digits();
        let devices = Devices::default_of(&Host { cores: vec![0, 1], memory_bytes: kilobytes << 10 });
        let footprints = Footprints::plan(&ensemble, &devices);
        match worst_fit(&frame(&ensemble, &devices), &devices, &footprints) {
            Ok(matrix) => {
                prop_assert!(footprints.book(&matrix, &devices).is_ok());
                prop_assert!(matrix.workers().all(|(_, s)| s == ensemble.batch_sizes.smallest()));
                prop_assert_eq!(matrix.workers().count(), ensemble.members.len());
            }
            Err(error) => {
                let (device, smallest) = (DeviceIndex::new(0), ensemble.batch_sizes.smallest());
                let bytes = |member| footprints.bytes(Cell { device, member }, smallest);
                let needed: u64 = MemberIndex::all(6).map(bytes).sum();
                let pool = footprints.pool(&devices).map_or(0, |(_, bytes)| bytes);
                prop_assert!(pool + needed > kilobytes << 10);
                let whose = if pool > kilobytes << 10 { "the sample pool" } else { "member `" };
                let said = format!("no device is large enough: {}", whose);
                prop_assert!(error.to_string().contains(&said));
            }
        }
    }
}

/// Scores all matrices alike; more workers are better in the long run.
struct Plateau;

impl Evaluator for Plateau {
    fn steady(&mut self, matrix: &Matrix) -> f64 {
        matrix.workers().count() as f64
    }

    fn score(&mut self, _: &Matrix, _best: f64) -> Result<Score, SearchError> {
        Ok(Score::exact(100.0))
    }
}

#[test]
fn the_papers_greedy_stops_on_a_plateau_and_ours_goes_on_by_the_long_run() {
    let from = start(&digits(), &two_devices());
    let found = |ties| {
        let (bounds, control) = (Bounds::default(), Control::default());
        greedy_by(from.clone(), bounds, ties, &mut Plateau, &control).expect("runs")
    };
    let (paper, ours) = (found(Ties::Stop), found(Ties::LongRun));
    assert_eq!((&paper.matrix, paper.iterations), (&from, 1));
    assert!(ours.matrix.workers().count() > from.workers().count());
    assert_eq!(paper.score, ours.score);
}

#[test]
fn worst_fit_spreads_members_of_one_memory_over_its_devices() {
    let matrix = start(&digits(), &two_devices());
    let rows = matrix.rows();
    assert!(
        rows.iter().all(|row| row.iter().any(|n| *n > 0)),
        "{rows:?}"
    );
}

#[test]
fn a_cancelled_search_stops_and_keeps_its_best() {
    let (ensemble, devices) = (digits(), two_devices());
    let control = Control::default();
    struct CancelAt<'a>(usize, &'a Control);
    impl Evaluator for CancelAt<'_> {
        fn score(&mut self, matrix: &Matrix, best: f64) -> Result<Score, SearchError> {
            self.0 -= 1;
            if self.0 == 0 {
                self.1.cancel();
            }
            Formula(3).score(matrix, best)
        }
    }
    let stopped = greedy(
        start(&ensemble, &devices),
        Bounds::default(),
        &mut CancelAt(5, &control),
        &control,
    );
    assert!(matches!(stopped, Err(SearchError::Stopped(_))));
    assert_eq!(control.progress().evaluations, 5);
    assert!(control.progress().best.is_some());
}

const SCORE: Score = Score {
    samples_per_s: 10.0,
    doubt: Doubt::Runs {
        runs: 2,
        error: 0.125,
    },
};

const GAIN: Comparison = Comparison {
    ratio: 2.0,
    low: 1.5,
    high: 2.5,
    pairs: 6,
};

fn found(matrix: Matrix) -> SearchResult {
    SearchResult {
        gain: Some(GAIN),
        evaluations: 3,
        iterations: 1,
        ..SearchResult::new(matrix, SCORE, Score::of_runs(&[5.0]))
    }
}

fn alone(ensemble: &Arc<Ensemble>) -> Demand {
    Demand::from_ensemble(Arc::clone(ensemble))
}

#[test]
fn a_cached_result_is_found_again_and_a_damaged_one_is_not_trusted() {
    let (ensemble, devices) = (digits(), two_devices());
    let frame = frame(&ensemble, &devices);
    let folder = std::env::temp_dir().join(format!("divisi-cache-{}", std::process::id()));
    let cache = Cache::at(&folder);
    let key = CacheKey::new(&alone(&ensemble), &devices, &Method::default());
    let matrix = start(&ensemble, &devices);
    assert!(cache.load(&key, "digits", &frame).is_none());
    cache
        .store(&key, "digits", &found(matrix.clone()))
        .expect("stores");
    let kept = cache.load(&key, "digits", &frame).expect("there");
    assert_eq!(kept.matrix, matrix);
    assert_eq!((kept.doubt, kept.start_doubt), (SCORE.doubt, Doubt::Once));
    assert_eq!(kept.gain, found(matrix.clone()).gain);
    let plain = Method::default();
    let mut others = [plain; 4];
    others[0].bounds.seed = 2;
    others[1].evaluator = EvaluatorKind::Model;
    others[2].restarts += 1;
    others[3].goal.rate = Some(1.0);
    for other in others {
        let other = CacheKey::new(&alone(&ensemble), &devices, &other);
        assert!(cache.load(&other, "digits", &frame).is_none());
    }
    let file = fs::read_dir(&folder)
        .expect("folder")
        .next()
        .expect("a file")
        .expect("entry")
        .path();
    let whole = fs::read_to_string(&file).expect("text");
    for damaged in [
        &whole[..whole.len() / 2],
        &whole.replace("10.0", "11.0"),
        &whole.replace("mlp", "xxx"),
    ] {
        fs::write(&file, damaged).expect("writes");
        assert!(cache.load(&key, "digits", &frame).is_none());
    }
    fs::remove_dir_all(&folder).expect("cleans up");
}

#[test]
fn a_result_measured_under_load_or_too_long_ago_is_not_used() {
    let (ensemble, devices) = (digits(), two_devices());
    let frame = frame(&ensemble, &devices);
    let folder = tempfile::tempdir().expect("a folder");
    let cache = Cache::at(folder.path());
    let key = CacheKey::new(&alone(&ensemble), &devices, &Method::default());
    let is_kept = |age: u64, disturbed: bool, doubt: Doubt| {
        let found = SearchResult {
            occasion: Some(Occasion {
                at: unix_seconds() - age,
                disturbed: Some(disturbed),
            }),
            doubt,
            ..found(start(&ensemble, &devices))
        };
        cache.store(&key, "digits", &found).expect("stores");
        let kept = cache.load(&key, "digits", &frame);
        assert!(
            cache
                .clone()
                .renewing(ProfileRenewal::All)
                .load(&key, "digits", &frame)
                .is_none()
        );
        kept.is_some_and(|kept| kept.occasion == found.occasion)
    };
    let (hour, month) = (3600, 30 * 24 * 3600);
    assert!(is_kept(hour, false, SCORE.doubt));
    assert!(!is_kept(hour, true, SCORE.doubt), "under load");
    assert!(!is_kept(month, false, SCORE.doubt), "too long ago");
    assert!(is_kept(month, false, Doubt::Exact), "in virtual time");
}

#[test]
fn measuring_again_replaces_the_same_result() {
    let (ensemble, devices) = (digits(), two_devices());
    let again = Method {
        again: true,
        ..Method::default()
    };
    assert_eq!(
        CacheKey::new(&alone(&ensemble), &devices, &again),
        CacheKey::new(&alone(&ensemble), &devices, &Method::default())
    );
}

#[test]
fn a_cache_that_cannot_be_written_says_so() {
    let (ensemble, devices) = (digits(), two_devices());
    let cache = Cache::at(std::path::Path::new("/dev/null/nowhere"));
    let key = CacheKey::new(&alone(&ensemble), &devices, &Method::default());
    assert!(
        cache
            .store(&key, "digits", &found(start(&ensemble, &devices)))
            .is_err()
    );
}

#[test]
fn iterations_grow_with_devices_beyond_members() {
    let frame = Arc::new(Frame {
        devices: (0..20).map(|d| format!("d{d}")).collect(),
        members: vec!["m".into()],
        batch_sizes: divisi_model::ensemble::BatchSizes::default(),
    });
    let mut rows = vec![vec![0]; 20];
    rows[0][0] = 8;
    let matrix = Matrix::from_rows(frame, &rows).expect("valid");
    assert_eq!(Bounds::default().iterations(&matrix), 19);
}
