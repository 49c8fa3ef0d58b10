//! Trains the members of an ensemble on its calibration file's first rows.
//!
//! `cargo run --release --example train_digits [-- FOLDER [MEMBER …]]`
//!
//! Reads the folder's manifest as text, trains each network from a fixed seed and
//! writes its safetensors beside it. Same seed, processor and thread count: same
//! weights.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests, benchmarks and examples stop at the first surprise"
)]

mod learner;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use divisi_model::ensemble::{Ensemble, Files, Member, Samples};

use learner::Learner;

const SEED: u64 = 2026;

/// Cheap networks learn slower and cost nothing.
fn epochs(member: &Member) -> usize {
    if member.graph.flops() < 2_000_000 {
        200
    } else {
        24
    }
}

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let folder = PathBuf::from(
        args.next()
            .unwrap_or_else(|| "sample_ensembles/digits".into()),
    );
    let only: Vec<String> = args.collect();
    let (ensemble, skip) = untrained(&folder)?;
    let train = training_part(&folder, &ensemble, skip)?;
    for member in &ensemble.members {
        if only.is_empty() || only.contains(&member.name) {
            let test = ensemble.calibration.as_deref();
            train_member(&folder, &ensemble, member, &train, test)?;
        }
    }
    Ok(())
}

/// The ensemble without weights, and how many rows are for training.
fn untrained(folder: &Path) -> Result<(Ensemble, usize)> {
    let text = fs::read_to_string(folder.join("ensemble.toml"))
        .with_context(|| format!("reading {}/ensemble.toml", folder.display()))?;
    let mut manifest: toml::Table = text.parse()?;
    let skip = manifest["calibration"]["skip"].as_integer().unwrap_or(0);
    if let Some(members) = manifest["members"].as_array_mut() {
        for member in members {
            if let Some(table) = member.as_table_mut() {
                table.remove("weights");
            }
        }
    }
    let bare = folder.join(".untrained.toml");
    fs::write(&bare, toml::to_string(&manifest)?)?;
    let ensemble = Ensemble::read(&Files::from_path(&bare));
    fs::remove_file(&bare)?;
    Ok((ensemble?, skip as usize))
}

fn training_part(folder: &Path, ensemble: &Ensemble, rows: usize) -> Result<Samples> {
    let bytes = fs::read(folder.join("digits.csv"))?;
    let all = Samples::parse("digits.csv", bytes, &ensemble.sample_form())?;
    let Some(labels) = all.labels() else {
        bail!("digits.csv has no labels")
    };
    let (values, labels) = (
        all.values()[..rows * all.width()].to_vec(),
        labels[..rows].to_vec(),
    );
    Ok(Samples::new(values, all.width(), Some(labels))?)
}

fn train_member(
    folder: &Path,
    ensemble: &Ensemble,
    member: &Member,
    train: &Samples,
    test: Option<&Samples>,
) -> Result<()> {
    let mut learner = Learner::new(&member.graph, SEED)?;
    let epochs = epochs(member);
    for epoch in 1..=epochs {
        let loss = learner.epoch(ensemble, train, epoch, epochs)?;
        println!("{:8} epoch {epoch:2}  loss {loss:.4}", member.name);
    }
    if let Some(test) = test {
        let share = learner.accuracy(ensemble, test)?;
        println!("{:8} test accuracy {:.2} %", member.name, 100.0 * share);
    }
    let tensors: HashMap<_, _> = learner.tensors()?;
    candle_core::safetensors::save(
        &tensors,
        folder.join(format!("{}.safetensors", member.name)),
    )?;
    Ok(())
}
