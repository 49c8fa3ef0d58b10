//! Ten thousand changes of what runs (loads, unloads, new versions, matrices, policies, undo, and what a
//! scaling policy decides), while clients ask one model: requests lost or answered wrongly, and the longest
//! gap between answers.
//!
//! `cargo bench --bench models [-- CHANGES]`

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests, benchmarks and examples stop at the first surprise"
)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use common::Bed;
use divisi_engine::changes::{Changes, PolicyChange, ReloadState};
use divisi_engine::deployment::{
    Deployment, DeploymentStart, Handover, ModelSource, ModelsRead, ModelsToRead,
};
use divisi_engine::serving::{EngineOptions, PipelineIndex, Request};
use divisi_model::allocation::{Frame, Matrix};
use divisi_model::catalogue::{Catalogue, CatalogueEntry, Interface, NewEntry};
use divisi_model::ensemble::{Ensemble, Files, PolicyKind, Wait};
use divisi_model::metrics::stats::quantile;

const CHANGES: u64 = 10_000;
const CLIENTS: usize = 2;

/// The time without changes that others are compared with: long enough for what a machine does by itself
/// now and then.
const QUIET: Duration = Duration::from_secs(60);

/// The versions of models that the changes choose from.
#[derive(Default)]
struct Shelf(Mutex<BTreeMap<String, NewEntry>>);

impl Shelf {
    fn put(&self, name: &str, version: u64, ensemble: &Arc<Ensemble>) {
        let entry = NewEntry {
            name: name.into(),
            version: NonZeroU64::new(version).expect("from 1"),
            ensemble: Arc::clone(ensemble),
            interface: Interface::default(),
            warmup: Arc::default(),
            instances: Vec::new(),
            first_batch: None,
            enough: None,
        };
        self.0.lock().expect("no panic").insert(name.into(), entry);
    }
}

impl ModelSource for Shelf {
    fn names(&self) -> Vec<String> {
        self.0.lock().expect("no panic").keys().cloned().collect()
    }

    fn read(&self, wanted: ModelsToRead<'_>) -> ModelsRead {
        let models = self.0.lock().expect("no panic");
        let wanted = models
            .values()
            .filter(|entry| wanted.names.contains(&entry.name));
        ModelsRead {
            entries: wanted.cloned().collect(),
            ..ModelsRead::default()
        }
    }
}

/// The outcomes of a client's requests.
#[derive(Default)]
struct Seen {
    answers: usize,
    wrong: usize,
    lost: usize,
    /// Seconds between two answers.
    gaps: Vec<f64>,
    latencies: Vec<f64>,
}

fn ask(changes: &Changes, samples: &[f32], expected: &[f32], over: &AtomicBool) -> Seen {
    let mut seen = Seen::default();
    let mut last = Instant::now();
    let mut at = 0;
    while !over.load(Ordering::Relaxed) {
        at = (at + 1) % (samples.len() / 64);
        let begun = Instant::now();
        let outcome = loop {
            let running = changes.running();
            let number = running
                .catalogue
                .find("digits", None)
                .expect("always served");
            let request = Request::new(&samples[at * 64..][..64]).to(PipelineIndex(number));
            match running.engine.predict(request) {
                Ok(outcome) => break outcome,
                // An engine that ends takes nothing any more; the next one runs already.
                Err(_) if changes.running().number != running.number => {}
                Err(refused) => panic!("{refused}"),
            }
        };
        let now = Instant::now();
        seen.gaps.push((now - last).as_secs_f64());
        seen.latencies.push((now - begun).as_secs_f64());
        last = now;
        match outcome {
            Err(_) => seen.lost += 1,
            Ok(answer) => {
                seen.answers += 1;
                let row = answer.rows().next().expect("one sample");
                let far = row.iter().zip(&expected[at * 10..][..10]);
                let wrong = far.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) > 1e-5;
                seen.wrong += usize::from(wrong);
            }
        }
    }
    seen
}

/// Runs clients while `work` is done.
fn during(
    changes: &Arc<Changes>,
    samples: &[f32],
    expected: &[f32],
    work: impl FnOnce() -> Result<()>,
) -> Result<Seen> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let client = || scope.spawn(|| ask(changes, samples, expected, &over));
        let clients: Vec<_> = (0..CLIENTS).map(|_| client()).collect();
        let done = work();
        over.store(true, Ordering::Relaxed);
        let mut all = Seen::default();
        for client in clients {
            let seen = client.join().expect("no client stops early");
            all.answers += seen.answers;
            all.wrong += seen.wrong;
            all.lost += seen.lost;
            all.gaps.extend(seen.gaps);
            all.latencies.extend(seen.latencies);
        }
        done.map(|()| all)
    })
}

fn read(name: &str) -> Result<Arc<Ensemble>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sample_ensembles");
    Ok(Arc::new(Ensemble::read(&Files::from_path(
        &folder.join(name),
    ))?))
}

fn is_served(changes: &Changes, name: &str) -> bool {
    changes.running().catalogue.find(name, None).is_some()
}

