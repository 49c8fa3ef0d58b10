//! Numbers and times that are checked regardless of their source: typed, read from a file or
//! received over a socket. A value out of range cannot be constructed.

use std::time::Duration;

use thiserror::Error;

use divisi_runtime::words;

/// A value out of range.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("expected {range}, found {found}")]
pub struct OutOfRange {
    /// The range as text, with its unit.
    pub range: String,
    /// The value as shown.
    pub found: String,
}

/// A field with a value out of range.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{field}: {why}")]
pub struct FieldOutOfRange {
    /// The field's name.
    pub field: &'static str,
    /// The range, and the value.
    pub why: OutOfRange,
}

/// A value as messages show it.
pub trait Shown {
    /// Returns the text.
    fn shown(&self) -> String;
}

impl Shown for f64 {
    fn shown(&self) -> String {
        words::number(*self)
    }
}

impl Shown for u32 {
    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Shown for Duration {
    fn shown(&self) -> String {
        format!("{self:?}")
    }
}

/// Declares a type for the values from `least` to `most`. Deserialising a value checks it as `new`
/// does. `range` is the format of the two limits in messages, for instance `"{} to {} times"`.
#[macro_export]
macro_rules! ranged {
    ($(#[$doc:meta])* $name:ident($inner:ty) = $least:expr, $most:expr, $range:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
        pub struct $name($inner);

        impl $name {
            /// The smallest allowed value.
            pub const LEAST: Self = $name($least);
            /// The largest allowed value.
            pub const MOST: Self = $name($most);

            /// Creates a value in the range.
            ///
            /// # Errors
            /// The value is out of range.
            pub fn new(value: $inner) -> Result<Self, $crate::ranged::OutOfRange> {
                use $crate::ranged::Shown;
                let (least, most): ($inner, $inner) = ($least, $most);
                if (least..=most).contains(&value) {
                    return Ok($name(value));
                }
                let (least, most) = (least.shown(), most.shown());
                Err($crate::ranged::OutOfRange {
                    range: format!($range, least, most),
                    found: value.shown(),
                })
            }

            /// Returns the value of the range nearest to `value`, or the smallest value for NaN.
            pub fn nearest(value: $inner) -> Self {
                match value {
                    above if above > $most => Self::MOST,
                    within if within >= $least => $name(within),
                    _ => Self::LEAST,
                }
            }

            /// Returns the value.
            pub const fn get(self) -> $inner {
                self.0
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                self.0.serialize(to)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let value = <$inner>::deserialize(from)?;
                Self::new(value).map_err(serde::de::Error::custom)
            }
        }
    };
}

/// Implements serde's traits for a type that derives them with `#[serde(remote = "Self")]`, so that
/// its method `check` runs on every deserialised value.
#[macro_export]
macro_rules! checked_when_read {
    ($name:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                Self::serialize(self, to)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let read = Self::deserialize(from)?;
                read.check().map_err(serde::de::Error::custom)?;
                Ok(read)
            }
        }
    };
}

pub use {checked_when_read, ranged};

/// Checks that a field's value is from `least` to `most`.
///
/// # Errors
/// The value is out of range.
pub fn within<T: PartialOrd + Shown>(
    field: &'static str,
    value: T,
    least: T,
    most: T,
) -> Result<(), FieldOutOfRange> {
    if least <= value && value <= most {
        return Ok(());
    }
    let why = OutOfRange {
        range: format!("{} to {}", least.shown(), most.shown()),
        found: value.shown(),
    };
    Err(FieldOutOfRange { field, why })
}
