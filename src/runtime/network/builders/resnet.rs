//! Residual networks of basic blocks with the small-image stem
//! (He et al., "Deep residual learning", sections 3.3 and 4.2).

use serde::{Deserialize, Serialize};

use super::residual::basic_block;
use super::{classify, enter};
use crate::network::{Conv2d, Graph, GraphBuilder, GraphError, Norm, Shape};

/// A 3×3 stem, then stages of basic blocks; each stage after the first halves the image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resnet {
    /// Channels of each stage.
    pub channels: Vec<usize>,
    /// Basic blocks of each stage.
    pub blocks: Vec<usize>,
    /// Side to which the input is resized first.
    #[serde(default)]
    pub upscale: Option<usize>,
}

impl Resnet {
    pub(super) fn build(&self, input: Shape, classes: usize) -> Result<Graph, GraphError> {
        if self.channels.is_empty() || self.channels.len() != self.blocks.len() {
            return Err(GraphError::Layer {
                layer: "resnet".into(),
                reason: format!(
                    "channels and blocks have one entry per stage, found {} and {}",
                    self.channels.len(),
                    self.blocks.len()
                ),
            });
        }
        let mut b = GraphBuilder::new(input);
        let x = enter(&mut b, self.upscale)?;
        let stem = Conv2d::new(self.channels[0], 3).padded(1);
        let mut x = b.conv_bn("conv1", "bn1", stem, x, Norm::RELU)?;
        for (stage, (&channels, &blocks)) in self.channels.iter().zip(&self.blocks).enumerate() {
            for block in 0..blocks {
                let stride = if stage > 0 && block == 0 { 2 } else { 1 };
                let name = format!("layer{}.{block}", stage + 1);
                x = basic_block(&mut b, &name, x, channels, stride)?;
            }
        }
        classify(b, "fc", x, classes)
    }
}
