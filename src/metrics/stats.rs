//! Median, spread and confidence intervals of a few figures.

/// 97.5 % quantiles of Student's t for 1, 2, … degrees of freedom.
const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// Returns the median: the middle value, or the mean of the two in the middle; 0 of none.
pub fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match (sorted.len() % 2, sorted.get(middle)) {
        (_, None) => 0.0,
        (1, Some(value)) => *value,
        (_, Some(upper)) => f64::midpoint(sorted[middle - 1], *upper),
    }
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Returns the value below which a share `q` of them lies (the nearest rank); 0 of none.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let sorted = sorted(values);
    let at = (sorted.len().saturating_sub(1) as f64 * q).round() as usize;
    sorted.get(at).copied().unwrap_or(0.0)
}

/// Returns the relative standard deviation (of a sample: n − 1); 0 of fewer than two.
pub fn rsd(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (squares / (n - 1.0)).sqrt() / mean
}

/// Returns the half-width of a 95 % interval, in standard errors, of a mean of `figures`
/// values. It is infinite for one, since that says nothing about its error.
pub fn t95(figures: usize) -> f64 {
    match figures {
        0 | 1 => f64::INFINITY,
        n => match T.get(n - 2) {
            Some(t) => *t,
            // Within 0.1 % beyond 30 degrees of freedom.
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
