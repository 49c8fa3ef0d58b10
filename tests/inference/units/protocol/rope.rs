//! Unit tests of `src/inference/protocol/rope.rs`.

use bytes::Bytes;

use super::{LARGE, RopeGatherer};

#[test]
fn a_large_body_is_the_bytes_that_came_whatever_was_announced() {
    let piece = Bytes::from_iter((0..=250).cycle().take(100_003));
    let pieces = LARGE / piece.len() + 20;
    for announced in [0, (pieces * piece.len()) as u64, u64::MAX] {
        let mut gatherer = RopeGatherer::announced(announced);
        (0..pieces).for_each(|_| gatherer.push(piece.clone()));
        let whole = gatherer.finish();
        assert_eq!(whole.pieces().count(), 1, "{announced}");
        assert!(whole.joined() == piece.repeat(pieces), "{announced}");
    }
}
