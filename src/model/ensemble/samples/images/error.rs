//! Why an image is no sample.

use thiserror::Error;

/// Why an image is no sample.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ImageError {
    /// Its first bytes are those of no format that is read.
    #[error("expected a PNG, JPEG or WebP image, found other bytes")]
    Format,
    /// It is damaged, or of a kind that cannot be read.
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
        /// The most pixels of a side.
        most_side: usize,
        /// The most pixels.
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
        /// The pixels that it claims.
        pixels: usize,
    },
    /// There is no memory to decode it.
    #[error("not enough memory for its {0} bytes")]
    Memory(usize),
    /// It is smaller than what is cut out of it.
    #[error(
        "expected at least {0}×{1} pixels (width×height) for the crop, found {2}×{3}; set \
         `input.resize` to resize first",
        wanted[1], wanted[0], found[1], found[0]
    )]
    Small {
        /// The height and width that are cut out.
        wanted: [usize; 2],
        /// The height and width that there are.
        found: [usize; 2],
    },
    /// It has colours where its pixels should be numbers of classes.
    #[error("expected a greyscale or palette PNG with class numbers as pixels")]
    Colours,
    /// The input takes no images.
    #[error("expected an input of 1 channel (grey) or 3 (red, green, blue) for images, found {0}")]
    Input(String),
}
