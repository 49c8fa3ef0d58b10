//! Prices of devices as operators write them: money per hour.

use std::str::FromStr;

use divisi_modelless::quantities::{CostRate, QuantityError};
use thiserror::Error;

/// The number of seconds in a price's unit of time.
const HOUR: f64 = 3600.0;
/// Default prices, near the cloud prices of a core and a GPU in 2025 (in dollars).
const CORE: f64 = 0.04;
const GPU: f64 = 3.0;

/// The prices of partitions and of GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DevicePrices {
    /// The price of a partition per hour, or `None` for the price of its cores.
    cpu: Option<f64>,
    /// The price of a GPU per hour.
    cuda: Option<f64>,
}

/// A text that is not a price.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "expected a price per device and hour, such as 0.05, or a price for each kind of device, such \
     as cpu=0.05,cuda=3, each from 0 to 1000000, found `{0}`"
)]
pub struct PricesError(String);

impl DevicePrices {
    /// Returns the price of a partition of `cores` cores.
    ///
    /// # Errors
    /// The price is out of range.
    pub fn partition(&self, cores: usize) -> Result<CostRate, QuantityError> {
        CostRate::new(self.cpu.unwrap_or(CORE * cores as f64) / HOUR)
    }

    /// Returns the price of a GPU.
    ///
    /// # Errors
    /// The price is out of range.
    pub fn gpu(&self) -> Result<CostRate, QuantityError> {
        CostRate::new(self.cuda.unwrap_or(GPU) / HOUR)
    }
}

impl FromStr for DevicePrices {
    type Err = PricesError;

    fn from_str(text: &str) -> Result<Self, PricesError> {
        let wrong = || PricesError(text.to_owned());
        let price = |text: &str| {
            let price = text.trim().parse::<f64>().ok();
            price.filter(|p| (0.0..=1e6).contains(p)).ok_or_else(wrong)
        };
        if !text.contains('=') {
            let any = Some(price(text)?);
            return Ok(DevicePrices {
                cpu: any,
                cuda: any,
            });
        }
        let mut prices = DevicePrices::default();
        for part in text.split(',') {
            let (kind, of_kind) = part.split_once('=').ok_or_else(wrong)?;
            let place = match kind.trim() {
                "cpu" => &mut prices.cpu,
                "cuda" => &mut prices.cuda,
                _ => return Err(wrong()),
            };
            if place.replace(price(of_kind)?).is_some() {
                return Err(wrong());
            }
        }
        Ok(prices)
    }
}
