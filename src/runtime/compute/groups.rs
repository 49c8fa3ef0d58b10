//! Groups the samples of a batch with different lengths.
//!
//! A group runs at one length. More groups pad less, but each reads all weights once, and a product
//! of few rows uses a core badly. The groups of neighbouring lengths with the least total cost are
//! chosen by dynamic programming over the lengths, as the optimal partition of a sequence (Bellman,
//! "Dynamic Programming", 1957).

/// The cost of a group, in floating-point operations or equivalent time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LengthCost {
    /// The cost of a group of any size.
    pub group: f64,
    /// The cost of each of its samples.
    pub sample: f64,
}

/// Samples of a batch that are run together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LengthGroup {
    /// The length that they are run at.
    pub length: usize,
    /// Their positions in the batch.
    pub samples: Vec<usize>,
}

/// Returns the groups of samples with at least these lengths, by position. `cost` returns the cost
/// of a length.
pub fn length_groups(
    samples: &[(usize, usize)],
    cost: impl Fn(usize) -> LengthCost,
) -> Vec<LengthGroup> {
    let mut sorted = samples.to_vec();
    sorted.sort_by_key(|(_, length)| *length);
    let runs: Vec<&[(usize, usize)]> = sorted.chunk_by(|a, b| a.1 == b.1).collect();
    let mut groups: Vec<LengthGroup> = cuts(&runs, cost)
        .windows(2)
        .map(|cut| LengthGroup {
            length: runs[cut[1] - 1][0].1,
            samples: runs[cut[0]..cut[1]].concat().iter().map(|s| s.0).collect(),
        })
        .collect();
    groups.iter_mut().for_each(|group| group.samples.sort());
    groups
}

/// Returns the positions at which runs of samples of one length are cut, with both ends.
fn cuts(runs: &[&[(usize, usize)]], cost: impl Fn(usize) -> LengthCost) -> Vec<usize> {
    // The least cost of the runs before each end, and the beginning of their last group.
    let mut best = vec![(0.0, 0)];
    for end in 1..=runs.len() {
        let LengthCost { group, sample } = cost(runs[end - 1][0].1);
        let mut count = 0;
        let mut least = (f64::INFINITY, end - 1);
        for start in (0..end).rev() {
            count += runs[start].len();
            let total = best[start].0 + group + count as f64 * sample;
            if total < least.0 {
                least = (total, start);
            }
        }
        best.push(least);
    }
    let mut cuts = vec![runs.len()];
    while let Some(&end @ 1..) = cuts.last() {
        cuts.push(best[end].1);
    }
    cuts.reverse();
    cuts
}
