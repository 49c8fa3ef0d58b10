//! A scan: its header, and the order of the components' blocks in its data.

use super::bits::BitReader;
use super::blocks::{self, BlockCoding, Share};
use super::error::{JpegError, ScanFault};
use super::frame::JpegFrame;
use super::markers::SOS;
use super::parts::ComponentData;
use super::tables::JpegTables;

/// The maximum number of blocks in a unit of a scan.
const MOST_BLOCKS: usize = 10;

/// The header of a scan.
pub(super) struct ScanHeader {
    /// The components, by their positions in the frame, and their tables.
    parts: Vec<ScanPart>,
    share: Share,
    /// The number of lower bits missing after earlier scans, or 0 in a first scan.
    high: u32,
}

/// A component of a scan.
struct ScanPart {
    component: usize,
    dc: usize,
    ac: usize,
}

impl ScanHeader {
    /// Reads the content of a scan's segment.
    pub(super) fn read(content: &[u8], frame: &JpegFrame) -> Result<Self, JpegError> {
        let [count, rest @ ..] = content else {
            return Err(JpegError::segment(SOS));
        };
        let parts = rest
            .len()
            .checked_sub(3)
            .filter(|n| *n == 2 * usize::from(*count));
        let (parts, ends) = rest.split_at(parts.ok_or_else(|| JpegError::segment(SOS))?);
        let header = ScanHeader {
            parts: scan_parts(parts, frame)?,
            share: Share {
                first: usize::from(ends[0]),
                last: usize::from(ends[1]),
                low: u32::from(ends[2] & 15),
            },
            high: u32::from(ends[2] >> 4),
        };
        match frame.is_progressive {
            true => header.progressive(),
            // A sequential scan contains all coefficients, regardless of its header.
            false => Ok(header.whole()),
        }
    }

    fn whole(mut self) -> Self {
        self.share = Share {
            first: 0,
            last: 63,
            low: 0,
        };
        self.high = 0;
        self
    }

    fn progressive(self) -> Result<Self, JpegError> {
        let Share { first, last, low } = self.share;
        let is_range = first <= last && last <= 63 && (first > 0 || last == 0);
        let is_refining = self.high == 0 || self.high == low + 1;
        if !is_range || !is_refining || low > 13 {
            return Err(JpegError::header("impossible coefficients"));
        }
        if first > 0 && self.parts.len() > 1 {
            return Err(JpegError::header(
                "several components beyond the first coefficient",
            ));
        }
        Ok(self)
    }

    /// Decodes the data of the scan into `data` of the frame's components, and returns the bytes
    /// from the next marker.
    pub(super) fn decode<'a>(
        &self,
        frame: &JpegFrame,
        data: &mut [ComponentData],
        tables: &JpegTables,
        restart: usize,
        bytes: &'a [u8],
    ) -> Result<&'a [u8], JpegError> {
        let mut parts = Vec::new();
        for part in &self.parts {
            let store = &mut data[part.component];
            let table = frame.components[part.component].table;
            store.begin_scan(self.share, self.high, || tables.steps(table))?;
            parts.push(self.part(part, frame, tables)?);
        }
        let mut run = ScanRun {
            bits: BitReader::new(bytes),
            share: self.share,
            ended: 0,
            restarts: Restarts::new(restart),
        };
        let units = match self.parts.as_slice() {
            [part] => frame.components[part.component].blocks,
            _ => frame.units,
        };
        run.decode(units, &mut parts, data)?;
        Ok(run.bits.rest())
    }

    fn part<'t>(
        &self,
        part: &ScanPart,
        frame: &JpegFrame,
        tables: &'t JpegTables,
    ) -> Result<RunningPart<'t>, JpegError> {
        let (dc, ac) = (|| tables.dc(part.dc), || tables.ac(part.ac));
        let coding = match (frame.is_progressive, self.share.first, self.high) {
            (false, ..) => BlockCoding::Whole {
                dc: dc()?,
                ac: ac()?,
            },
            (true, 0, 0) => BlockCoding::FirstDc(dc()?),
            (true, 0, _) => BlockCoding::NextDc,
            (true, _, 0) => BlockCoding::FirstAc(ac()?),
            (true, ..) => BlockCoding::NextAc(ac()?),
        };
        let factors = match self.parts.len() {
            1 => [1, 1],
            _ => frame.components[part.component].factors,
        };
        Ok(RunningPart {
            component: part.component,
            coding,
            factors,
            predictor: 0,
        })
    }
}

