//! In which order files hold the values of an image.

use std::str::FromStr;

use serde::Deserialize;

use crate::network::Shape;

/// In which order files hold the values of an image. Networks take channels first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// Channel by channel: `[channels, height, width]`, as PyTorch has them.
    #[default]
    Nchw,
    /// Pixel by pixel: `[height, width, channels]`, as files of images and TensorFlow
    /// have them.
    Nhwc,
}

impl Layout {
    /// Every layout.
    pub const ALL: [Layout; 2] = [Layout::Nchw, Layout::Nhwc];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Layout::Nchw => "nchw",
            Layout::Nhwc => "nhwc",
        }
    }

    /// What the dimensions of a sample are in a file.
    pub fn dimensions(self, shape: Shape) -> Vec<usize> {
        match (self, shape) {
            (
                Layout::Nhwc,
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
        self == Layout::Nchw || !many
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

impl FromStr for Layout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Layout::ALL.into_iter().find(|l| l.name() == text);
        found.ok_or_else(|| format!("expected nchw or nhwc, found `{text}`"))
    }
}
