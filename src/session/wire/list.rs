//! A list as what changed of it: elements gone from its front, changed, appended.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{WireError, decode, encode};

/// From one list to the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ListDelta {
    /// Elements gone from the front.
    gone: usize,
    /// Of what is left, elements gone from the end.
    cut: usize,
    /// Of what is left, elements that are others now.
    changed: Vec<(usize, Vec<u8>)>,
    /// Elements appended, encoded.
    appended: Vec<Vec<u8>>,
}

impl ListDelta {
    /// Returns the change from `old` to `new`.
    pub(super) fn between<T: Serialize + PartialEq>(
        old: &[T],
        new: &[T],
    ) -> Result<Self, WireError> {
        let gone = shift(old, new);
        let kept = &old[gone..];
        let common = kept.len().min(new.len());
        let mut changed = Vec::new();
        for (i, (a, b)) in kept.iter().zip(new).enumerate() {
            if a != b {
                changed.push((i, encode(b)?));
            }
        }
        let appended = new[common..].iter().map(encode);
        Ok(ListDelta {
            gone,
            cut: kept.len() - common,
            changed,
            appended: appended.collect::<Result<_, _>>()?,
        })
    }

    /// Makes the new list of the old one.
    pub(super) fn apply<T: DeserializeOwned>(self, list: &mut Vec<T>) -> Result<(), WireError> {
        let left = list.len().checked_sub(self.gone);
        let left = left.and_then(|l| l.checked_sub(self.cut));
        let left = left.ok_or_else(|| WireError::Damaged("more is gone than there was".into()))?;
        list.drain(..self.gone);
        list.truncate(left);
        for (i, bytes) in &self.changed {
            let place = list.get_mut(*i);
            let place = place.ok_or_else(|| WireError::Damaged("no such element".into()))?;
            *place = decode(bytes)?;
        }
        for bytes in &self.appended {
            list.push(decode(bytes)?);
        }
        Ok(())
    }
}

/// How many elements went from the front. The first may be one that counts those gone,
/// so the second is looked for.
fn shift<T: PartialEq>(old: &[T], new: &[T]) -> usize {
    let (Some(first), true) = (new.first(), old.first() != new.first()) else {
        return 0;
    };
    let place = |of: &T, back: usize| {
        let found = old.iter().position(|o| o == of)?;
        found.checked_sub(back)
    };
    place(first, 0)
        .or_else(|| place(new.get(1)?, 1))
        .unwrap_or(0)
}
