//! The reason why an image is not a sample.

use thiserror::Error;

/// The reason why an image is not a sample.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ImageError {
    /// Its first bytes do not belong to a supported format.
    #[error("expected a PNG, JPEG or WebP image, found other bytes")]
    Format,
    /// It is damaged, or of an unsupported kind.
    #[error("not a readable {format} image: {reason}")]
    Damaged {
        /// Its format.
        format: &'static str,
        /// The decoder's reason.
        reason: String,
    },
    /// It ends early.
    #[error("truncated: the {0} image has no end")]
    Truncated(&'static str),
    /// It has too many pixels.
    #[error(
        "expected at most {most_side} pixels per side and {most} in total, found \
             {width}×{height}"
    )]
    Large {
        /// The maximum number of pixels of a side.
        most_side: usize,
        /// The maximum number of pixels.
        most: usize,
        /// Its width in pixels.
        width: usize,
        /// Its height in pixels.
        height: usize,
    },
    /// It claims more pixels than a file of its length can hold.
    #[error("expected a longer file for {pixels} pixels, found {bytes} bytes")]
    Claim {
        /// The length of the file in bytes.
        bytes: usize,
        /// The claimed number of pixels.
        pixels: usize,
    },
    /// There is not enough memory to decode it.
    #[error("not enough memory for its {0} bytes")]
    Memory(usize),
    /// It is smaller than the crop.
    #[error(
        "expected at least {0}×{1} pixels (width×height) for the crop, found {2}×{3}; set \
         `input.resize` to resize first",
        wanted[1], wanted[0], found[1], found[0]
    )]
    Small {
        /// The height and width of the crop.
        wanted: [usize; 2],
        /// The height and width of the image.
        found: [usize; 2],
    },
    /// It has colours, but its pixels should be class numbers.
    #[error("expected a greyscale or palette PNG with class numbers as pixels")]
    Colours,
    /// The input takes no images.
    #[error("expected an input of 1 channel (grey) or 3 (red, green, blue) for images, found {0}")]
    Input(String),
}
