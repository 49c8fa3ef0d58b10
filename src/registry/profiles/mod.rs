//! Profiles of variants, composed of what their members take, and the variants that are worth it.

mod composed;
mod frontier;
mod price;

pub use composed::{BatchPoint, MemberProfile, composed};
pub use frontier::undominated;
pub use price::{DevicePrices, PricesError};
