//! Unit tests of `src/runtime/compute/kernels/buffer.rs`.

use super::{Buffer, ComputeError, LINE, MAPPED};

#[test]
fn buffers_are_zeros_from_a_cache_line_on() -> Result<(), ComputeError> {
    for len in [0, 1, LINE, 1000, MAPPED - 1, MAPPED, MAPPED + 1] {
        let mut buffer = Buffer::zeroed(len)?;
        assert_eq!(buffer.values().as_ptr().align_offset(4 * LINE), 0, "{len}");
        assert!(buffer.values().iter().all(|v| *v == 0.0), "{len}");
        buffer.values_mut().fill(1.0);
        assert_eq!(buffer.values().iter().sum::<f32>(), len as f32);
    }
    Ok(())
}

#[test]
fn more_than_there_is_is_refused() {
    for len in [usize::MAX / 4 - LINE, usize::MAX / 8] {
        assert!(Buffer::zeroed(len).is_err(), "{len}");
    }
}
