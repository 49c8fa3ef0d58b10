//! The variants that no other one beats.

use divisi_modelless::variants::Variant;

/// Returns the variants that no other one of their kind of device beats: is at least as accurate, at
/// least as cheap a query and at least as soon with a full batch, and better in one of these. Of
/// equal ones the first stays. Those that `is_kept` says stay whatever others are.
///
/// Memory and loading do not count: a variant that is worse in all that queries ask for would be
/// chosen for them alone, which the slow loop has others for.
pub fn undominated(mut variants: Vec<Variant>, is_kept: impl Fn(&Variant) -> bool) -> Vec<Variant> {
    variants.sort_by(|a, b| {
        let cost = a.query_cost().get().total_cmp(&b.query_cost().get());
        let accuracy = accuracy(b).total_cmp(&accuracy(a));
        a.device
            .cmp(&b.device)
            .then(cost)
            .then(accuracy)
            .then(a.p99().cmp(&b.p99()))
    });
    let mut best: Vec<usize> = Vec::new();
    let mut kept = vec![false; variants.len()];
    for (at, variant) in variants.iter().enumerate() {
        // Those before it are no dearer.
        let beats = |other: &Variant| {
            other.device == variant.device
                && accuracy(other) >= accuracy(variant)
                && other.p99() <= variant.p99()
        };
        let is_beaten = best.iter().any(|other| beats(&variants[*other]));
        if !is_beaten {
            best.push(at);
        }
        kept[at] = !is_beaten || is_kept(variant);
    }
    let both = variants.into_iter().zip(kept);
    both.filter_map(|(variant, kept)| kept.then_some(variant))
        .collect()
}

fn accuracy(variant: &Variant) -> f64 {
    variant.accuracy.value().get()
}