/// Returns the components of a scan. Its units are not larger than the standard allows.
fn scan_parts(bytes: &[u8], frame: &JpegFrame) -> Result<Vec<ScanPart>, JpegError> {
    let mut parts: Vec<ScanPart> = Vec::new();
    for part in bytes.chunks_exact(2) {
        let is_new = |at: usize| parts.iter().all(|p| p.component != at);
        let mut known = frame.components.iter().enumerate();
        let found = known.find(|(at, c)| c.id == part[0] && is_new(*at));
        let found =
            found.ok_or_else(|| JpegError::header("a component that the frame does not have"))?;
        parts.push(ScanPart {
            component: found.0,
            dc: usize::from(part[1] >> 4),
            ac: usize::from(part[1] & 15),
        });
    }
    let factors = parts.iter().map(|p| frame.components[p.component].factors);
    let blocks: usize = factors.map(|f| f[0] * f[1]).sum();
    match parts.len() {
        0 => Err(JpegError::header("no component")),
        2.. if blocks > MOST_BLOCKS => {
            Err(JpegError::header("more than 10 blocks a unit (sampling)"))
        }
        _ => Ok(parts),
    }
}

/// A component while a scan is decoded.
struct RunningPart<'t> {
    component: usize,
    coding: BlockCoding<'t>,
    /// Its blocks in a unit of the scan.
    factors: [usize; 2],
    /// The first coefficient of its previous block.
    predictor: i32,
}

/// A scan while it is decoded.
struct ScanRun<'a> {
    bits: BitReader<'a>,
    share: Share,
    /// The number of blocks without more coefficients in this scan.
    ended: u32,
    restarts: Restarts,
}

impl ScanRun<'_> {
    fn decode(
        &mut self,
        [rows, columns]: [usize; 2],
        parts: &mut [RunningPart<'_>],
        data: &mut [ComponentData],
    ) -> Result<(), JpegError> {
        for row in 0..rows {
            for column in 0..columns {
                self.restart_if_due(parts)?;
                for part in &mut *parts {
                    self.unit([row, column], part, &mut data[part.component])?;
                }
            }
        }
        Ok(())
    }

    /// Decodes the blocks of a component in a unit.
    #[inline]
    fn unit(
        &mut self,
        [row, column]: [usize; 2],
        part: &mut RunningPart<'_>,
        data: &mut ComponentData,
    ) -> Result<(), JpegError> {
        let [down, across] = part.factors;
        for y in 0..down {
            for x in 0..across {
                let at = [row * down + y, column * across + x];
                self.block(at, part, data)
                    .map_err(|e| self.bits.or_end(e))?;
                if self.bits.is_beyond() {
                    return Err(self.bits.end());
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn block(
        &mut self,
        at: [usize; 2],
        part: &mut RunningPart<'_>,
        data: &mut ComponentData,
    ) -> Result<(), ScanFault> {
        let (bits, share) = (&mut self.bits, self.share);
        let predictor = &mut part.predictor;
        if let BlockCoding::Whole { dc, ac } = part.coding {
            let mut block = [0; 64];
            let last = blocks::whole(bits, dc, ac, predictor, &mut block)?;
            data.show(at, &block, last);
            return Ok(());
        }
        let block = data.block(at);
        match part.coding {
            BlockCoding::FirstDc(dc) => blocks::first_dc(bits, dc, share, predictor, block)?,
            BlockCoding::FirstAc(ac) => blocks::first_ac(bits, ac, share, &mut self.ended, block)?,
            BlockCoding::NextAc(ac) => blocks::next_ac(bits, ac, share, &mut self.ended, block)?,
            BlockCoding::NextDc | BlockCoding::Whole { .. } => blocks::next_dc(bits, share, block),
        }
        Ok(())
    }

    /// Continues after a restart marker if the next unit follows one.
    #[inline]
    fn restart_if_due(&mut self, parts: &mut [RunningPart<'_>]) -> Result<(), JpegError> {
        if let Some(number) = self.restarts.next_unit() {
            self.bits.restart(number)?;
            self.ended = 0;
            parts.iter_mut().for_each(|part| part.predictor = 0);
        }
        Ok(())
    }
}

/// The restart markers of a scan.
struct Restarts {
    /// The number of units between two markers, or 0 without markers.
    interval: usize,
    /// The number of units before the next marker.
    left: usize,
    number: u8,
}

impl Restarts {
    fn new(interval: usize) -> Self {
        Restarts {
            interval,
            left: interval,
            number: 0,
        }
    }

    /// Returns the number of the restart marker before the next unit, or `None` if there is no
    /// marker.
    #[inline]
    fn next_unit(&mut self) -> Option<u8> {
        if self.left > 0 || self.interval == 0 {
            self.left = self.left.saturating_sub(1);
            return None;
        }
        let number = self.number;
        self.left = self.interval - 1;
        self.number = (number + 1) % 8;
        Some(number)
    }
}