/// Changes what is served as a scaling policy does: other models, or other places of the same ones.
fn decide(changes: &Changes, change: u64) -> Result<()> {
    let running = changes.running();
    let entries = running.catalogue.entries().iter();
    let stays = |entry: &&CatalogueEntry| !change.is_multiple_of(3) || entry.name() == "digits";
    let entries: Vec<NewEntry> = entries.filter(stays).map(Into::into).collect();
    let catalogue = Catalogue::new("models", entries.clone())?;
    let frame = Frame::from_ensemble(catalogue.models(), running.engine.devices());
    let sizes: Vec<_> = frame.batch_sizes.iter().collect();
    let cells = running.engine.devices().count() * frame.members.len();
    let size = |cell: usize| Some(sizes[(change as usize + cell) % sizes.len()]);
    let matrix = Matrix::new(frame, (0..cells).map(size).collect())?;
    changes.serve(&entries, &matrix, PolicyChange::default())?;
    Ok(())
}

/// Takes the last change back, and waits until that is made.
fn undo(changes: &Changes) -> Result<()> {
    changes.undo()?;
    while changes
        .status()
        .reload
        .is_some_and(|reload| reload.state == ReloadState::Running)
    {
        thread::yield_now();
    }
    Ok(())
}

fn main() -> Result<()> {
    let given = std::env::args()
        .skip(1)
        .find(|word| !word.starts_with("--"));
    let most: u64 = given.map_or(Ok(CHANGES), |word| word.parse())?;
    let bed = Bed::open("sample_ensembles/digits", &["cpu:0", "cpu:1"])?;
    let (digits, cascade) = (Arc::clone(&bed.ensemble), read("digits-cascade")?);
    let samples = digits.calibration.clone().context("digits has samples")?;
    let shelf = Arc::new(Shelf::default());
    shelf.put("digits", 1, &digits);
    shelf.put("cascade", 1, &cascade);
    let names: BTreeSet<String> = shelf.names().into_iter().collect();
    let start = DeploymentStart {
        name: "models".into(),
        devices: bed.devices.clone(),
        options: EngineOptions::default(),
        matrix: None,
    };
    let source = Arc::<Shelf>::clone(&shelf);
    let read = shelf.read(ModelsToRead::first(&names));
    let changes = Changes::new(Deployment::start(Some(source), read, start)?);
    let values = &samples.values()[..256 * 64];
    let number = changes.running().catalogue.find("digits", None);
    let number = PipelineIndex(number.context("digits is served")?);
    let request = Request::new(values).to(number);
    let answer = changes.running().engine.predict(request)?;
    let expected: Vec<f32> = answer?.rows().flatten().copied().collect();

    let quiet = during(&changes, values, &expected, || {
        thread::sleep(QUIET);
        Ok(())
    })?;
    let begun = Instant::now();
    let changed = during(&changes, values, &expected, || {
        for change in 0..most {
            match change % 7 {
                0 => {
                    shelf.put("digits", 2 + change, &digits);
                    changes.load("digits")?;
                }
                1 if is_served(&changes, "cascade") => changes.unload("cascade", false)?,
                1 => {}
                2 => {
                    let setup = changes.running().engine.setup();
                    let neighbours = setup.matrix.neighbours();
                    let next = &neighbours[change as usize % neighbours.len()];
                    if let Ok(plan) = changes.plan(&setup.with_matrix(next.clone())) {
                        changes.make(plan, Handover::Beside)?;
                    }
                }
                3 => changes.load("cascade")?,
                4 => decide(&changes, change)?,
                5 => undo(&changes)?,
                _ => {
                    let policy = match change % 2 {
                        0 => PolicyKind::NoWait,
                        _ => PolicyKind::OptWait {
                            wait: Wait::millis(1),
                        },
                    };
                    let setup = changes.running().engine.setup().with_policy(policy);
                    let plan = changes.plan(&setup)?;
                    if !plan.is_empty() {
                        changes.make(plan, Handover::Beside)?;
                    }
                }
            }
        }
        Ok(())
    })?;
    let p99 = quantile(&quiet.latencies, 0.99) * 1e3;
    println!("{CLIENTS} clients, one sample a request; milliseconds");
    for (what, seen) in [("quiet", &quiet), ("changes", &changed)] {
        println!(
            "{what:>8}: {} answers, {} lost, {} wrong; latency p50 {:.2} p99 {:.2} p99.9 {:.2} longest {:.1}; longest gap {:.1}",
            seen.answers,
            seen.lost,
            seen.wrong,
            quantile(&seen.latencies, 0.5) * 1e3,
            quantile(&seen.latencies, 0.99) * 1e3,
            quantile(&seen.latencies, 0.999) * 1e3,
            quantile(&seen.latencies, 1.0) * 1e3,
            quantile(&seen.gaps, 1.0) * 1e3,
        );
    }
    let longest = quantile(&changed.gaps, 1.0) * 1e3;
    println!(
        "{most} changes in {:.1} s; the longest gap over the p99 before: {:.1}; over the longest before: {:.1}",
        begun.elapsed().as_secs_f64(),
        longest / p99,
        longest / (quantile(&quiet.gaps, 1.0) * 1e3),
    );
    Ok(())
}
