//! Writes `.npy` files of float32.

/// Returns the bytes of a `.npy` file of float32, little endian, of shape `dims`.
///
/// Format version 1.0: the magic, the version, the length of the header, the header as a
/// Python dictionary padded so that the data begin at a multiple of 64 bytes.
pub fn to_npy(values: impl Iterator<Item = f32>, dims: &[usize]) -> Vec<u8> {
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
