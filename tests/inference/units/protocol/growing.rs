//! Unit tests of `src/inference/protocol/growing.rs`.

use super::{BytePlace, GrowingBytes, MAPPED};

#[test]
fn bytes_stay_as_they_are_however_many_they_become() {
    let piece: Vec<u8> = (0..=250).collect();
    for pieces in [0, 1, 16_000, 80_000] {
        for mut bytes in [GrowingBytes::default(), GrowingBytes::with_capacity(MAPPED)] {
            (0..pieces).for_each(|_| bytes.extend_from_slice(&piece));
            assert_eq!(bytes.freeze(), piece.repeat(pieces), "{pieces}");
        }
    }
}

#[test]
fn many_bytes_have_a_mapping_of_their_own() {
    let mut bytes = GrowingBytes::default();
    bytes.extend_from_slice(&vec![1; MAPPED - 1]);
    assert!(matches!(bytes.0, BytePlace::Allocated(_)));
    bytes.extend_from_slice(&[1]);
    assert!(matches!(bytes.0, BytePlace::Mapped(_)));
}
