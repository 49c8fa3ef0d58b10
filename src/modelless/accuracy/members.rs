//! Sets of members of an ensemble.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A set of members of an ensemble, as bits: bit 0 is the first member.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MemberSet(u64);

impl MemberSet {
    /// The maximum number of members of a set.
    pub const MOST: usize = 64;

    /// Returns the set of these bits.
    pub const fn from_bits(bits: u64) -> Self {
        MemberSet(bits)
    }

    /// Returns the first `members` members, at most all 64.
    pub const fn first(members: usize) -> Self {
        match members {
            0..64 => MemberSet((1 << members) - 1),
            _ => MemberSet(u64::MAX),
        }
    }

    /// Returns the bits.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Returns the number of members.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Returns whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns whether the set contains a member; no set contains member 64.
    pub const fn contains(self, member: usize) -> bool {
        member < Self::MOST && self.0 >> member & 1 == 1
    }

    /// Returns the set with `member` added if it was missing, or removed if it was present.
    pub const fn toggled(self, member: usize) -> Self {
        MemberSet(self.0 ^ (1 << (member % Self::MOST)))
    }

    /// Returns its members in order.
    pub fn members(self) -> impl Iterator<Item = usize> {
        (0..Self::MOST).filter(move |member| self.contains(*member))
    }
}

/// Writes the members' numbers from 1: `{1, 3, 4}`.
impl fmt::Display for MemberSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (at, member) in self.members().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            write!(f, "{comma}{}", member + 1)?;
        }
        f.write_str("}")
    }
}
