//! Enlarges components with fewer samples than the image has pixels, as libjpeg does by default.

use super::frame::{JpegComponent, JpegFrame};
use super::parts::ComponentSamples;

/// The method of enlarging a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Enlarging {
    /// No enlargement.
    None,
    /// Between each sample and its neighbours, to twice the width.
    Across,
    /// Between each sample and its neighbours, to twice the height.
    Down,
    /// Between each sample and its neighbours, to twice the width and height.
    Both,
    /// Repeats each sample this number of times down and across.
    Repeat([usize; 2]),
}

/// The rows of a component at the size of its image.
pub(super) struct EnlargedRows {
    samples: ComponentSamples,
    enlarging: Enlarging,
    /// For each column, 3 times the near sample and once the far one.
    sums: Vec<u16>,
    row: Vec<u8>,
}

impl Enlarging {
    fn new(component: &JpegComponent, frame: &JpegFrame) -> Self {
        let times = [0, 1].map(|i| frame.largest[i] / component.factors[i]);
        // libjpeg repeats the samples of narrow images.
        let is_wide = component.size[1] > 2;
        match times {
            [1, 1] => Enlarging::None,
            [1, 2] if is_wide => Enlarging::Across,
            [2, 1] => Enlarging::Down,
            [2, 2] if is_wide => Enlarging::Both,
            times => Enlarging::Repeat(times),
        }
    }
}

impl EnlargedRows {
    pub(super) fn new(
        samples: ComponentSamples,
        component: &JpegComponent,
        frame: &JpegFrame,
    ) -> Self {
        let columns = samples.size[1];
        let times = frame.largest[1] / component.factors[1];
        EnlargedRows {
            enlarging: Enlarging::new(component, frame),
            sums: vec![0; columns],
            row: vec![0; columns * times],
            samples,
        }
    }

    /// Returns the samples of a row of the image, possibly with samples past its edge.
    pub(super) fn row(&mut self, at: usize) -> &[u8] {
        let samples = &self.samples;
        match self.enlarging {
            Enlarging::None => return samples.row(at),
            Enlarging::Across => across(samples.row(at), &mut self.row),
            Enlarging::Down => {
                let bias = 1 + at as u16 % 2;
                add_far(samples, at, &mut self.sums);
                for (to, sum) in self.row.iter_mut().zip(&self.sums) {
                    *to = ((sum + bias) >> 2) as u8;
                }
            }
            Enlarging::Both => {
                add_far(samples, at, &mut self.sums);
                both(&self.sums, &mut self.row);
            }
            Enlarging::Repeat([down, times]) => {
                let from = samples.row(at / down);
                for (to, from) in self.row.chunks_exact_mut(times).zip(from) {
                    to.fill(*from);
                }
            }
        }
        &self.row
    }
}

/// Sets 3 times the samples of the row nearest to a row of the image, plus once the samples of the
/// next nearest row. The first and last rows use themselves.
fn add_far(samples: &ComponentSamples, at: usize, sums: &mut [u16]) {
    let near = at / 2;
    let last = samples.size[0] - 1;
    let far = match at % 2 {
        0 => near.saturating_sub(1),
        _ => (near + 1).min(last),
    };
    let rows = samples.row(near).iter().zip(samples.row(far));
    for (sum, (near, far)) in sums.iter_mut().zip(rows) {
        *sum = 3 * u16::from(*near) + u16::from(*far);
    }
}

fn across(from: &[u8], to: &mut [u8]) {
    let (first, last) = (from[0], from[from.len() - 1]);
    let end = to.len() - 1;
    to[0] = first;
    to[end] = last;
    let pairs = from.windows(2).zip(to[1..end].chunks_exact_mut(2));
    for (from, to) in pairs {
        let [left, right] = [u16::from(from[0]), u16::from(from[1])];
        to[0] = ((3 * left + right + 2) >> 2) as u8;
        to[1] = ((3 * right + left + 1) >> 2) as u8;
    }
}

fn both(sums: &[u16], to: &mut [u8]) {
    let (first, last) = (sums[0], sums[sums.len() - 1]);
    let end = to.len() - 1;
    to[0] = ((4 * first + 8) >> 4) as u8;
    to[end] = ((4 * last + 7) >> 4) as u8;
    let pairs = sums.windows(2).zip(to[1..end].chunks_exact_mut(2));
    for (sums, to) in pairs {
        let [left, right] = [sums[0], sums[1]];
        to[0] = ((3 * left + right + 7) >> 4) as u8;
        to[1] = ((3 * right + left + 8) >> 4) as u8;
    }
}
