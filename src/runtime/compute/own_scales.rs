//! Networks of files that were quantised before, which have scales of their own.

use std::fmt;

use serde::Serialize;

use super::calibration::is_weighted;
use super::family::Family;
use super::planned::layers_in_bytes;
use crate::network::Graph;
use crate::words::counted;

/// The layers of a network whose values and weights are already rounded in its file, by the file's
/// own scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OwnScales {
    /// Layers with weights.
    pub weighted: usize,
    /// The layers that have such scales.
    pub layers: usize,
    /// The layers that the kernels in use multiply in bytes. The others compute in float32 with the
    /// same rounded numbers.
    pub in_bytes: usize,
}

impl OwnScales {
    /// Returns the scales of a network's file, or `None` if none of its layers has such scales.
    pub fn from_graph(graph: &Graph) -> Option<Self> {
        let weighted = (0..graph.nodes().len()).filter(|&node| is_weighted(graph, node));
        let weighted: Vec<usize> = weighted.collect();
        let own = weighted.iter().filter(|&&node| has_own(graph, node));
        let layers = own.count();
        (layers > 0).then(|| OwnScales {
            weighted: weighted.len(),
            layers,
            in_bytes: layers_in_bytes(graph, Family::best().into()),
        })
    }

    /// Returns whether a calibration would change no layer.
    pub fn is_whole(self) -> bool {
        self.layers == self.weighted
    }
}

impl fmt::Display for OwnScales {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layers = counted(self.layers, "layer");
        match self.in_bytes.min(self.layers) {
            0 => write!(
                f,
                "has the file's own scales ({layers}); the kernels in use compute in float32"
            ),
            all if all == self.layers => {
                write!(f, "computes in int8 with the file's own scales ({layers})")
            }
            some => write!(
                f,
                "computes in int8 with the file's own scales ({some} of {layers}; the kernels in \
                 use compute the others in float32)"
            ),
        }
    }
}

/// Returns whether a layer reads values that the network rounds, with weights that are whole
/// multiples of a step.
fn has_own(graph: &Graph, node: usize) -> bool {
    let read = graph.nodes()[node].inputs[0].index();
    let mut ranged = graph.roundings();
    graph.has_stepped_weights(node) || ranged.any(|(value, _)| value == read)
}
