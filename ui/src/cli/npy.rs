//! Scores and logits as NumPy's `.npy`.

/// A file of float32, little endian, of shape `dims`.
///
/// Format version 1.0: the magic, the version, the length of the header, the header as a
/// Python dictionary padded so that the data begin at a multiple of 64 bytes.
pub fn array(values: impl Iterator<Item = f32>, dims: &[usize]) -> Vec<u8> {
    let shape: Vec<String> = dims.iter().map(usize::to_string).collect();
    let shape = shape.join(", ");
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}), }}");
    let before = PREFIX.len() + size_of::<u16>();
    let padded = (before + header.len() + 1).next_multiple_of(64) - before;
    header = format!("{header:<width$}\n", width = padded - 1);
    let mut bytes = Vec::with_capacity(before + padded + 4 * dims.iter().product::<usize>());
    bytes.extend_from_slice(PREFIX);
    bytes.extend((padded as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values.flat_map(f32::to_le_bytes));
    bytes
}

const PREFIX: &[u8] = b"\x93NUMPY\x01\x00";

#[cfg(test)]
mod tests {
    use super::array;

    #[test]
    fn data_begin_at_a_multiple_of_64_after_a_header_that_ends_its_line() {
        for dims in [vec![1, 1], vec![3, 1000], vec![100_000, 10], vec![2, 3, 4]] {
            let count: usize = dims.iter().product();
            let bytes = array((0..count).map(|_| 0.5), &dims);
            let data = bytes.len() - 4 * count;
            assert_eq!(data % 64, 0);
            assert_eq!(bytes[data - 1], b'\n');
            let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
            assert_eq!(length, data - 10);
        }
    }
}
