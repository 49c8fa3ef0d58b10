//! Numbers with a unit and a range. Values outside of the range cannot be constructed or
//! deserialized.

mod money;
mod share;
mod written;

use std::fmt;

use thiserror::Error;

pub use money::{CostRate, QueryCost, QueryRate};
pub use share::DeviceShare;
pub use written::{COST_QUERIES, significant};

/// A number out of range.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{quantity}: expected {range}, found {found}")]
pub struct QuantityError {
    /// The name of the quantity.
    pub quantity: &'static str,
    /// The range in words, with its unit.
    pub range: &'static str,
    /// The number found.
    pub found: f64,
}

impl QuantityError {
    /// Returns the stable code of the refusal.
    pub const fn code(&self) -> &'static str {
        "quantity_out_of_range"
    }
}

/// Declares a number from `least` to `most`. Serde reads it as a number and checks it.
macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident = $least:expr, $most:expr, $words:literal, $range:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "f64", into = "f64")]
        pub struct $name(f64);

        impl $name {
            /// Creates the quantity.
            ///
            /// # Errors
            /// Returns an error if the number is out of range or NaN.
            pub fn new(value: f64) -> Result<Self, $crate::quantities::QuantityError> {
                if ($least..=$most).contains(&value) {
                    // Removes the sign of zero, so that equal numbers have the same bits.
                    return Ok($name(value + 0.0));
                }
                Err($crate::quantities::QuantityError {
                    quantity: $words,
                    range: $range,
                    found: value,
                })
            }

            /// Returns the number.
            pub const fn get(self) -> f64 {
                self.0
            }
        }

        impl TryFrom<f64> for $name {
            type Error = $crate::quantities::QuantityError;

            fn try_from(value: f64) -> Result<Self, Self::Error> {
                Self::new(value)
            }
        }

        impl From<$name> for f64 {
            fn from(value: $name) -> f64 {
                value.0
            }
        }
    };
}

pub(crate) use quantity;

quantity! {
    /// The share of correctly answered queries: a fraction, shown in percent.
    Accuracy = 0.0, 1.0, "accuracy", "a fraction from 0 to 1 (98.5 % is 0.985)"
}

impl Accuracy {
    /// No correct answers.
    pub const NONE: Accuracy = Accuracy(0.0);

    /// Creates an accuracy from percent.
    ///
    /// # Errors
    /// Returns an error if the number is not from 0 to 100. The error shows the original number.
    pub fn percent(percent: f64) -> Result<Self, QuantityError> {
        Self::new(percent / 100.0).map_err(|why| QuantityError {
            range: "0 to 100 %",
            found: percent,
            ..why
        })
    }
}

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} %", 100.0 * self.0)
    }
}
