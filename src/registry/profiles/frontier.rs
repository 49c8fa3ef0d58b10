//! Selects the variants that no other variant beats.

use divisi_modelless::variants::Variant;

/// Returns the variants that no other variant of the same kind of device beats. A variant beats
/// another one if it is at least as accurate, as cheap per query and as fast with a full batch, and
/// better in one of these. Of equal variants the first one stays. Variants for which `is_kept`
/// returns true always stay. Accuracies are compared in whole rows, so that noise does not rank
/// variants.
///
/// Memory and loading time do not count. A variant that only wins in these would be chosen for them
/// alone, and the slow loop has other variants for that.
pub fn undominated(mut variants: Vec<Variant>, is_kept: impl Fn(&Variant) -> bool) -> Vec<Variant> {
    variants.sort_by(|a, b| {
        let cost = a.query_cost().get().total_cmp(&b.query_cost().get());
        let accuracy = b.accuracy.cmp_rows(a.accuracy);
        a.device
            .cmp(&b.device)
            .then(cost)
            .then(accuracy)
            .then(a.p99().cmp(&b.p99()))
    });
    let mut best: Vec<usize> = Vec::new();
    let mut kept = vec![false; variants.len()];
    for (at, variant) in variants.iter().enumerate() {
        // All earlier variants are at most as expensive.
        let beats = |other: &Variant| {
            other.device == variant.device
                && other.accuracy.cmp_rows(variant.accuracy).is_ge()
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
