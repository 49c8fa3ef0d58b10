//! Predictions against measurements a minute later, next to a program that takes half of a core.
//!
//! `cargo bench -p divisi --bench predictions` (about five minutes; the machine is otherwise idle)
//! serves digits on two CPU devices and searches once, which profiles the networks. Then it predicts
//! 50 random matrices like the edit mode. Each matrix is measured a minute after its prediction, and
//! again a minute after that. The first measurement adds its error to the ledger; the second shows how
//! well a measurement repeats. `-- quiet` leaves the other program out.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests, benchmarks and examples stop at the first surprise"
)]

#[path = "../common/mod.rs"]
mod common;

mod burner;
mod matrices;
mod outcome;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use common::Bed;
use divisi_engine::search::{
    BenchEvaluator, Cache, Evaluator, Method, Occasion, Predicted, SearchJob,
};
use divisi_model::allocation::Matrix;
use divisi_model::catalogue::Catalogue;
use divisi_runtime::device::host::HostWatch;
use divisi_session::{Command, LiveSession, SearchState, Session};

use burner::Burner;
use outcome::Trial;

const MATRICES: usize = 50;
/// The time of one prediction and two measurements.
const SLOT: Duration = Duration::from_secs(4);
/// The number of slots between a prediction, its measurement and the repetition: a minute.
const LAG: usize = 15;

fn main() -> Result<()> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    if names.iter().any(|name| name == burner::ARGUMENT) {
        burner::burn();
    }
    let quiet = names.iter().any(|name| name == "quiet");
    let _burner = (!quiet).then(Burner::start).transpose()?;
    let folder = tempfile::tempdir()?;
    let mut world = World::new(Cache::at(folder.path()))?;
    let trials = world.run()?;
    outcome::print(&trials);
    Ok(())
}

/// A session that predicts, and an engine that measures.
struct World {
    bed: Bed,
    session: LiveSession,
    bench: BenchEvaluator,
    /// Records the errors of predictions.
    job: SearchJob,
}

impl World {
    fn new(cache: Cache) -> Result<Self> {
        let bed = Bed::open("sample_ensembles/digits", &["cpu:0", "cpu:1"])?;
        let engine = Arc::new(bed.start(&bed.everywhere(8)?, bed.networks())?);
        let samples = bed.ensemble.calibration.clone();
        let bench = BenchEvaluator::new(
            &Catalogue::from_ensemble(Arc::clone(&bed.ensemble)),
            bed.devices.clone(),
            bed.networks(),
            samples.ok_or_else(|| anyhow!("no samples"))?,
            Arc::default(),
        );
        let mut session = LiveSession::new(engine, bed.networks(), Some(cache.clone()));
        search(&mut session)?;
        Ok(World {
            job: bed.job(Method::default(), Some(cache)),
            bed,
            session,
            bench,
        })
    }

    /// Predicts each matrix, measures it a minute later, and again after another minute.
    fn run(&mut self) -> Result<Vec<Trial>> {
        let matrices = matrices::random(&self.bed.frame(), MATRICES);
        let mut trials: Vec<Trial> = Vec::new();
        for slot in 0..MATRICES + 2 * LAG {
            let began = Instant::now();
            if let Some(matrix) = matrices.get(slot) {
                trials.push(Trial::new(self.predict(matrix)?));
            }
            if let Some(at) = slot.checked_sub(LAG).filter(|at| *at < MATRICES) {
                trials[at].measured = self.measure(&matrices[at], &trials[at].predicted, true)?;
                outcome::print_trial(at, &trials[at]);
            }
            if let Some(at) = slot.checked_sub(2 * LAG) {
                trials[at].repeated = self.measure(&matrices[at], &trials[at].predicted, false)?;
            }
            thread::sleep(SLOT.saturating_sub(began.elapsed()));
        }
        Ok(trials)
    }

    /// Predicts like the edit mode of a console.
    fn predict(&mut self, matrix: &Matrix) -> Result<Predicted> {
        let setup = self.session.snapshot().setup().with_matrix(matrix.clone());
        let preview = self.session.preview(&setup);
        let said = preview.map_err(|why| anyhow!("{why}"))?.prediction;
        said.after
            .ok_or_else(|| anyhow!("no prediction: {}", said.source))
    }

    /// Measures for about a second.
    fn measure(&mut self, matrix: &Matrix, predicted: &Predicted, learns: bool) -> Result<f64> {
        let samples = (predicted.samples_per_s.round() as usize).clamp(256, 65_536);
        let watch = HostWatch::start();
        let rate = self.bench.glance(matrix, samples)?.samples_per_s;
        let occasion = Occasion::since(&watch, &self.bed.devices);
        if learns {
            self.job.record_runs(matrix, samples, &[rate], occasion);
        }
        Ok(rate)
    }
}

/// Searches quickly, which profiles the networks.
fn search(session: &mut LiveSession) -> Result<()> {
    let started = session.command(Command::StartSearch(Method::quick()));
    started.map_err(|why| anyhow!("{why}"))?;
    loop {
        thread::sleep(Duration::from_millis(100));
        match session.snapshot().search.map(|search| search.state) {
            Some(SearchState::Running) => {}
            Some(SearchState::Finished) => return Ok(()),
            other => bail!("the search ended: {other:?}"),
        }
    }
}
