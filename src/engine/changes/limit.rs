//! One limit of a probation, and the tests of whether its count exceeds chance.

use divisi_model::metrics::{LogHistogram, Reading, stats};

use super::judge::{Baseline, Check, Judge, Limited, Terms};

/// A limit of a probation, as a share of the counted requests or samples.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    /// The limited quantity.
    pub what: Limited,
    /// For p99: the latency, in microseconds, above which a request counts as a hit.
    edge: u64,
    /// The value before the change and the limit: microseconds for p99, shares otherwise.
    baseline: Option<f64>,
    limit: f64,
    /// The largest allowed share of hits, including the uncertainty of the baseline.
    allowed: f64,
    /// The overdispersion of hits: the number of hits that count as one because hits cluster.
    dispersion: f64,
    /// The probability of a false alarm during the probation, and again at its end.
    risk: f64,
    /// The sample size that the test needs.
    needed: u64,
}

/// The share of requests above p99, by its definition.
const ABOVE_P99: f64 = 0.01;

/// The smallest excess over the allowed share that the test is sized to detect.
const FOUND: f64 = 0.01;
/// The smallest excess for failures and accuracy, relative to the allowed share, if that is more.
const FOUND_AGAIN: f64 = 0.5;

/// The fewest pieces and hits for an estimate of the dispersion.
const PIECES: usize = 5;
const HITS: u64 = 5;

/// Returns the limits of `terms`. Omits p99 and accuracy if the baseline has too few requests or
/// labelled samples to compare with.
pub(super) fn limits(terms: &Terms, before: &Baseline) -> Vec<Limit> {
    let asked = [terms.p99, terms.failures, terms.accuracy];
    let asked = asked.iter().flatten().count().max(1);
    // A third each for the baseline, the checks during the probation and the final check.
    let risk = Judge::RISK / asked as f64 / 3.0;
    let whole = &before.whole;
    let requests = whole.answered + whole.failed + whole.refused;
    let p99 = terms.p99.filter(|_| whole.answered >= Judge::LEAST);
    let failures = terms.failures;
    let accuracy = terms.accuracy.filter(|_| whole.labelled >= Judge::LEAST);
    let limits = [
        p99.map(|factor| slower(factor, before, risk)),
        failures.map(|more| failing(more, before, requests, risk)),
        accuracy.map(|less| less_right(less, before, risk)),
    ];
    limits.into_iter().flatten().collect()
}

/// Returns the limit on missed goals, with the allowed rise of failures.
pub(super) fn of_goals(terms: &Terms, before: &Baseline) -> Vec<Limit> {
    let queries = before.whole.answered + before.whole.failed;
    let missing = |more| failing(more, before, queries, Judge::RISK / 3.0).of(Limited::Goals);
    terms.failures.map(missing).into_iter().collect()
}

fn slower(factor: f64, before: &Baseline, risk: f64) -> Limit {
    let latency = &before.whole.latency;
    let [p99] = latency.quantiles([0.99]);
    let edge = LogHistogram::edge((p99 as f64 * factor).ceil() as u64);
    let draft = Limit {
        edge,
        ..Limit::draft(Limited::P99, Some(p99 as f64), edge as f64, risk)
    };
    let draft = draft.spread_as(before);
    let bound = draft.bound(before, risk);
    draft.allowing(bound.max(ABOVE_P99))
}

fn failing(more: f64, before: &Baseline, requests: u64, risk: f64) -> Limit {
    let known = requests >= Judge::LEAST;
    let failed = before.whole.failed + before.whole.refused;
    let share = known.then(|| failed as f64 / requests as f64);
    let limit = (share.unwrap_or(0.0) + more).min(1.0);
    let draft = Limit::draft(Limited::Failures, share, limit, risk).spread_as(before);
    // Without a baseline, the allowed rise alone is the limit.
    let bound = if known {
        draft.bound(before, risk)
    } else {
        0.0
    };
    draft.allowing(bound + more)
}

fn less_right(less: f64, before: &Baseline, risk: f64) -> Limit {
    let accuracy = before.whole.right as f64 / before.whole.labelled as f64;
    let limit = (accuracy - less).max(0.0);
    let draft = Limit::draft(Limited::Accuracy, Some(accuracy), limit, risk).spread_as(before);
    let bound = draft.bound(before, risk);
    draft.allowing(bound + less)
}

impl Limit {
    fn draft(what: Limited, baseline: Option<f64>, limit: f64, risk: f64) -> Self {
        Limit {
            what,
            edge: 0,
            baseline,
            limit,
            allowed: 1.0,
            dispersion: 1.0,
            risk,
            needed: 0,
        }
    }

    fn of(self, what: Limited) -> Self {
        Limit { what, ..self }
    }

    /// Returns the number of hits beyond the limit, and the number counted in all.
    fn count(&self, of: &Reading) -> (u64, u64) {
        match self.what {
            Limited::P99 => (of.latency.above(self.edge), of.latency.count()),
            Limited::Failures | Limited::Goals => {
                let failed = of.failed + of.refused;
                (failed, of.answered + failed)
            }
            Limited::Accuracy => (of.labelled.saturating_sub(of.right), of.labelled),
        }
    }

