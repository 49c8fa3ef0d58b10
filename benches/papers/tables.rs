//! Tables I and III of Pochelu, Petiton and Conche (arXiv 2208.14049): V100s and a CPU.

use std::sync::Arc;

use divisi::allocation::Matrix;
use divisi::ensemble::PolicyKind;
use divisi::search::local::{Climber, Effort, Position, Room};
use divisi::search::model::{ModelEvaluator, Rates};
use divisi::search::{Bounds, Control, Evaluator, best_batch, greedy, worst_fit};

use super::stage::{Stage, ensemble};

/// Samples of a run: enough that filling and emptying the devices does not count.
const SAMPLES: usize = 8192;

fn segment() -> PolicyKind {
    "segment:5ms".parse().expect("a policy")
}

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

/// Table I, cell by cell: ours, the paper's, the difference.
pub fn table_one() {
    for (name, rows) in [("imn1", IMN1), ("imn4", IMN4), ("imn12", IMN12)] {
        println!("Table I, {name}: samples/s, V100s and a CPU, segments of 128, {SAMPLES} samples");
        let ensemble = ensemble(name);
        for (gpus, a1, a2) in rows {
            let stage = Stage::new(&ensemble, &format!("sim:v100*{gpus},sim:cpu"));
            let Ok(start) = worst_fit(&stage.frame, &stage.devices, &stage.footprints) else {
                println!("{gpus:>3}  does not fit");
                continue;
            };
            let paper = papers_greedy(&stage, start.clone());
            let found = improve(&stage, &start);
            let ours = [start, found, paper].map(|m| stage.throughput(&m, segment(), SAMPLES));
            let fitted = name == "imn1" && gpus == 1;
            println!(
                "{gpus:>3}  A1 {}  A2 {}  one entry at a time {}{}",
                cell(ours[0], a1),
                cell(ours[1], a2),
                cell(ours[2], a2),
                if fitted { "  fitted" } else { "" }
            );
        }
    }
}

/// Bounded greedy with the paper's bounds, by the model.
fn papers_greedy(stage: &Stage, start: Matrix) -> Matrix {
    let mut evaluator = evaluator(stage);
    let found = greedy(
        start,
        Bounds::default(),
        &mut evaluator,
        &Control::default(),
    );
    found.expect("not cancelled").matrix
}

/// Greedy by the model with moves of two entries and restarts.
fn improve(stage: &Stage, start: &Matrix) -> Matrix {
    let rates = Rates::new(&stage.frame, &stage.costs);
    let room = Room::new(&stage.frame, &stage.devices, &stage.footprints, 0);
    let mut position = Position::new(&rates, room, start);
    let control = Control::default();
    let mut climber = Climber {
        control: &control,
        evaluations: 0,
        steps: 0,
    };
    let summits = climber.climb_all(&mut position, Effort::default());
    position.go_to(&summits.expect("not cancelled")[0].entries);
    position.matrix(&stage.frame).expect("valid")
}

fn evaluator(stage: &Stage) -> ModelEvaluator {
    let footprints = stage.footprints.clone();
    let made = ModelEvaluator::new(&stage.frame, &stage.devices, footprints, &stage.costs);
    made.expect("simulated devices cost what their laws say")
}

fn cell(ours: f64, paper: Option<f64>) -> String {
    match paper {
        Some(paper) => format!(
            "{ours:>6.0} ({paper:>5.0}, {:+4.0} %)",
            100.0 * (ours / paper - 1.0)
        ),
        None => format!("{ours:>6.0} (    -        )"),
    }
}

/// Table III: the best batch size for each member alone on a device of its own, against
/// bounded greedy on as many devices.
pub fn table_three() {
    println!("Table III: best-batch against greedy, samples/s");
    for (name, gpus, bbs, greedy) in [
        ("imn1", 1, 136.0, 136.0),
        ("imn4", 4, 211.0, 251.0),
        ("imn12", 12, 136.0, 338.0),
    ] {
        let stage = Stage::new(&ensemble(name), &format!("sim:v100*{gpus},sim:cpu"));
        let baseline = baseline(&stage);
        let start = worst_fit(&stage.frame, &stage.devices, &stage.footprints).expect("fits");
        let found = improve(&stage, &start);
        let ours = [baseline, found].map(|m| stage.throughput(&m, segment(), SAMPLES));
        println!(
            "{name:>6} on {gpus:>2}: {:>4.0} and {:>4.0}, gain {:.2}; the paper {bbs} and {greedy}, gain {:.2}",
            ours[0],
            ours[1],
            ours[1] / ours[0],
            greedy / bbs
        );
    }
}

fn baseline(stage: &Stage) -> Matrix {
    let alone = |member: usize| {
        let only = Arc::new(stage.ensemble.only(member));
        let alone = Stage::new(&only, "sim:v100");
        Ok(Box::new(evaluator(&alone)) as Box<dyn Evaluator>)
    };
    let control = Control::default();
    let found = best_batch(
        &stage.frame,
        &stage.devices,
        &stage.footprints,
        alone,
        &control,
    );
    found.expect("fits").0
}
