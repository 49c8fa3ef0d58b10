//! `divisi accuracy`: each member's and the ensemble's under each rule.

use std::sync::Arc;

use anyhow::{Result, bail};
use divisi::device::Devices;
use divisi::ensemble::{Ensemble, RuleKind, Samples};
use divisi::load::{Until, saturate};
use serde::Serialize;

use super::args::{AccuracyArgs, Format};
use super::open::{Opened, open};
use super::progress::Progress;
use super::report::{print, print_json};

#[derive(Serialize)]
struct Report {
    ensemble: String,
    samples: usize,
    members: Vec<Row>,
    rules: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    accuracy: f64,
}

pub fn run(args: &AccuracyArgs) -> Result<()> {
    let opened = open(&args.target)?;
    if opened.ensemble.is_synthetic() {
        bail!(
            "ensemble `{}` has synthetic weights: accuracy would mean nothing",
            opened.ensemble.name
        );
    }
    if opened.devices.is_simulated() {
        bail!("simulated devices give constants: accuracy would mean nothing");
    }
    let samples = match &args.input {
        Some(path) => Arc::new(opened.read_samples(path)?),
        None => opened.calibration()?,
    };
    if samples.labels().is_none() {
        bail!("the samples have no labels: a CSV needs a last column named `label`");
    }
    let mut progress = Progress::new();
    let report = Report {
        ensemble: opened.ensemble.name.clone(),
        samples: samples.len(),
        members: members(&opened, &samples, &mut progress)?,
        rules: rules(&opened, &samples, &mut progress)?,
    };
    drop(progress);
    match args.format {
        Format::Json => print_json(&report),
        Format::Text => print(&text(&report)),
    }
}

fn members(opened: &Opened, samples: &Samples, progress: &mut Progress) -> Result<Vec<Row>> {
    let all = opened.ensemble.members.iter().enumerate();
    all.map(|(index, member)| {
        let alone = opened.ensemble.only(index);
        row(&member.name, alone, &opened.devices, samples, progress)
    })
    .collect()
}

fn rules(opened: &Opened, samples: &Samples, progress: &mut Progress) -> Result<Vec<Row>> {
    let rules = RuleKind::ALL.into_iter();
    rules
        .map(|rule| {
            let ensemble = Ensemble {
                rule,
                ..Ensemble::clone(&opened.ensemble)
            };
            row(rule.name(), ensemble, &opened.devices, samples, progress)
        })
        .collect()
}

fn row(
    name: &str,
    ensemble: Ensemble,
    devices: &Devices,
    samples: &Samples,
    progress: &mut Progress,
) -> Result<Row> {
    let opened = Opened::new(ensemble, devices.clone());
    let engine = opened.start(&opened.matrix(None)?, opened.networks())?;
    let mut right = 0;
    saturate(
        &engine,
        samples,
        samples.len(),
        Until::default(),
        |first, answer| {
            progress.say(|| format!("{name}: {first} of {} samples", samples.len()));
            let labels = answer.labels().enumerate();
            right += labels
                .filter(|(i, label)| samples.label(first + i) == Some(*label))
                .count();
        },
    )?;
    Ok(Row {
        name: name.to_owned(),
        accuracy: right as f64 / samples.len() as f64,
    })
}

fn text(report: &Report) -> String {
    let mut text = format!("{} on {} samples\n", report.ensemble, report.samples);
    for row in &report.members {
        text += &format!("  {:18} {:6.2} %\n", row.name, 100.0 * row.accuracy);
    }
    text += "ensemble\n";
    for row in &report.rules {
        text += &format!("  {:18} {:6.2} %\n", row.name, 100.0 * row.accuracy);
    }
    text
}
