//! Unit tests of `src/tasks/routing/costs.rs`.

use divisi_modelless::quantities::{CostRate, QuantityError};

use super::super::counts::VariantName;
use super::super::tally::VariantTally;
use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn core(price_an_hour: f64) -> Result<[PricedDevice; 1], QuantityError> {
    Ok([PricedDevice {
        name: "1 core".to_owned(),
        price: CostRate::new(price_an_hour / 3600.0)?,
        memory: 0,
    }])
}

/// The default price of a core.
fn paying() -> Result<PaidCosts, QuantityError> {
    let (mut paid, kinds) = (PaidCosts::default(), ["1 core", "1 core", "a GPU"]);
    paid.pay(
        Duration::ZERO,
        kinds.map(str::to_owned).into_iter(),
        &core(0.04)?,
    );
    Ok(paid)
}

#[test]
fn two_cores_at_the_default_price_cost_22_millionths_a_second() -> Result<(), QuantityError> {
    let mut paid = paying()?;
    let cost = paid.until(SECOND)["1 core"];
    assert!((2.2e-5..2.3e-5).contains(&cost), "{cost}");
    // A GPU without a registered price is not counted.
    assert_eq!(paid.until(SECOND).len(), 1);
    // Another price applies from then on.
    paid.pay(SECOND, ["1 core".to_owned()].into_iter(), &core(3600.0)?);
    let later = paid.until(3 * SECOND)["1 core"];
    assert!((later - cost - 2.0).abs() < 1e-9, "{later}");
    Ok(())
}

fn answered(task: &str, samples: u64, cost: f64) -> (VariantName, VariantTally) {
    let name = VariantName {
        task: task.to_owned(),
        entry: format!("{task}.f32.all"),
        batch: 8,
    };
    let tally = VariantTally {
        samples,
        cost,
        ..VariantTally::default()
    };
    (name, tally)
}

#[test]
fn queries_share_the_price_of_the_devices_in_the_window() {
    let mut window = CostWindow::default();
    for second in 0..200_u32 {
        // Two queries a second of `a`, and one of `b` that costs twice as much.
        let samples = u64::from(second);
        let cost = f64::from(second) * 1e-9;
        let variants = [
            answered("a", 2 * samples, cost),
            answered("b", samples, cost),
            answered("c", 0, 0.0),
        ];
        let counts = TaskCounts {
            variants: variants.into(),
            ..TaskCounts::default()
        };
        window.add(second * SECOND, f64::from(second) * 1e-3, &counts);
    }
    let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-9;
    let cost = |task: &str| window.cost(task);
    let a = cost("a");
    let is_right = |a: TaskCost| near(a.paid, 250.0) && near(a.saturated, 5e-4);
    assert!(a.is_some_and(is_right), "{a:?}");
    assert_eq!(a.map(|a| a.window), Some(COST_WINDOW));
    let b = cost("b").map(|b| b.paid);
    assert!(b.is_some_and(|paid| near(paid, 500.0)), "{b:?}");
    assert_eq!(cost("c"), None, "it was not asked");
}
