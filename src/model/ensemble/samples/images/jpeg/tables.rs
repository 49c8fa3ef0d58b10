//! The tables for decoding scans.

use super::error::JpegError;
use super::huffman::HuffmanTable;
use super::markers::{DHT, DQT};

/// The row and column of a block's coefficients, in coding order.
pub(super) const ZIGZAG: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20,
    13, 6, 7, 14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59,
    52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
];

/// The steps of a block's coefficients, row by row.
pub(super) type CoefficientSteps = [u16; 64];

/// The tables defined by the markers read, by their numbers.
#[derive(Default)]
pub(super) struct JpegTables {
    steps: [Option<CoefficientSteps>; 4],
    dc: [Option<HuffmanTable>; 4],
    ac: [Option<HuffmanTable>; 4],
}

impl JpegTables {
    /// Reads the content of a segment of quantisation tables.
    pub(super) fn read_steps(&mut self, mut content: &[u8]) -> Result<(), JpegError> {
        while let [head, rest @ ..] = content {
            let wide = usize::from(head >> 4 != 0);
            let table = self.steps.get_mut(usize::from(head & 15));
            let (table, values) = table
                .zip(rest.get(..64 << wide))
                .ok_or_else(|| JpegError::segment(DQT))?;
            *table = Some(steps(values));
            content = &rest[64 << wide..];
        }
        Ok(())
    }

    /// Reads the content of a segment of Huffman tables.
    pub(super) fn read_codes(&mut self, mut content: &[u8]) -> Result<(), JpegError> {
        while let [head, rest @ ..] = content {
            let (counts, rest) = rest
                .split_first_chunk()
                .ok_or_else(|| JpegError::segment(DHT))?;
            let count = counts.iter().map(|c| usize::from(*c)).sum();
            let symbols = rest.get(..count).ok_or_else(|| JpegError::segment(DHT))?;
            let is_dc = head >> 4 == 0;
            if is_dc && symbols.iter().any(|s| *s > 15) {
                return Err(JpegError::codes());
            }
            let tables = if is_dc { &mut self.dc } else { &mut self.ac };
            let table = tables.get_mut(usize::from(head & 15));
            *table.ok_or_else(|| JpegError::segment(DHT))? =
                Some(HuffmanTable::new(counts, symbols)?);
            content = &rest[count..];
        }
        Ok(())
    }

    /// Returns the quantisation table with this number.
    pub(super) fn steps(&self, number: usize) -> Result<&CoefficientSteps, JpegError> {
        found(&self.steps, number, "quantisation", "DQT")
    }

    /// Returns the table of first coefficients with this number.
    pub(super) fn dc(&self, number: usize) -> Result<&HuffmanTable, JpegError> {
        found(&self.dc, number, "DC Huffman", "DHT")
    }

    /// Returns the table of further coefficients with this number.
    pub(super) fn ac(&self, number: usize) -> Result<&HuffmanTable, JpegError> {
        found(&self.ac, number, "AC Huffman", "DHT")
    }
}

fn found<'a, T>(
    tables: &'a [Option<T>; 4],
    number: usize,
    kind: &str,
    marker: &str,
) -> Result<&'a T, JpegError> {
    let table = tables.get(number).and_then(Option::as_ref);
    table.ok_or_else(|| {
        JpegError::new(format_args!(
            "a scan needs {kind} table {number}, but no marker {marker} defines the table"
        ))
    })
}

/// Returns 64 steps of one or two bytes, which are in coding order.
fn steps(values: &[u8]) -> CoefficientSteps {
    let mut steps = [0; 64];
    for (value, at) in values.chunks_exact(values.len() / 64).zip(ZIGZAG) {
        let value = value
            .iter()
            .fold(0, |sum, byte| sum << 8 | u16::from(*byte));
        steps[usize::from(at)] = value;
    }
    steps
}
