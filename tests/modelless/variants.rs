//! Profiles and catalogues: what cannot be is refused, and what is asked is answered.

use std::time::Duration;

use divisi_modelless::quantities::{Accuracy, CostRate};
use divisi_modelless::variants::{
    CatalogError, LatencyCurve, LatencyPoint, VariantCatalog, VariantProfileError,
};
use proptest::prelude::*;

use crate::common::{Sketch, catalog, millis, task};

fn point(batch: u32, mean: f64) -> LatencyPoint {
    LatencyPoint {
        batch,
        mean: millis(mean),
        p99: millis(1.1 * mean),
    }
}

#[test]
fn latency_is_straight_between_points_and_in_proportion_beyond() {
    let curve = LatencyCurve::new(vec![point(2, 10.0), point(6, 30.0)]).expect("a curve");
    let cases = [
        (1, 10.0),
        (2, 10.0),
        (3, 15.0),
        (6, 30.0),
        (7, 60.0),
        (12, 60.0),
    ];
    for (batch, expected) in cases {
        let found = curve.mean(batch).as_secs_f64() * 1e3;
        assert!((found - expected).abs() < 1e-6, "{batch}: {found}");
    }
}

#[test]
fn latencies_that_cannot_be_are_refused() {
    let of = |points: Vec<LatencyPoint>| LatencyCurve::new(points).map(drop);
    assert_eq!(of(vec![]), Err(VariantProfileError::NoPoints));
    assert_eq!(
        of(vec![point(0, 1.0)]),
        Err(VariantProfileError::Point(point(0, 1.0)))
    );
    assert_eq!(
        of(vec![point(1, 0.0)]),
        Err(VariantProfileError::Point(point(1, 0.0)))
    );
    let (high, low) = (point(1, 2.0), point(2, 1.0));
    assert_eq!(
        of(vec![high, low]),
        Err(VariantProfileError::Falls(high, low))
    );
    assert_eq!(
        of(vec![high, high]),
        Err(VariantProfileError::Falls(high, high))
    );
}

#[test]
fn percent_and_fractions_are_not_confused() {
    let refused = Accuracy::new(98.5).expect_err("percent");
    assert_eq!(
        refused.to_string(),
        "accuracy: expected a fraction from 0 to 1 (98.5 % is 0.985), found 98.5"
    );
    assert_eq!(
        Accuracy::percent(98.5).expect("percent").to_string(),
        "98.50 %"
    );
    let refused = Accuracy::percent(985.0).expect_err("too much");
    assert_eq!(
        refused.to_string(),
        "accuracy: expected 0 to 100 %, found 985"
    );
    assert!(CostRate::new(f64::NAN).is_err() && CostRate::new(-1.0).is_err());
}

#[test]
fn catalogues_that_cannot_be_are_refused() {
    let of = |tasks| VariantCatalog::new(vec![], tasks).map(drop);
    assert_eq!(
        of(vec![task("a", &[])]),
        Err(CatalogError::NoVariants("a".into()))
    );
    let device = CatalogError::Device {
        task: "a".into(),
        last: 0,
        found: 0,
    };
    assert_eq!(of(vec![task("a", &[Sketch::default()])]), Err(device));
}

proptest! {
    #[test]
    fn a_catalogue_knows_whose_each_variant_is(sizes in prop::collection::vec(1..5_usize, 1..6)) {
        let named = sizes.iter().enumerate();
        let tasks = named.map(|(at, n)| task(&at.to_string(), &vec![Sketch::default(); *n]));
        let catalog = catalog(1, tasks.collect());
        for index in catalog.tasks() {
            prop_assert_eq!(catalog.range(index).len(), sizes[usize::from(index.0)]);
            for at in catalog.range(index) {
                let variant = divisi_modelless::variants::VariantIndex(at as u32);
                prop_assert_eq!(catalog.task_of(variant), index);
            }
        }
    }

    #[test]
    fn variants_are_in_the_order_of_their_costs(costs in prop::collection::vec(0.0..9.0, 1..9)) {
        let sketches: Vec<Sketch> =
            costs.iter().map(|cost| Sketch { cost: *cost, ..Sketch::default() }).collect();
        let catalog = catalog(1, vec![task("a", &sketches)]);
        let costs = catalog.variants().iter().map(|v| v.query_cost());
        prop_assert!(costs.is_sorted());
    }
}

#[test]
fn saturation_is_full_batches_on_all_lanes() {
    // Variant C of Table 2 of INFaaS: 15 ms, 800 a second.
    let c = Sketch {
        latency_ms: 15.0,
        lanes: 12,
        ..Sketch::default()
    }
    .variant();
    assert!((c.saturation().get() - 800.0).abs() < 1e-9);
    assert_eq!(c.p99(), Duration::from_millis(15));
}
