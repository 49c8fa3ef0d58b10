//! The fast loop: nanoseconds and allocations of a decision.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use divisi_modelless::accuracy::{AccuracyEstimate, MemberSet};
use divisi_modelless::choice::{TaskChoices, VariantLoad};
use divisi_modelless::goals::{ChoicePreference, LatencyGoal, QueryGoals};
use divisi_modelless::quantities::{Accuracy, CostRate, DeviceShare};
use divisi_modelless::variants::{
    DeviceKindIndex, DeviceSharing, LatencyCurve, ModelIndex, PricedDevice, TaskIndex,
    TaskVariants, Variant, VariantCatalog, VariantIndex, VariantPrecision, VariantProfile,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::allocations;

const DECISIONS: usize = 200_000;

/// Prints the time of a decision among the 175 variants of INFaaS, and among 4 096, of which all
/// run: the most that there is to look through.
pub fn print() {
    println!("| variants | goals | p50 ns | p99 ns | met | refused | allocations |");
    println!("|---|---|---|---|---|---|---|");
    for variants in [175, 4096] {
        for (name, prefer, least) in [
            ("mixed, the cheapest", ChoicePreference::Cheapest, 0.5),
            (
                "mixed, the most accurate",
                ChoicePreference::MostAccurate,
                0.5,
            ),
            (
                "hard: most nearest or refused",
                ChoicePreference::Cheapest,
                0.82,
            ),
        ] {
            measure(variants, name, prefer, least);
        }
    }
}

fn measure(variants: usize, name: &str, prefer: ChoicePreference, least: f64) {
    let mut random = ChaCha8Rng::seed_from_u64(variants as u64);
    let mut choices = loaded(variants, &mut random);
    let goals: Vec<QueryGoals> = (0..4096)
        .map(|_| some_goals(&mut random, prefer, least))
        .collect();
    let mut times = Vec::with_capacity(DECISIONS);
    let (mut met, mut refused) = (0, 0);
    let before = allocations::count();
    for goals in goals.iter().cycle().take(DECISIONS) {
        let start = Instant::now();
        let outcome = black_box(choices.choose(TaskIndex(0), black_box(goals)));
        times.push(start.elapsed().as_nanos() as u64);
        match outcome {
            Ok(chosen) => {
                met += usize::from(chosen.missed.is_none());
                choices.set_load(chosen.variant, some_load(&mut random));
            }
            Err(_) => refused += 1,
        }
    }
    let allocated = allocations::count() - before;
    times.sort_unstable();
    let at = |part: f64| times[(part * (times.len() - 1) as f64) as usize];
    println!(
        "| {variants} | {name} | {} | {} | {:.1} % | {:.1} % | {allocated} |",
        at(0.5),
        at(0.99),
        100.0 * f64::from(met as u32) / DECISIONS as f64,
        100.0 * f64::from(refused as u32) / DECISIONS as f64,
    );
}

fn some_load(random: &mut ChaCha8Rng) -> VariantLoad {
    VariantLoad {
        instances: 1,
        queued: random.random_range(0..20),
        free_in: Duration::from_millis(random.random_range(0..20)),
        slowdown: random.random_range(1.0..1.5),
        ..VariantLoad::INACTIVE
    }
}

/// Goals within the ranges of INFaaS's variants: accuracies of 56.6 to 82.5 %, latencies of 1.5 ms
/// to 5.7 s.
fn some_goals(random: &mut ChaCha8Rng, prefer: ChoicePreference, least: f64) -> QueryGoals {
    let latency = Duration::from_secs_f64(10_f64.powf(random.random_range(-2.8..0.8)));
    QueryGoals {
        accuracy: Accuracy::new(random.random_range(least..0.83)).ok(),
        latency: LatencyGoal::new(latency).ok(),
        prefer,
        ..QueryGoals::default()
    }
}

fn loaded(count: usize, random: &mut ChaCha8Rng) -> TaskChoices {
    let variants = (0..count).map(|_| some_variant(random)).collect();
    let device = PricedDevice {
        name: "device".to_owned(),
        price: CostRate::FREE,
        memory: 0,
    };
    let task = TaskVariants {
        name: "task".to_owned(),
        models: vec!["model".to_owned()],
        variants,
    };
    let catalog = VariantCatalog::new(vec![device], vec![task]).expect("a catalogue");
    let mut choices = TaskChoices::new(catalog);
    for at in 0..count {
        choices.set_load(VariantIndex(at as u32), some_load(random));
    }
    choices
}

fn some_variant(random: &mut ChaCha8Rng) -> Variant {
    let slope = Duration::from_secs_f64(10_f64.powf(random.random_range(-2.8..0.7)));
    let batch = 1 << random.random_range(0..7);
    let latency = LatencyCurve::line(slope / 4, slope, batch, 1.1);
    let accuracy = Accuracy::new(random.random_range(0.566..0.825)).expect("a fraction");
    Variant {
        model: ModelIndex(0),
        members: MemberSet::first(1),
        precision: VariantPrecision::Float32,
        device: DeviceKindIndex(0),
        batch: NonZeroU32::new(batch).expect("above 0"),
        profile: VariantProfile {
            latency: latency.expect("a curve"),
            lanes: NonZeroU32::MIN,
            loading: Duration::from_millis(random.random_range(590..11_000)),
            memory: 0,
            share: DeviceShare::WHOLE,
            sharing: DeviceSharing::Space,
            cost: CostRate::new(random.random_range(0.096..3.06)).expect("a cost"),
        },
        accuracy: AccuracyEstimate::published(accuracy),
    }
}
