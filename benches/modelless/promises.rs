//! The accuracy that a registration promises, against other rows. By hand:
//!
//! `cargo bench -p divisi-registry --bench promises [-- SPLITS]`
//!
//! The labelled rows of `digits` are split at random into halves, 24 times by default. The first
//! half is registered and a goal chooses the cheapest variant that promises it. The second half
//! shows whether the variant keeps the goal.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a program run by hand"
)]

use std::path::Path;
use std::sync::Arc;

use divisi_engine::search::Control;
use divisi_engine::search::precisions::{MeasuredMembers, PrecisionTrial};
use divisi_engine::serving::NetworkFactory;
use divisi_model::catalogue::Demand;
use divisi_model::ensemble::{Ensemble, Files};
use divisi_modelless::accuracy::{AccuracyEstimate, MemberSet};
use divisi_modelless::variants::VariantPrecision::{BrainFloat, Float32, Int8};
use divisi_registry::counts::{CountedEnsemble, count_sub_ensembles, set_of, voters};
use divisi_registry::registration::member_precision;
use divisi_runtime::device::{DeviceIndex, Devices, Host, MemberIndex};

const GOALS: [f64; 5] = [0.95, 0.97, 0.985, 0.99, 0.9933];
const SPLITS: u32 = 24;

/// The answers of all members in all precisions, and the cost of each member.
struct Answers {
    ensemble: Arc<Ensemble>,
    labels: Vec<usize>,
    precisions: Vec<MeasuredMembers>,
}

/// A sub-ensemble in one precision, registered on some rows.
struct Candidate {
    cost: f64,
    is_whole: bool,
    accuracy: AccuracyEstimate,
}

/// A way to promise an accuracy.
#[derive(Clone, Copy)]
enum PromiseRule {
    /// The count on the rows that also selected the variant.
    Counted,
    /// One half of the rows selects variants, the other half counts them.
    TwoParts,
    /// The rule of registrations.
    Promised,
    /// Always the whole ensemble.
    Whole,
}

#[derive(Default)]
struct Outcome {
    refused: u32,
    below: u32,
    broken: u32,
    chosen: u32,
    /// The sum of the logarithms of cost over the cheapest variant that qualifies on all rows.
    log_cost: f64,
}

fn main() {
    let asked = std::env::args().skip(1).find_map(|text| text.parse().ok());
    let splits = asked.unwrap_or(SPLITS);
    let answers = Answers::measure();
    println!("| rule | goal | cases | refused | below the goal | significantly below | cost |");
    println!("|---|---|---|---|---|---|---|");
    let rules = [
        ("counted on the same rows", PromiseRule::Counted),
        ("one half selects, the other counts", PromiseRule::TwoParts),
        ("promised (used)", PromiseRule::Promised),
        ("always the whole ensemble", PromiseRule::Whole),
    ];
    for (name, rule) in rules {
        for goal in GOALS {
            let found = answers.outcome(rule, goal, splits);
            let cost = (found.log_cost / f64::from(found.chosen.max(1))).exp();
            println!(
                "| {name} | {:.2} % | {splits} | {} | {} | {} | {cost:.1} x |",
                100.0 * goal,
                found.refused,
                found.below,
                found.broken
            );
        }
    }
}

