//! The samples of a component, collected from scans.

use divisi_runtime::reading::ReadError;

use super::super::pixels::{no_memory, zeros};
use super::blocks::{Block, Share};
use super::error::JpegError;
use super::frame::{JpegComponent, JpegFrame};
use super::idct::{self, SIDE};
use super::tables::CoefficientSteps;

/// The samples of a component, row by row.
pub(super) struct ComponentSamples {
    pub values: Vec<u8>,
    /// The number of samples in a row, including samples past the image's edge.
    pub width: usize,
    /// The rows and columns inside the image.
    pub size: [usize; 2],
}

/// The samples of a component, or the coefficients for them.
pub(super) struct ComponentData {
    samples: ComponentSamples,
    /// The quantisation steps of its coefficients, once a scan contains the component.
    steps: Option<CoefficientSteps>,
    /// In a progressive JPEG, the coefficients of its blocks row by row.
    blocks: Vec<Block>,
    /// For each coefficient, the number of lower bits that no scan contained yet, or `None` before
    /// the first scan.
    open: [Option<u32>; 64],
}

impl ComponentData {
    /// Allocates the memory for a component.
    pub(super) fn new(component: &JpegComponent, frame: &JpegFrame) -> Result<Self, JpegError> {
        let [rows, columns] = component.room;
        let coefficients = if frame.is_progressive {
            rows * columns
        } else {
            0
        };
        Ok(ComponentData {
            samples: ComponentSamples {
                values: zeros(rows * columns * SIDE * SIDE)?,
                width: columns * SIDE,
                size: component.size,
            },
            steps: None,
            blocks: empty_blocks(coefficients)?,
            open: [None; 64],
        })
    }

    /// Records that a scan contains a share of its coefficients. The first scan determines the
    /// steps.
    pub(super) fn begin_scan<'t>(
        &mut self,
        share: Share,
        high: u32,
        steps: impl FnOnce() -> Result<&'t CoefficientSteps, JpegError>,
    ) -> Result<(), JpegError> {
        if self.steps.is_none() {
            self.steps = Some(*steps()?);
        }
        for open in &mut self.open[share.first..=share.last] {
            match (*open, high) {
                (None, 0) => {}
                (Some(low), 1..) if low == high => {}
                (Some(_), 0) => return Err(JpegError::header("what an earlier scan holds")),
                _ => {
                    return Err(JpegError::header(
                        "bits that do not follow an earlier scan's",
                    ));
                }
            }
            *open = Some(share.low);
        }
        Ok(())
    }

    /// Returns the coefficients of a block of a progressive JPEG.
    #[inline]
    pub(super) fn block(&mut self, [row, column]: [usize; 2]) -> &mut Block {
        let columns = self.samples.width / SIDE;
        &mut self.blocks[row * columns + column]
    }

    /// Sets the samples of a block. Its coefficients after `last` are zeros.
    #[inline]
    pub(super) fn show(&mut self, at: [usize; 2], block: &Block, last: usize) {
        if let Some(steps) = &self.steps {
            self.samples.show(at, block, steps, last);
        }
    }

    /// Returns the samples of the component with this number in its frame.
    pub(super) fn finish(mut self, number: usize) -> Result<ComponentSamples, JpegError> {
        let steps = self
            .steps
            .ok_or_else(|| JpegError::new(format_args!("no scan holds component {number}")))?;
        // libjpeg guesses missing bits of the first ten coefficients. This decoder does not.
        if self.open[..10].iter().any(|open| *open != Some(0)) {
            return Err(JpegError::new(format_args!(
                "the scans of component {number} are incomplete: coefficients are missing or coarse"
            )));
        }
        let columns = self.samples.width / SIDE;
        for (at, block) in self.blocks.iter().enumerate() {
            self.samples
                .show([at / columns, at % columns], block, &steps, 63);
        }
        Ok(self.samples)
    }
}

impl ComponentSamples {
    #[inline]
    fn show(
        &mut self,
        [row, column]: [usize; 2],
        block: &Block,
        steps: &CoefficientSteps,
        last: usize,
    ) {
        let from = (row * self.width + column) * SIDE;
        idct::samples(block, last, steps, &mut self.values[from..], self.width);
    }

    /// Returns a row without the samples past the image's edge.
    pub(super) fn row(&self, row: usize) -> &[u8] {
        &self.values[row * self.width..][..self.size[1]]
    }
}

fn empty_blocks(count: usize) -> Result<Vec<Block>, ReadError> {
    let mut blocks = Vec::new();
    let taken = blocks.try_reserve_exact(count);
    taken.map_err(|_| no_memory(count * size_of::<Block>()))?;
    blocks.resize(count, [0; 64]);
    Ok(blocks)
}
