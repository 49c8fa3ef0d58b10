//! The accuracy of every sub-ensemble, counted.

use std::time::Instant;

use divisi_modelless::accuracy::{ClassRule, ReferenceRows, ScoreTable, count_all};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const MEMBERS: usize = 12;
const CLASSES: usize = 10;
const ROWS: usize = 1000;

/// Prints the time of all 4 095 sub-ensembles of 12 members on 1 000 rows of 10 classes, by rule.
pub fn print() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let labels: Vec<u32> = (0..ROWS).map(|_| random.random_range(0..10)).collect();
    let mut scores = Vec::with_capacity(MEMBERS * ROWS * CLASSES);
    for _ in 0..MEMBERS {
        for label in &labels {
            let row = (0..CLASSES as u32).map(|class| {
                let right = if class == *label { 0.4 } else { 0.0 };
                random.random_range(0.0..1.0_f32) + right
            });
            scores.extend(row);
        }
    }
    let table = ScoreTable::new(MEMBERS, CLASSES, scores, labels).expect("a table");
    let weights = (1..=MEMBERS).map(|m| m as f64).collect();
    println!("| rule | sub-ensembles | seconds | all members | best |");
    println!("|---|---|---|---|---|");
    for rule in [
        ClassRule::Average,
        ClassRule::WeightedAverage(weights),
        ClassRule::MajorityVote,
        class_weighted(&table),
    ] {
        let start = Instant::now();
        let whole = ReferenceRows::classify(&table, &rule).expect("weights that fit");
        let counts = count_all(&table, &rule, &whole).expect("few members");
        let seconds = start.elapsed().as_secs_f64();
        let (sets, best) = counts
            .iter()
            .fold((0, 0), |(n, best), (_, right)| (n + 1, best.max(right)));
        let all = counts.iter().last().map_or(0, |(_, right)| right);
        println!(
            "| {} | {sets} | {seconds:.3} | {all} of {ROWS} | {best} |",
            rule.name()
        );
    }
}

/// Returns the vote whose weights are the precision of each member for each class on the rows of a
/// table (with half a correct row added to each side, so that no weight is 0).
fn class_weighted(table: &ScoreTable) -> ClassRule {
    let mut rows = vec![vec![(0.5, 1.0); table.classes()]; table.members()];
    for (member, counts) in rows.iter_mut().enumerate() {
        for row in 0..table.rows() {
            let scores = table.scores(member, row).iter().enumerate();
            let likeliest = scores.rev().max_by(|a, b| a.1.total_cmp(b.1));
            let class = likeliest.map_or(0, |(class, _)| class);
            counts[class].0 += f64::from(u8::from(class == table.label(row)));
            counts[class].1 += 1.0;
        }
    }
    let weights = rows.into_iter();
    let weights = weights.map(|row| row.into_iter().map(|(right, all)| right / all).collect());
    ClassRule::ClassWeightedVote(weights.collect())
}
