//! Fits images of any size to samples, as torchvision's `Resize` and `CenterCrop` do.

use std::ops::Range;

use divisi_runtime::reading::ReadError;

use super::pixels::check_size;

/// How an image of another size becomes a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImageFit {
    /// Resizes it to the sample's height and width, regardless of its proportions.
    #[default]
    Stretch,
    /// Resizes its shorter side to `resize` pixels, if set, and cuts out the centre.
    Crop {
        /// The number of pixels of the shorter side.
        resize: Option<usize>,
    },
}

/// The height and width of a resized image, and the part of it that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ImageWindow {
    /// Height and width.
    pub size: [usize; 2],
    /// Rows and columns.
    pub part: [Range<usize>; 2],
}

impl ImageFit {
    /// Returns the resizing and crop that convert an image of one size to a sample of another.
    ///
    /// # Errors
    /// The image is smaller than the kept part.
    pub(super) fn window(
        self,
        image: [usize; 2],
        sample: [usize; 2],
    ) -> Result<ImageWindow, ReadError> {
        let size = match self {
            ImageFit::Stretch => sample,
            ImageFit::Crop { resize: None } => image,
            ImageFit::Crop { resize: Some(side) } => with_shorter_side(image, side),
        };
        if size[0] < sample[0] || size[1] < sample[1] {
            let ([height, width], [rows, columns]) = (sample, size);
            return Err(ReadError::expected(
                format_args!("at least {width}×{height} pixels (width×height) for the crop"),
                format_args!("{columns}×{rows}; set `input.resize` to resize first"),
            ));
        }
        let part = [0, 1].map(|axis| {
            let first = half_to_even(size[axis] - sample[axis]);
            first..first + sample[axis]
        });
        Ok(ImageWindow { size, part })
    }
}

impl ImageFit {
    /// Returns the factors by which rows and columns of an image grow when it becomes a sample, and
    /// the number of pixels cut off before the first kept one.
    ///
    /// # Errors
    /// As for the image itself: it is too large, or smaller than the crop.
    pub(in crate::ensemble::samples) fn place(
        self,
        image: [usize; 2],
        sample: [usize; 2],
    ) -> Result<[(f64, f64); 2], ReadError> {
        check_size(image[1], image[0])?;
        let window = self.window(image, sample)?;
        let of = |axis: usize| {
            let factor = window.size[axis] as f64 / image[axis] as f64;
            (factor, window.part[axis].start as f64)
        };
        Ok([of(0), of(1)])
    }
}

/// Returns the size of an image whose shorter side has `side` pixels. The longer side is rounded
/// down.
fn with_shorter_side([height, width]: [usize; 2], side: usize) -> [usize; 2] {
    let longer = |long: usize, short: usize| {
        let scaled = side as u64 * long as u64 / short.max(1) as u64;
        usize::try_from(scaled).unwrap_or(usize::MAX)
    };
    match height <= width {
        true => [side, longer(width, height)],
        false => [longer(height, width), side],
    }
}

/// Returns half of a number, rounded half to even.
fn half_to_even(number: usize) -> usize {
    let half = number / 2;
    half + (number % 2) * (half % 2)
}
