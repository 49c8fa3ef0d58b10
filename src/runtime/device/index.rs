//! The rows and columns of the matrix, as numbers that cannot be mistaken for each other.

use std::fmt;
use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

/// A device's position among those of a run: a row of the matrix.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct DeviceIndex(usize);

/// A member's position in its ensemble: a column of the matrix.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MemberIndex(usize);

/// Turns a number type into an index for slices and vectors.
macro_rules! index {
    ($name:ident) => {
        impl $name {
            /// Creates it from its number, from 0.
            #[inline]
            pub const fn new(number: usize) -> Self {
                Self(number)
            }

            /// Returns its number.
            #[inline]
            pub const fn get(self) -> usize {
                self.0
            }

            /// Iterates over all positions among `count`, in order.
            #[inline]
            pub fn all(
                count: usize,
            ) -> impl ExactSizeIterator<Item = Self> + DoubleEndedIterator + Clone + use<> {
                (0..count).map(Self::new)
            }

            /// Iterates over `things`, which are in order, with the position of each.
            #[inline]
            pub fn enumerate<I: IntoIterator>(things: I) -> impl Iterator<Item = (Self, I::Item)> {
                let numbered = things.into_iter().enumerate();
                numbered.map(|(number, thing)| (Self::new(number), thing))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl<T> Index<$name> for [T] {
            type Output = T;

            #[inline]
            fn index(&self, at: $name) -> &T {
                &self[at.0]
            }
        }

        impl<T> IndexMut<$name> for [T] {
            #[inline]
            fn index_mut(&mut self, at: $name) -> &mut T {
                &mut self[at.0]
            }
        }

        impl<T> Index<$name> for Vec<T> {
            type Output = T;

            #[inline]
            fn index(&self, at: $name) -> &T {
                &self[at.0]
            }
        }

        impl<T> IndexMut<$name> for Vec<T> {
            #[inline]
            fn index_mut(&mut self, at: $name) -> &mut T {
                &mut self[at.0]
            }
        }
    };
}

index!(DeviceIndex);
index!(MemberIndex);