impl Answers {
    fn measure() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sample_ensembles/digits");
        let ensemble = Arc::new(Ensemble::read(&Files::from_path(&root)).expect("the sample"));
        let samples = ensemble.calibration.clone().expect("labelled rows");
        let demand = Demand::from_ensemble(Arc::clone(&ensemble));
        let devices = Devices::from_names(&["cpu:0".to_owned()], &Host::discover());
        let devices = devices.expect("a core");
        let trial = PrecisionTrial {
            demand: &demand,
            devices: &devices,
            factory: Arc::new(NetworkFactory::new(Arc::clone(&ensemble))),
            samples: &samples,
            cache: None,
            control: &Control::default(),
        };
        let precisions = [Float32, BrainFloat, Int8].map(|precision| {
            let measured = trial.measure(member_precision(precision));
            measured.expect("the networks run")
        });
        Answers {
            labels: trial.labels().expect("classes"),
            precisions: precisions.into(),
            ensemble,
        }
    }

    /// Plays a goal against random halves of the rows.
    fn outcome(&self, rule: PromiseRule, goal: f64, splits: u32) -> Outcome {
        let mut random = 24;
        let mut rows: Vec<usize> = (0..self.labels.len()).collect();
        let all = self.candidates(&rows);
        let fair = cheapest(&all, |c| counted(c) >= goal).map(|at| all[at].cost);
        let mut outcome = Outcome::default();
        for _ in 0..splits {
            shuffle(&mut rows, &mut random);
            let (registered, other) = rows.split_at(rows.len() / 2);
            let Some(at) = self.choice(rule, goal, registered) else {
                outcome.refused += 1;
                continue;
            };
            let kept = self.candidates(other)[at].accuracy;
            let kept = AccuracyEstimate::counted(right(kept), other.len() as u32);
            let kept = kept.expect("rows");
            let high = kept.interval().expect("counted").high.get();
            outcome.chosen += 1;
            outcome.below += u32::from(kept.value().get() < goal);
            outcome.broken += u32::from(high < goal);
            outcome.log_cost += fair.map_or(0.0, |fair| (all[at].cost / fair).ln());
        }
        outcome
    }

    /// Returns the candidate that a goal chooses after a registration of some rows.
    fn choice(&self, rule: PromiseRule, goal: f64, rows: &[usize]) -> Option<usize> {
        if let PromiseRule::TwoParts = rule {
            let (first, second) = rows.split_at(rows.len() / 2);
            let (selecting, counting) = (self.candidates(first), self.candidates(second));
            let kept = frontier(&selecting);
            let counts = counting.iter().enumerate();
            let mut counts = counts.filter(|(at, _)| kept.contains(at));
            return counts
                .by_ref()
                .filter(|(_, c)| counted(c) >= goal)
                .min_by(|(_, a), (_, b)| a.cost.total_cmp(&b.cost))
                .map(|(at, _)| at);
        }
        let all = self.candidates(rows);
        cheapest(&all, |c| match rule {
            PromiseRule::Promised => c.accuracy.value().get() >= goal,
            PromiseRule::Whole => c.is_whole && counted(c) >= goal,
            _ => counted(c) >= goal,
        })
    }

    /// Registers some rows. The candidates always have the same order.
    fn candidates(&self, rows: &[usize]) -> Vec<Candidate> {
        let width = self.ensemble.answer_width();
        let labels: Vec<usize> = rows.iter().map(|row| self.labels[*row]).collect();
        let whole = set_of(&voters(&self.ensemble.combination()));
        let mut first: Option<CountedEnsemble> = None;
        let mut candidates = Vec::new();
        for measured in &self.precisions {
            let members = measured.rows.iter().map(|scores| {
                let of_row = |row: &usize| scores[row * width..][..width].to_vec();
                rows.iter().flat_map(of_row).collect::<Vec<f32>>()
            });
            let members: Vec<Vec<f32>> = members.collect();
            let reference = first.as_ref().map(|first| &first.whole);
            let counts = count_sub_ensembles(&self.ensemble, &members, &labels, reference);
            let counts = counts.expect("counts");
            let is_first = first.is_none();
            candidates.extend(counts.members.iter().map(|(set, accuracy)| Candidate {
                cost: self.cost(measured, *set),
                is_whole: is_first && *set == whole,
                accuracy: *accuracy,
            }));
            first.get_or_insert(counts);
        }
        candidates
    }

    /// Returns the seconds per row of a sub-ensemble in the best batch size.
    fn cost(&self, measured: &MeasuredMembers, set: MemberSet) -> f64 {
        let sizes = || self.ensemble.batch_sizes.iter().map(|size| size.get());
        let of_size = |size: usize| {
            let seconds = set.members().map(|member| {
                let (member, device) = (MemberIndex::new(member), DeviceIndex::new(0));
                measured.profiles.costs.alone(member, device, size).occupied
            });
            seconds.sum::<f64>() / size as f64
        };
        sizes().map(of_size).fold(f64::INFINITY, f64::min)
    }
}

fn counted(candidate: &Candidate) -> f64 {
    candidate.accuracy.counted_value().map_or(0.0, |a| a.get())
}

fn right(accuracy: AccuracyEstimate) -> u32 {
    let share = accuracy.counted_value().map_or(0.0, |a| a.get());
    (share * f64::from(accuracy.rows().unwrap_or(0))).round() as u32
}

fn cheapest(all: &[Candidate], meets: impl Fn(&Candidate) -> bool) -> Option<usize> {
    let meeting = all.iter().enumerate().filter(|(_, c)| meets(c));
    let cheapest = meeting.min_by(|(_, a), (_, b)| a.cost.total_cmp(&b.cost));
    cheapest.map(|(at, _)| at)
}

/// Returns the candidates that no cheaper one reaches in counted accuracy, and the whole ensemble.
fn frontier(all: &[Candidate]) -> Vec<usize> {
    let is_beaten = |candidate: &Candidate| {
        let cheaper = all.iter().filter(|other| other.cost < candidate.cost);
        cheaper
            .map(counted)
            .any(|other| other >= counted(candidate))
    };
    let each = all.iter().enumerate();
    let kept = each.filter(|(_, c)| c.is_whole || !is_beaten(c));
    kept.map(|(at, _)| at).collect()
}

/// Shuffles rows (Fisher and Yates) with the numbers of SplitMix64 (Steele et al., OOPSLA 2014).
fn shuffle(rows: &mut [usize], state: &mut u64) {
    for last in (1..rows.len()).rev() {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = *state;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^= number >> 31;
        rows.swap(last, (number % (last as u64 + 1)) as usize);
    }
}
