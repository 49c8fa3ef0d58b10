//! Tables by consecutive numbers that the engine assigns. No client chooses them, so one
//! multiplication distributes them well enough.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A table by consecutive numbers.
pub(super) type KeyMap<K, V> = HashMap<K, V, BuildHasherDefault<KeyHasher>>;

/// The hash of one or several such numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KeyHasher(u64);

/// 2⁶⁴ divided by the golden ratio. Neighbours end up far apart in the highest and the lowest bits.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        // The table uses the lowest bits, which the multiplication mixes least.
        self.0.rotate_left(26)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(SPREAD);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}