    /// Sets the dispersion: the factor by which counts of pieces vary more than by chance.
    /// Clustered hits cause this (Pearson's statistic over its degrees of freedom).
    fn spread_as(mut self, before: &Baseline) -> Self {
        let counts = before.pieces.iter().map(|piece| self.count(piece));
        let counts: Vec<(u64, u64)> = counts.filter(|(_, of)| *of > 0).collect();
        let all = |pick: fn(&(u64, u64)) -> u64| counts.iter().map(pick).sum::<u64>();
        let (hits, of) = (all(|c| c.0), all(|c| c.1));
        if counts.len() < PIECES || hits < HITS || hits == of {
            return self;
        }
        let share = hits as f64 / of as f64;
        let terms = counts.iter().map(|(k, n)| {
            let expected = *n as f64 * share;
            (*k as f64 - expected).powi(2) / (expected * (1.0 - share))
        });
        self.dispersion = (terms.sum::<f64>() / (counts.len() - 1) as f64).max(1.0);
        self
    }

    /// Returns the upper confidence bound, at `risk`, of the share of hits in the baseline.
    fn bound(&self, before: &Baseline, risk: f64) -> f64 {
        let (hit, of) = self.count(&before.whole);
        stats::share_at_most(self.effective(hit), self.effective(of), risk)
    }

    /// Sets the allowed share of hits, and the sample size that results from it.
    fn allowing(mut self, allowed: f64) -> Self {
        self.allowed = allowed.min(1.0);
        let more = match self.what {
            Limited::P99 => FOUND,
            _ => FOUND.max(self.allowed * FOUND_AGAIN),
        };
        let found = (self.allowed + more).min(1.0);
        let enough = stats::enough(self.allowed, found, self.risk, Judge::POWER);
        let needed = enough.map_or(f64::MAX, |n| n as f64 * self.dispersion);
        self.needed = needed as u64;
        self
    }

    /// Returns a count divided by the dispersion.
    fn effective(&self, count: u64) -> u64 {
        (count as f64 / self.dispersion).round() as u64
    }

    /// Returns whether the limit is exceeded during the probation. The test stays valid however
    /// often it is repeated.
    pub(super) fn is_passed_meanwhile(&self, after: &Reading) -> bool {
        let (hit, of) = self.count(after);
        let (hit, of) = (hit as f64 / self.dispersion, of as f64 / self.dispersion);
        stats::evidence(hit, of, self.allowed) >= 1.0 / self.risk
    }

    /// Returns whether the limit is exceeded by more than chance, tested once at the end.
    pub(super) fn is_passed_at_the_end(&self, after: &Reading) -> bool {
        let (hit, of) = self.count(after);
        let chance = stats::at_least(self.effective(hit), self.effective(of), self.allowed);
        chance <= self.risk || self.is_passed_meanwhile(after)
    }

    /// Returns the state of the limit.
    pub(super) fn check(&self, after: &Reading) -> Check {
        let (beyond, counted) = self.count(after);
        let share = beyond as f64 / counted.max(1) as f64;
        let value = match self.what {
            Limited::P99 => after.latency.quantiles([0.99])[0] as f64,
            Limited::Failures | Limited::Goals => share,
            Limited::Accuracy => 1.0 - share,
        };
        Check {
            what: self.what,
            value: (counted > 0).then_some(value),
            limit: self.limit,
            baseline: self.baseline,
            beyond,
            counted,
            allowed: self.allowed,
            missing: self.needed.saturating_sub(counted),
        }
    }

    /// Returns the reason for rolling back, in words.
    pub(super) fn why(&self, after: &Reading) -> String {
        let check = self.check(after);
        let (value, limit) = (check.value.unwrap_or_default(), self.limit);
        let text = |value: f64| self.what.text(value);
        let before = self.baseline.map_or("not known".into(), text);
        let limit = text(limit);
        let (asked, what) = match self.what {
            // Latencies are counted in buckets, so the limit is the bucket edge above the requested
            // one.
            Limited::P99 => (format!("judged at {limit}"), "are above it"),
            Limited::Failures => (format!("at most {limit} allowed"), "failed"),
            Limited::Goals => (format!("at most {limit} allowed"), "missed one"),
            Limited::Accuracy => (format!("at least {limit} required"), "are wrong"),
        };
        format!(
            "{} {}, {before} before, {asked}: {} of {} {what}; chance explains at most {}",
            self.what.name(),
            text(value),
            check.beyond,
            check.counted,
            self.most(check.counted),
        )
    }

    /// Returns the most hits among `counted` that are still within chance.
    fn most(&self, counted: u64) -> u64 {
        let of = self.effective(counted);
        let most = stats::surprising(of, self.allowed, self.risk).saturating_sub(1);
        (most as f64 * self.dispersion) as u64
    }
}
