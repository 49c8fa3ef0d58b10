//! Sums of two products of bytes, which `maddubs` of AVX2 adds in 16 bits and saturates beyond.

/// Returns whether the sums of two products fit into signed 16 bits for all values from 0 to
/// `most`. The pairs are the first two and the last two of each four neighbouring weights.
pub(super) fn pairs_fit(weights: &[i8], most: i32) -> bool {
    let (pairs, rest) = weights.as_chunks::<2>();
    rest.is_empty() && pairs.iter().all(|&pair| pair_fits(pair, most))
}

/// Returns whether a pair's sum stays within 16 bits at its largest, with `most` at positive
/// weights and 0 at others, and at its least.
fn pair_fits(pair: [i8; 2], most: i32) -> bool {
    let [a, b] = pair.map(i32::from);
    let (positive, negative) = (a.max(0) + b.max(0), a.min(0) + b.min(0));
    most * positive <= i16::MAX.into() && most * negative >= i16::MIN.into()
}

#[cfg(test)]
#[path = "../../../../../../tests/runtime/units/compute/kernels/dots/bytes/pairs.rs"]
mod tests;
