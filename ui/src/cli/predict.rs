//! `divisi predict`: answers for the samples of a file.

use std::fmt::Write as _;

use anyhow::{Context, Result, bail};
use divisi::load::{Until, saturate};
use divisi::serving::Answer;
use serde::Serialize;

use super::args::{Format, PredictArgs};
use super::open::{Opened, open};
use super::output::Output;
use super::progress::Progress;
use super::report::{print, print_json};
use super::signals::stop_flag;

#[derive(Serialize)]
struct Report {
    ensemble: String,
    samples: usize,
    elapsed_s: f64,
    /// Where the file has labels and no weights are made up.
    accuracy: Option<f64>,
    synthetic: bool,
    /// Any device is simulated: answers are constants.
    simulated: bool,
    output: Option<String>,
    answers: Vec<AnswerRow>,
}

#[derive(Serialize)]
struct AnswerRow {
    class: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    scores: Vec<f32>,
}

pub fn run(args: &PredictArgs) -> Result<()> {
    let output = args.output.as_deref().map(Output::at).transpose()?;
    let stopped = stop_flag();
    let opened = open(&args.target)?;
    let samples = opened.read_samples(&args.input)?;
    let matrix = opened.matrix(args.matrix.as_deref())?;
    let engine = opened.start(&matrix, opened.networks())?;
    let until = Until {
        stop: Some(&stopped),
        ..Until::default()
    };
    let mut progress = Progress::new();
    let mut answers = Vec::with_capacity(samples.len());
    let run = saturate(&engine, &samples, samples.len(), until, |_, answer| {
        answers.extend(rows(&opened, answer));
        progress.say(|| format!("{} of {} samples", answers.len(), samples.len()));
    })
    .with_context(|| args.input.display().to_string())?;
    drop(progress);
    engine.shutdown();
    if run.cut_short {
        let done = answers.len();
        bail!(
            "stopped after {done} of {} samples; nothing was written",
            samples.len()
        );
    }
    let synthetic = opened.ensemble.is_synthetic();
    let simulated = opened.devices.is_simulated();
    let means_something = !synthetic && !simulated;
    let right = samples.labels().filter(|_| means_something).map(|labels| {
        let pairs = answers.iter().zip(labels);
        pairs.filter(|(a, label)| a.class == **label).count()
    });
    let strange = answers
        .iter()
        .filter(|a| !a.scores.iter().all(|s| s.is_finite()))
        .count();
    if let Some(output) = &output {
        output.write(&csv(&opened, &answers))?;
    }
    let report = Report {
        ensemble: opened.ensemble.name.clone(),
        samples: samples.len(),
        elapsed_s: run.elapsed.as_secs_f64(),
        accuracy: right.map(|r| r as f64 / samples.len() as f64),
        synthetic,
        simulated,
        output: args.output.as_ref().map(|p| p.display().to_string()),
        answers,
    };
    tell(args, &opened, report)?;
    if strange > 0 {
        bail!("{strange} answers are not finite numbers: the networks overflow on these samples");
    }
    Ok(())
}

fn tell(args: &PredictArgs, opened: &Opened, mut report: Report) -> Result<()> {
    if args.format == Format::Json {
        if args.output.is_some() {
            report.answers.clear();
        }
        return print_json(&report);
    }
    if args.output.is_none() {
        print(&csv(opened, &report.answers))?;
    }
    let mut text = format!("{} samples in {:.2} s", report.samples, report.elapsed_s);
    if let Some(accuracy) = report.accuracy {
        let _ = write!(text, ", accuracy {:.2} %", 100.0 * accuracy);
    }
    if report.synthetic {
        text += "; synthetic weights: answers mean nothing";
    }
    if report.simulated {
        text += "; simulated devices: answers mean nothing";
    }
    if args.output.is_some() {
        return print(&text);
    }
    // Standard output carries the answers; the summary goes beside them.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{text}\n").as_bytes());
    Ok(())
}

fn rows(opened: &Opened, answer: &Answer) -> Vec<AnswerRow> {
    let names = opened.ensemble.labels.as_ref();
    let rows = answer.rows().zip(answer.labels());
    rows.map(|(scores, class)| AnswerRow {
        class,
        label: names.map(|n| n[class].clone()),
        scores: scores.to_vec(),
    })
    .collect()
}

fn csv(opened: &Opened, answers: &[AnswerRow]) -> String {
    let mut text = String::from("sample,class");
    for class in 0..opened.ensemble.classes {
        let _ = write!(text, ",score_{class}");
    }
    let simulated = opened.devices.is_simulated();
    if simulated {
        text.push_str(",simulated");
    }
    for (i, answer) in answers.iter().enumerate() {
        let _ = write!(text, "\n{i},{}", answer.class);
        for score in &answer.scores {
            let _ = write!(text, ",{score}");
        }
        if simulated {
            text.push_str(",yes");
        }
    }
    text.push('\n');
    text
}
