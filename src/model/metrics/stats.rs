//! Statistics: median, spread and confidence intervals of a few figures, and exact binomial bounds
//! on counted shares.

/// 97.5 % quantiles of Student's t for 1, 2, … degrees of freedom.
const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// Returns the median: the middle value, or the mean of the two middle values. Returns 0 without
/// values.
pub fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match (sorted.len() % 2, sorted.get(middle)) {
        (_, None) => 0.0,
        (1, Some(value)) => *value,
        (_, Some(upper)) => f64::midpoint(sorted[middle - 1], *upper),
    }
}

/// Splits the values into `runs` consecutive runs, and returns the median of the runs' largest
/// values. Returns 0 without values. A short peak affects only one run.
pub fn usual_largest(values: &[f64], runs: usize) -> f64 {
    let length = values.len().div_ceil(runs.max(1)).max(1);
    let largest = |run: &[f64]| run.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    median(&values.chunks(length).map(largest).collect::<Vec<_>>())
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Returns the quantile `q` by nearest rank. Returns 0 without values.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let sorted = sorted(values);
    let at = (sorted.len().saturating_sub(1) as f64 * q).round() as usize;
    sorted.get(at).copied().unwrap_or(0.0)
}

/// Returns the relative standard deviation (of a sample: n − 1). Returns 0 for fewer than two
/// values.
pub fn rsd(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (squares / (n - 1.0)).sqrt() / mean
}

/// Returns the half-width of the 95 % interval of a mean of `figures` values, in standard errors.
/// It is infinite for one value, which has no error estimate.
pub fn t95(figures: usize) -> f64 {
    match figures {
        0 | 1 => f64::INFINITY,
        n => match T.get(n - 2) {
            Some(t) => *t,
            // Accurate to 0.1 % beyond 30 degrees of freedom.
            None => 1.96 + 2.4 / (n - 1) as f64,
        },
    }
}

/// Returns the mean of some figures and its standard error, 0 for fewer than two.
pub fn mean_and_error(figures: &[f64]) -> (f64, f64) {
    let n = figures.len() as f64;
    let mean = figures.iter().sum::<f64>() / n.max(1.0);
    let squares: f64 = figures.iter().map(|f| (f - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0).max(1.0) / n.max(1.0)).sqrt())
}

/// Returns the probability of at least `k` hits in `n` trials of probability `p`.
pub fn at_least(k: u64, n: u64, p: f64) -> f64 {
    match k {
        0 => 1.0,
        k if k > n || p <= 0.0 => 0.0,
        _ if p >= 1.0 => 1.0,
        k if (k as f64) < n as f64 * p => 1.0 - at_most(k - 1, n, p),
        k => {
            let odds = p / (1.0 - p);
            let ratio = |i: u64| (n - i) as f64 / (i + 1) as f64 * odds;
            sum(ln_mass(k, n, p), (k..n).map(ratio))
        }
    }
}

/// Returns the probability of at most `k` hits in `n` trials of probability `p`.
pub fn at_most(k: u64, n: u64, p: f64) -> f64 {
    match k {
        k if k >= n || p <= 0.0 => 1.0,
        _ if p >= 1.0 => 0.0,
        k if k as f64 > n as f64 * p => 1.0 - at_least(k + 1, n, p),
        k => {
            let odds = (1.0 - p) / p;
            let ratio = |i: u64| i as f64 / (n - i + 1) as f64 * odds;
            sum(ln_mass(k, n, p), (1..=k).rev().map(ratio))
        }
    }
}

/// Returns Clopper and Pearson's upper bound on a share with `k` hits of `n`. The share exceeds the
/// bound with probability `risk`. Returns 1 if nothing was counted.
pub fn share_at_most(k: u64, n: u64, risk: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    let (mut low, mut high) = (k as f64 / n as f64, 1.0);
    // More steps than a double has bits.
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        match at_most(k, n, middle) > risk {
            true => low = middle,
            false => high = middle,
        }
    }
    high
}

/// Returns the minimum number of hits in `n` trials of probability `p` that chance reaches with
/// probability `risk` at most.
pub fn surprising(n: u64, p: f64, risk: f64) -> u64 {
    let (mut low, mut high) = (0, n + 1);
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        match at_least(middle, n, p) <= risk {
            true => high = middle,
            false => low = middle,
        }
    }
    high
}

/// Returns the number of trials that distinguish a share `found` from `allowed` with probability
/// `power` and an error probability of at most `risk`. Returns `None` if more than a hundred
/// million trials are needed.
pub fn enough(allowed: f64, found: f64, risk: f64, power: f64) -> Option<u64> {
    let tells = |n: u64| at_least(surprising(n, allowed, risk), n, found) >= power;
    let mut high = 16u64;
    while !tells(high) {
        high *= 2;
        if high > 100_000_000 {
            return None;
        }
    }
    let mut low = high / 2;
    // Whole numbers make the power rise in small steps, so an accuracy of a hundredth is
    // sufficient.
    while high - low > (high / 100).max(1) {
        let middle = low + (high - low) / 2;
        match tells(middle) {
            true => high = middle,
            false => low = middle,
        }
    }
    Some(high)
}

/// Returns the evidence in `hit` of `counted` for a share above `allowed`: the likelihood ratio of
/// a mixture of larger shares to `allowed`.
///
/// If the share is not larger, the evidence exceeds `1 / risk` with probability `risk` at most,
/// even if it is computed repeatedly while counting (Ville's inequality).
pub fn evidence(hit: f64, counted: f64, allowed: f64) -> f64 {
    if allowed <= 0.0 || allowed >= 1.0 {
        return if allowed <= 0.0 && hit > 0.0 {
            f64::INFINITY
        } else {
            0.0
        };
    }
    let odds = allowed / (1.0 - allowed);
    let ratio = |times: f64| {
        let other = odds * times / (1.0 + odds * times);
        let hits = hit * (other / allowed).ln();
        (hits + (counted - hit) * ((1.0 - other) / (1.0 - allowed)).ln()).exp()
    };
    TIMES.iter().map(|&times| ratio(times)).sum::<f64>() / TIMES.len() as f64
}

/// The odds ratios of the larger shares to the allowed share.
const TIMES: [f64; 6] = [1.5, 2.0, 3.0, 5.0, 10.0, 30.0];

/// Sums a series from its first term and the ratios of successive terms.
fn sum(ln_first: f64, ratios: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut term) = (1.0, 1.0);
    for ratio in ratios {
        term *= ratio;
        sum += term;
        if term < sum * 1e-17 {
            break;
        }
    }
    (ln_first.exp() * sum).min(1.0)
}

/// Returns the logarithm of the probability of exactly `k` hits in `n` trials.
fn ln_mass(k: u64, n: u64, p: f64) -> f64 {
    let choose = ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k);
    choose + k as f64 * p.ln() + (n - k) as f64 * (-p).ln_1p()
}

/// Returns the logarithm of `n!`, by Stirling's series if it is as exact as a double.
fn ln_factorial(n: u64) -> f64 {
    if n < 32 {
        return (2..=n).map(|i| (i as f64).ln()).sum();
    }
    let x = n as f64;
    let series = 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3)) + 1.0 / (1260.0 * x.powi(5));
    (x + 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series
}
