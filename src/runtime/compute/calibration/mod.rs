//! Calibrations: the ranges of a network's values, the layers that stay in float32, and the
//! corrections of biases for rounding errors. They are found by running the network over samples.
//!
//! Values and nodes are those of a [`Graph`](crate::network::Graph): value 0 is the input, node `i`
//! makes value `i + 1`.

mod calibrate;
mod compare;
mod digest;
mod entropy;
mod error;
mod fake;
mod file;
mod histogram;
mod kept;
mod method;
mod observe;
mod observer;
mod range;
mod ranges;
mod rows;

pub use calibrate::{CalibratedNetwork, CalibrationOptions, LayerCost, calibrate};
pub use compare::{ComparedAnswers, SignalAndNoise};
pub use digest::NetworkDigest;
pub use error::CalibrationError;
pub use kept::{KeptLayers, most_cost};
pub use method::{Percentile, RangeMethod};
pub use observer::{NotFiniteNumber, RangeObserver};
pub(super) use range::byte_step;
pub use range::{MOST_BYTE, ValueRange};
pub use ranges::{Calibration, is_weighted};
pub use rows::CalibrationRows;
