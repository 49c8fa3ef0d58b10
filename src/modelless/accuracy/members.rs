//! Sets of members of an ensemble.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Members of an ensemble, as bits: bit 0 is the first one.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MemberSet(u64);

impl MemberSet {
    /// The most members that a set can name.
    pub const MOST: usize = 64;

    /// Returns the set of these bits.
    pub const fn from_bits(bits: u64) -> Self {
        MemberSet(bits)
    }

    /// Returns the first `members` members, all 64 where that is more.
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

    /// Whether it has no member.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it has a member; none has a member 64.
    pub const fn contains(self, member: usize) -> bool {
        member < Self::MOST && self.0 >> member & 1 == 1
    }

    /// Returns the set with `member` taken in where it was out, and out where it was in.
    pub const fn toggled(self, member: usize) -> Self {
        MemberSet(self.0 ^ (1 << (member % Self::MOST)))
    }

    /// Whether all of its members are in `other`.
    pub const fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Returns its members in their order.
    pub fn members(self) -> impl Iterator<Item = usize> {
        (0..Self::MOST).filter(move |member| self.contains(*member))
    }
}

/// The members' places, counted from 1: `{1, 3, 4}`.
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
