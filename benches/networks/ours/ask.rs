//! The questions to a contestant.

use std::path::PathBuf;

use serde::Deserialize;

/// One line of standard input.
#[derive(Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase")]
pub enum Ask {
    /// Write an encoder's graph as JSON and its weights as safetensors.
    Describe(Describe),
    /// Read a network and answer its input once; another one is loaded beside it.
    Load(Load),
    /// Read another input of as many samples for the first network.
    Take { input: PathBuf },
    /// Answer the input of the first network again and again.
    Run(Turn),
    /// Let networks run at once, each on its own core.
    Beside(Beside),
    /// Write the first network's answer as npy.
    Answer { output: PathBuf },
    /// The memory of this process, by the system.
    Memory,
}

/// An encoder, and where its files go.
#[derive(Debug, Deserialize)]
pub struct Describe {
    /// `encoder-` and its tokens.
    pub network: String,
    /// Of the weights.
    pub seed: u64,
    pub graph: PathBuf,
    pub weights: PathBuf,
}

/// A network with its weights, its input and where it runs.
#[derive(Debug, Deserialize)]
pub struct Load {
    /// A builder's name, or `encoder-` and its tokens.
    pub network: String,
    /// Shape of a sample: channels, height, width, or tokens and features.
    pub shape: Vec<usize>,
    /// The origin of the layers and the weights.
    pub source: Source,
    /// The numbers of products: `f32`, `bf16` or `int8`.
    pub precision: String,
    /// Safetensors.
    pub weights: PathBuf,
    /// The same network as an ONNX file.
    pub model: PathBuf,
    /// Float32 npy, `[batch, …]`.
    pub input: PathBuf,
    /// One thread a core.
    pub cores: Vec<usize>,
}

/// The origin of a network.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A builder's layers, and safetensors.
    Builder,
    /// An ONNX file.
    File,
}

/// Which networks run at once, and how long.
#[derive(Debug, Deserialize)]
pub struct Beside {
    /// Positions among the loaded networks.
    pub networks: Vec<usize>,
    #[serde(flatten)]
    pub turn: Turn,
}

/// How long to run.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Turn {
    /// At least this long.
    pub seconds: f64,
    /// At least so many batches.
    pub least: usize,
}
