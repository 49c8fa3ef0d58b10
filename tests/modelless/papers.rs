//! Tables 2 and 3 of INFaaS: the cheapest instances by its integer programme.

use divisi_modelless::policies::{CoverItem, SLACK, cheapest_cover};
use proptest::prelude::*;

use crate::common::{demand, millis, table_two};

/// The instances of A, B and C that serve a rate within a goal, and their cost.
fn cheapest(rate: f64, latency_ms: f64, slack: f64) -> ([u32; 3], f64) {
    let asked = demand(0, rate, latency_ms, 1.0);
    let variants = table_two().map(|sketch| sketch.variant());
    let items = variants.clone().map(|variant| CoverItem {
        rate: variant.saturation().get(),
        cost: variant.profile.cost.get(),
        most: if asked.suits(&variant) { u32::MAX } else { 0 },
    });
    let counts = cheapest_cover(&items, rate * slack).expect("devices without end");
    let cost = items
        .iter()
        .zip(&counts)
        .map(|(item, n)| item.cost * f64::from(*n))
        .sum();
    (counts.try_into().expect("three"), cost)
}

#[test]
fn table_two_is_what_the_variants_do() {
    let expected = [(200.0, 5.0), (20.0, 100.0), (15.0, 800.0)];
    for (sketch, (latency, rate)) in table_two().into_iter().zip(expected) {
        let variant = sketch.variant();
        assert_eq!(variant.p99(), millis(latency));
        assert!((variant.saturation().get() - rate).abs() < 1e-9);
    }
}

#[test]
fn table_three_is_the_cheapest_without_slack() {
    assert_eq!(cheapest(10.0, 300.0, 1.0), ([2, 0, 0], 2.0));
    assert_eq!(cheapest(10.0, 50.0, 1.0), ([0, 1, 0], 3.0));
    assert_eq!(cheapest(1000.0, 300.0, 1.0), ([0, 2, 1], 22.0));
}

#[test]
fn with_the_papers_slack_of_a_twentieth_it_costs_3_3_and_25() {
    assert_eq!(cheapest(10.0, 300.0, SLACK).1, 3.0);
    assert_eq!(cheapest(10.0, 50.0, SLACK), ([0, 1, 0], 3.0));
    assert_eq!(cheapest(1000.0, 300.0, SLACK), ([0, 3, 1], 25.0));
}

proptest! {
    #[test]
    fn a_cover_is_the_cheapest_of_all(
        items in prop::collection::vec((1..9_u32, 0..9_u32, 0..5_u32), 1..5),
        rate in 0..40_u32,
    ) {
        let items: Vec<CoverItem> = items
            .into_iter()
            .map(|(rate, cost, most)| CoverItem { rate: rate.into(), cost: cost.into(), most })
            .collect();
        let cost = |counts: &[u32], of: fn(&CoverItem) -> f64| -> f64 {
            items.iter().zip(counts).map(|(item, n)| of(item) * f64::from(*n)).sum()
        };
        let mut best: Option<f64> = None;
        let mut counts = vec![0; items.len()];
        loop {
            if cost(&counts, |i| i.rate) >= f64::from(rate) {
                let dear = cost(&counts, |i| i.cost);
                best = Some(best.map_or(dear, |b| b.min(dear)));
            }
            let Some(at) = (0..items.len()).find(|at| counts[*at] < items[*at].most) else { break };
            counts[..at].fill(0);
            counts[at] += 1;
        }
        let found = cheapest_cover(&items, rate.into());
        prop_assert_eq!(found.map(|counts| cost(&counts, |i| i.cost)), best);
    }
}
