//! Profiles of variants, composed of their members' measurements, and the selection of useful
//! variants.

mod composed;
mod frontier;
mod price;

pub use composed::{BatchPoint, MemberProfile, composed};
pub use frontier::undominated;
pub use price::{DevicePrices, PricesError};
