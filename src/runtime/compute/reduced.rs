//! Numbers of fewer bits that a value lies as from the step that makes it to those that read it.

/// Numbers of fewer bits than float32, by which a value lies in the arena.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ReducedNumbers {
    /// Brain floats.
    Bf16,
}

impl ReducedNumbers {
    /// Returns the bytes of a number.
    pub(super) const fn bytes(self) -> usize {
        match self {
            ReducedNumbers::Bf16 => 2,
        }
    }

    /// Returns how many numbers are multiplied at a time.
    pub(super) const fn group(self) -> usize {
        4 / self.bytes()
    }
}
