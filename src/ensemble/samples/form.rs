//! The form of samples, known before their file is read: shape, layout, classes.

use std::str::FromStr;

use serde::Deserialize;

use crate::network::Shape;

/// In which order files hold the values of an image. Networks take channels first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImageLayout {
    /// Channel by channel: `[channels, height, width]`, as PyTorch has them.
    #[default]
    Nchw,
    /// Pixel by pixel: `[height, width, channels]`, as files of images and TensorFlow
    /// have them.
    Nhwc,
}

impl ImageLayout {
    /// Every layout.
    pub const ALL: [ImageLayout; 2] = [ImageLayout::Nchw, ImageLayout::Nhwc];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            ImageLayout::Nchw => "nchw",
            ImageLayout::Nhwc => "nhwc",
        }
    }

    /// What the dimensions of a sample are in a file.
    pub fn dimensions(self, shape: Shape) -> Vec<usize> {
        match (self, shape) {
            (
                ImageLayout::Nhwc,
                Shape::Image {
                    channels,
                    height,
                    width,
                },
            ) => vec![height, width, channels],
            _ => shape.into(),
        }
    }

    /// Whether files hold such samples as networks take them.
    pub fn is_plain(self, shape: Shape) -> bool {
        let many = matches!(shape, Shape::Image { channels: 2.., .. });
        self == ImageLayout::Nchw || !many
    }

    /// Puts samples of `shape` that were read in this layout into the order of networks.
    pub fn to_planes(self, shape: Shape, samples: &mut [f32]) {
        let Shape::Image {
            channels,
            height,
            width,
        } = shape
        else {
            return;
        };
        if self.is_plain(shape) {
            return;
        }
        let plane = height * width;
        let mut planes = vec![0.0; channels * plane];
        for sample in samples.chunks_exact_mut(channels * plane) {
            for (pixel, values) in sample.chunks_exact(channels).enumerate() {
                for (channel, value) in values.iter().enumerate() {
                    planes[channel * plane + pixel] = *value;
                }
            }
            sample.copy_from_slice(&planes);
        }
    }
}

impl FromStr for ImageLayout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = ImageLayout::ALL.into_iter().find(|l| l.name() == text);
        found.ok_or_else(|| format!("expected nchw or nhwc, found `{text}`"))
    }
}

/// What is known of samples before their file is read.
#[derive(Clone, Copy, Debug)]
pub struct SampleForm<'a> {
    /// Of one sample, as networks take it.
    pub shape: Shape,
    pub layout: ImageLayout,
    pub classes: Classes<'a>,
}

/// The classes that labels may name.
#[derive(Clone, Copy, Debug)]
pub struct Classes<'a> {
    pub count: usize,
    /// One a class, where they have names.
    pub names: Option<&'a [String]>,
}

/// A whole number, which may be written with a fraction of 0: `3.0`.
fn whole(text: &str) -> Option<usize> {
    let digits = match text.split_once('.') {
        Some((digits, fraction)) if fraction.bytes().all(|b| b == b'0') => digits,
        _ => text,
    };
    digits.parse().ok()
}

/// Names of classes that a message lists at most.
const MOST_NAMES: usize = 5;

impl<'a> SampleForm<'a> {
    /// Samples of a shape, channels first, with labels of any class.
    pub fn new(shape: Shape) -> Self {
        SampleForm {
            shape,
            layout: ImageLayout::default(),
            classes: Classes::any(),
        }
    }

    /// The same with labels below `count`.
    #[must_use]
    pub fn classes(self, count: usize, names: Option<&'a [String]>) -> Self {
        let classes = Classes { count, names };
        SampleForm { classes, ..self }
    }
}

impl Classes<'_> {
    /// Any number is a class.
    pub fn any() -> Self {
        Classes {
            count: usize::MAX,
            names: None,
        }
    }

    /// The class of that number.
    ///
    /// # Errors
    /// What was expected.
    pub fn numbered(&self, number: i128) -> Result<usize, String> {
        let class = usize::try_from(number).ok().filter(|&c| c < self.count);
        class.ok_or_else(|| self.expected(&number.to_string()))
    }

    /// The class that a text names, by its name or its number.
    ///
    /// # Errors
    /// What was expected, or that the text is the name of one class and the number of
    /// another.
    pub fn named(&self, text: &str) -> Result<usize, String> {
        let text = text.trim();
        let names = self.names.unwrap_or_default();
        let by_name = names.iter().position(|name| name == text);
        let by_number = whole(text).filter(|&c| c < self.count);
        match (by_name, by_number) {
            (Some(name), Some(number)) if name != number => Err(format!(
                "`{text}` is the name of class {name} and the number of class {number}; give \
                 numbers in an .npy of integers, or names that are no numbers"
            )),
            (Some(class), _) | (None, Some(class)) => Ok(class),
            (None, None) => Err(self.expected(text)),
        }
    }

    fn expected(&self, found: &str) -> String {
        let found = found.escape_debug();
        let Some(names) = self.names else {
            let most = self.count;
            return format!("expected a class below {most}, found `{found}`");
        };
        let shown = names.iter().take(MOST_NAMES).map(|n| format!("`{n}`"));
        let mut shown = shown.collect::<Vec<_>>().join(", ");
        if let Some(more @ 1..) = names.len().checked_sub(MOST_NAMES) {
            shown += &format!(" and {more} more");
        }
        format!(
            "expected a class below {} or one of {shown}, found `{found}`",
            self.count
        )
    }
}
