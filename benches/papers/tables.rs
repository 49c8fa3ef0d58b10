//! Tables I and III of Pochelu, Petiton and Conche (arXiv 2208.14049): V100s and a CPU.
//!
//! Scores are those of searches as `divisi allocate` does them: a run of 1 024 samples
//! in virtual time, as the paper measures (section IV.A).

use std::sync::Arc;

use divisi::search::{Algorithm, Control, EvaluatorKind, Job, Method};
use divisi::serving::FakeFactory;

use super::stage::{Stage, ensemble};

/// Devices, then the paper's A1 and A2.
type Row = (usize, Option<f64>, Option<f64>);

const IMN1: [Row; 9] = [
    (1, Some(106.0), Some(136.0)),
    (2, Some(106.0), Some(270.0)),
    (3, Some(106.0), Some(394.0)),
    (4, Some(106.0), Some(539.0)),
    (5, Some(106.0), Some(617.0)),
    (6, Some(106.0), Some(722.0)),
    (8, Some(106.0), Some(974.0)),
    (12, Some(106.0), Some(1436.0)),
    (16, Some(106.0), Some(1897.0)),
];

const IMN4: [Row; 9] = [
    (1, None, None),
    (2, Some(13.0), Some(101.0)),
    (3, Some(158.0), Some(199.0)),
    (4, Some(160.0), Some(251.0)),
    (5, Some(160.0), Some(294.0)),
    (6, Some(160.0), Some(351.0)),
    (8, Some(160.0), Some(472.0)),
    (12, Some(160.0), Some(686.0)),
    (16, Some(160.0), Some(877.0)),
];

const IMN12: [Row; 9] = [
    (1, None, None),
    (2, None, None),
    (3, None, None),
    (4, Some(15.0), Some(24.0)),
    (5, Some(65.0), Some(106.0)),
    (6, Some(103.0), Some(194.0)),
    (8, Some(103.0), Some(226.0)),
    (12, Some(103.0), Some(317.0)),
    (16, Some(103.0), Some(405.0)),
];

/// The paper's algorithm, every neighbour run, and what is tried beyond it.
fn methods() -> [Method; 2] {
    let paper = Method {
        algorithm: Algorithm::Greedy,
        evaluator: EvaluatorKind::Bench,
        ..Method::default()
    };
    [paper, Method::quick()]
}

/// Table I, cell by cell: ours, the paper's, the difference.
pub fn table_one() {
    println!("Table I: samples/s, ours (the paper's, the difference), V100s and a CPU");
    println!("{:>10}  {:<21} {:<21} local, by the model", "", "A1", "A2");
    for (name, rows) in [("imn1", IMN1), ("imn4", IMN4), ("imn12", IMN12)] {
        let ensemble = ensemble(name);
        for (gpus, a1, a2) in rows {
            let stage = Stage::new(&ensemble, &format!("sim:v100*{gpus},sim:cpu"));
            let [Some(paper), Some(local)] = methods().map(|m| search(&stage, m)) else {
                println!("{name:>6} {gpus:>3}  does not fit");
                continue;
            };
            let fitted = name == "imn1" && gpus == 1;
            println!(
                "{name:>6} {gpus:>3}  {:<21} {:<21} {}{}",
                cell(paper.start, a1),
                cell(paper.score, a2),
                cell(local.score, a2),
                if fitted { "  fitted" } else { "" }
            );
        }
    }
}

struct Scores {
    start: f64,
    score: f64,
}

fn search(stage: &Stage, method: Method) -> Option<Scores> {
    let job = Job {
        known: None,
        ensemble: Arc::clone(&stage.ensemble),
        devices: stage.devices.clone(),
        measured_on: stage.devices.clone(),
        frame: Arc::clone(&stage.frame),
        factory: Arc::new(FakeFactory {
            classes: stage.ensemble.classes,
        }),
        samples: None,
        method,
        cache: None,
    };
    let found = job.run(&Arc::new(Control::default())).ok()?.found;
    Some(Scores {
        start: found.start_score,
        score: found.score,
    })
}

fn cell(ours: f64, paper: Option<f64>) -> String {
    match paper {
        Some(paper) => format!(
            "{ours:>5.0} ({paper:>4.0}, {:+.0} %)",
            100.0 * (ours / paper - 1.0)
        ),
        None => format!("{ours:>5.0} (   -)"),
    }
}

/// Table III: the best batch size for each member alone on a device of its own, against
/// bounded greedy on as many devices.
pub fn table_three() {
    println!("Table III: best-batch against searches, samples/s");
    for (name, gpus, bbs, greedy) in [
        ("imn1", 1, 136.0, 136.0),
        ("imn4", 4, 211.0, 251.0),
        ("imn12", 12, 136.0, 338.0),
    ] {
        let stage = Stage::new(&ensemble(name), &format!("sim:v100*{gpus},sim:cpu"));
        let best_batch = Method {
            algorithm: Algorithm::BestBatch,
            ..methods()[0]
        };
        let all = [best_batch, methods()[0], methods()[1]];
        let [base, paper, local] = all.map(|m| search(&stage, m).map_or(0.0, |s| s.score));
        println!(
            "{name:>6} on {gpus:>2}: {base:>4.0}, greedy {paper:>4.0} (gain {:.2}), local {local:>4.0} (gain {:.2}); the paper {bbs} and {greedy} (gain {:.2})",
            paper / base,
            local / base,
            greedy / bbs
        );
    }
}
