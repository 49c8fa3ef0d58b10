//! The network that a calibration belongs to, by its graph and its weights.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::network::{Graph, Weights};

/// A digest of a network's graph and weights.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NetworkDigest(String);

impl NetworkDigest {
    /// Returns the digest of a network. Layers that an ensemble adds after its answer do not count,
    /// because they have no weights.
    pub fn from_network(graph: &Graph, weights: &Weights) -> Self {
        let mut hash = Sha256::new();
        add(&mut hash, format!("input {:?}", graph.input().stored()));
        for node in &graph.nodes()[..own_nodes(graph)] {
            let (op, inputs, origins) = (node.op, &node.inputs, &node.origins);
            let text = format!("{} {op:?} {inputs:?} {origins:?}", node.name);
            add(&mut hash, text);
        }
        match weights.seed() {
            Some(seed) => add(&mut hash, format!("seed {seed}")),
            None => add_weights(&mut hash, graph, weights),
        }
        NetworkDigest(hash.finalize().iter().map(|b| format!("{b:02x}")).collect())
    }
}

fn add(hash: &mut Sha256, text: String) {
    hash.update(text.as_bytes());
    hash.update([0]);
}

fn add_weights(hash: &mut Sha256, graph: &Graph, weights: &Weights) {
    for parameter in graph.parameters() {
        add(hash, format!("{} {:?}", parameter.name, parameter.shape));
        for piece in weights.read(&parameter.name).chunks(PIECE) {
            let bytes: Vec<u8> = piece.iter().flat_map(|v| v.to_le_bytes()).collect();
            hash.update(&bytes);
        }
    }
    weights.release();
}

/// The number of values hashed at once.
const PIECE: usize = 4096;

impl fmt::Display for NetworkDigest {
    /// Writes the first digits, which are enough to distinguish networks.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.12}", self.0)
    }
}

/// The end of the names of layers added after a network's answer.
const ADDED: &str = ".of.answer";

/// Returns the number of nodes that are the network's own.
pub(super) fn own_nodes(graph: &Graph) -> usize {
    let nodes = graph.nodes();
    let added = nodes.iter().rev();
    let added = added.take_while(|node| node.name.ends_with(ADDED));
    nodes.len() - added.count()
}
