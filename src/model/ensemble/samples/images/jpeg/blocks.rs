//! Decodes the coefficients of a block from a scan.

use super::bits::BitReader;
use super::error::ScanFault;
use super::huffman::HuffmanTable;
use super::tables::ZIGZAG;

/// The coefficients of a block, row by row.
pub(super) type Block = [i16; 64];

/// The coding of blocks in a scan.
#[derive(Clone, Copy)]
pub(super) enum BlockCoding<'a> {
    /// All coefficients at once.
    Whole {
        dc: &'a HuffmanTable,
        ac: &'a HuffmanTable,
    },
    /// The first coefficient without its lowest bits.
    FirstDc(&'a HuffmanTable),
    /// The next bit of the first coefficient.
    NextDc,
    /// Some other coefficients without their lowest bits.
    FirstAc(&'a HuffmanTable),
    /// The next bit of some other coefficients.
    NextAc(&'a HuffmanTable),
}

/// The coefficients and bits in a scan of a progressive JPEG.
#[derive(Clone, Copy)]
pub(super) struct Share {
    /// The first coefficient.
    pub first: usize,
    /// The last coefficient.
    pub last: usize,
    /// The number of lower bits that later scans hold.
    pub low: u32,
}

/// Returns the place of a coefficient in its block.
#[inline]
fn place(at: usize) -> usize {
    usize::from(ZIGZAG[at & 63])
}

/// Reads a whole block into a block of zeros, and returns its last non-zero coefficient.
#[inline]
pub(super) fn whole(
    bits: &mut BitReader<'_>,
    dc: &HuffmanTable,
    ac: &HuffmanTable,
    predictor: &mut i32,
    block: &mut Block,
) -> Result<usize, ScanFault> {
    bits.fill();
    block[0] = first_coefficient(bits, dc, predictor)? as i16;
    let (mut at, mut last) = (1, 0);
    while at < 64 {
        bits.fill();
        let symbol = ac.symbol(bits)?;
        let (run, size) = (usize::from(symbol >> 4), u32::from(symbol & 15));
        if size == 0 {
            match run {
                15 => at += 16,
                _ => break,
            }
        } else {
            last = at + run;
            *block
                .get_mut(place(last))
                .filter(|_| last < 64)
                .ok_or(ScanFault::Run)? = bits.signed(size) as i16;
            at = last + 1;
        }
    }
    Ok(last)
}

/// Reads the first coefficient of a block, coded as the difference from the previous block.
#[inline]
fn first_coefficient(
    bits: &mut BitReader<'_>,
    dc: &HuffmanTable,
    predictor: &mut i32,
) -> Result<i32, ScanFault> {
    let size = dc.symbol(bits)?;
    *predictor = predictor.wrapping_add(bits.signed(u32::from(size)));
    Ok(*predictor)
}

/// Reads the first coefficient of a block without its lowest bits.
pub(super) fn first_dc(
    bits: &mut BitReader<'_>,
    dc: &HuffmanTable,
    share: Share,
    predictor: &mut i32,
    block: &mut Block,
) -> Result<(), ScanFault> {
    bits.fill();
    block[0] = (first_coefficient(bits, dc, predictor)? << share.low) as i16;
    Ok(())
}

/// Reads the next bit of the first coefficient of a block.
pub(super) fn next_dc(bits: &mut BitReader<'_>, share: Share, block: &mut Block) {
    bits.fill();
    block[0] |= (bits.number(1) << share.low) as i16;
}

/// Reads the number of blocks that end here, including this one.
fn ends(bits: &mut BitReader<'_>, size: usize) -> u32 {
    (1 << size) + bits.number(size as u32) as u32
}

/// Reads coefficients of a block without their lowest bits. `ended` blocks from here on have no
/// more coefficients.
pub(super) fn first_ac(
    bits: &mut BitReader<'_>,
    ac: &HuffmanTable,
    share: Share,
    ended: &mut u32,
    block: &mut Block,
) -> Result<(), ScanFault> {
    let mut at = share.first;
    while *ended == 0 && at <= share.last {
        bits.fill();
        let symbol = ac.symbol(bits)?;
        let (run, size) = (usize::from(symbol >> 4), u32::from(symbol & 15));
        match (run, size) {
            (15, 0) => at += 16,
            (run, 0) => *ended = ends(bits, run),
            (run, size) => {
                at += run;
                if at > share.last {
                    return Err(ScanFault::Run);
                }
                block[place(at)] = (bits.signed(size) << share.low) as i16;
                at += 1;
            }
        }
    }
    *ended = ended.saturating_sub(1);
    Ok(())
}

/// Reads the next bit of coefficients of a block, and the coefficients that become non-zero.
pub(super) fn next_ac(
    bits: &mut BitReader<'_>,
    ac: &HuffmanTable,
    share: Share,
    ended: &mut u32,
    block: &mut Block,
) -> Result<(), ScanFault> {
    let mut at = share.first;
    while *ended == 0 && at <= share.last {
        bits.fill();
        let symbol = ac.symbol(bits)?;
        let (run, size) = (usize::from(symbol >> 4), symbol & 15);
        if size == 0 && run < 15 {
            *ended = ends(bits, run);
            break;
        }
        let value = match (size, bits.number(u32::from(size != 0))) {
            (0, _) => 0,
            (_, 0) => -1 << share.low,
            _ => 1 << share.low,
        };
        at = refine(bits, share, at, run, block);
        if value != 0 {
            *block
                .get_mut(place(at))
                .filter(|_| at <= share.last)
                .ok_or(ScanFault::Run)? = value;
        }
        at += 1;
    }
    if *ended > 0 {
        refine(bits, share, at, usize::MAX, block);
        *ended -= 1;
    }
    Ok(())
}

/// Reads the next bit of each non-zero coefficient from `at`, and returns the place of the zero
/// after `zeros` other zeros.
fn refine(
    bits: &mut BitReader<'_>,
    share: Share,
    from: usize,
    mut zeros: usize,
    block: &mut Block,
) -> usize {
    let bit = 1 << share.low;
    for at in from..=share.last {
        let value = &mut block[place(at)];
        if *value == 0 {
            if zeros == 0 {
                return at;
            }
            zeros -= 1;
            continue;
        }
        bits.fill();
        if bits.number(1) == 1 && *value & bit == 0 {
            *value = value.wrapping_add(if *value < 0 { -bit } else { bit });
        }
    }
    share.last + 1
}
