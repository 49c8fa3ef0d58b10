//! Random valid matrices.

use std::sync::Arc;

use divisi_model::allocation::{Frame, Matrix};
use divisi_model::ensemble::BatchSize;

/// Returns `count` matrices: half of the entries are empty, the others have any batch size.
pub fn random(frame: &Arc<Frame>, count: usize) -> Vec<Matrix> {
    let mut state = 11;
    let all = std::iter::repeat_with(|| one(frame, &mut state));
    all.flatten().take(count).collect()
}

fn one(frame: &Arc<Frame>, state: &mut u64) -> Option<Matrix> {
    let sizes: Vec<BatchSize> = frame.batch_sizes.iter().collect();
    let cells = frame.devices.len() * frame.members.len();
    let mut entry = || {
        let some = next(state).is_multiple_of(2);
        let size = sizes[next(state) as usize % sizes.len()];
        some.then_some(size)
    };
    let entries = (0..cells).map(|_| entry()).collect();
    Matrix::new(Arc::clone(frame), entries).ok()
}

/// Returns the next number of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
