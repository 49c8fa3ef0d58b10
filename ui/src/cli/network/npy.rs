//! Logits as NumPy's `.npy`.

/// A file of float32, little endian, `[rows, columns]`.
///
/// Format version 1.0: the magic, the version, the length of the header, the header as a
/// Python dictionary padded so that the data begin at a multiple of 64 bytes.
pub fn matrix(values: &[f32], columns: usize) -> Vec<u8> {
    let rows = values.len() / columns.max(1);
    let mut header =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let before = PREFIX.len() + size_of::<u16>();
    let padded = (before + header.len() + 1).next_multiple_of(64) - before;
    header = format!("{header:<width$}\n", width = padded - 1);
    let mut bytes = PREFIX.to_vec();
    bytes.extend((padded as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    bytes
}

const PREFIX: &[u8] = b"\x93NUMPY\x01\x00";

#[cfg(test)]
mod tests {
    use super::matrix;

    #[test]
    fn data_begin_at_a_multiple_of_64_after_a_header_that_ends_its_line() {
        for (rows, columns) in [(1, 1), (3, 1000), (100_000, 10)] {
            let bytes = matrix(&vec![0.5; rows * columns], columns);
            let data = bytes.len() - 4 * rows * columns;
            assert_eq!(data % 64, 0);
            assert_eq!(bytes[data - 1], b'\n');
            let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
            assert_eq!(length, data - 10);
        }
    }
}
