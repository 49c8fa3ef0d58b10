//! Numbers and times that are within their ranges, whether they were typed, read from a
//! file or came over a socket: a value that is outside cannot be made.

use std::time::Duration;

use thiserror::Error;

use crate::words;

/// A value that is outside of its range.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("expected {range}, found {found}")]
pub struct OutOfRange {
    /// The range in words, with its unit.
    pub range: String,
    pub found: String,
}

/// How a value is shown in a message.
pub(crate) trait Shown {
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

/// Declares a type for the values from `least` to `most`. Reading one from bytes or text
/// checks it as `new` does.
macro_rules! ranged {
    ($(#[$doc:meta])* $name:ident($inner:ty) = $least:expr, $most:expr, $unit:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
        pub struct $name($inner);

        impl $name {
            /// The least value allowed.
            pub const LEAST: Self = $name($least);
            /// The greatest value allowed.
            pub const MOST: Self = $name($most);

            /// The value, if it is in the range.
            ///
            /// # Errors
            /// It is not; says the range.
            pub fn new(value: $inner) -> Result<Self, $crate::ranged::OutOfRange> {
                use $crate::ranged::Shown;
                let (least, most): ($inner, $inner) = ($least, $most);
                if (least..=most).contains(&value) {
                    return Ok($name(value));
                }
                let (least, most) = (least.shown(), most.shown());
                Err($crate::ranged::OutOfRange {
                    range: format!(concat!("{} to {}", $unit), least, most),
                    found: value.shown(),
                })
            }

            /// The value of the range that is nearest to `value`; the least for what is
            /// no number.
            pub fn nearest(value: $inner) -> Self {
                match value {
                    above if above > $most => Self::MOST,
                    within if within >= $least => $name(within),
                    _ => Self::LEAST,
                }
            }

            /// The value itself.
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

/// Has a type that derives its reading and writing with `#[serde(remote = "Self")]`
/// checked by its method `check` whenever one is read.
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

pub(crate) use {checked_when_read, ranged};

/// What rules of a type come to: what was expected and what was found.
pub(crate) fn within<T: PartialOrd + Shown>(
    name: &str,
    value: T,
    least: T,
    most: T,
) -> Result<(), String> {
    if least <= value && value <= most {
        return Ok(());
    }
    let (least, most, found) = (least.shown(), most.shown(), value.shown());
    Err(format!("{name}: expected {least} to {most}, found {found}"))
}
