//! The questions to a contestant.

use std::path::PathBuf;

use serde::Deserialize;

/// One line of standard input.
#[derive(Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase")]
pub enum Ask {
    /// Read a network and answer its input once; another one is loaded beside it.
    Load(Load),
    /// Answer the input of the first network again and again.
    Run(Turn),
    /// Let networks run at once, each on its own core.
    Beside(Beside),
    /// Write the first network's answer as npy.
    Answer { output: PathBuf },
    /// The memory of this process, by the system.
    Memory,
}

/// A network with its weights, its input and where it runs.
#[derive(Debug, Deserialize)]
pub struct Load {
    /// A builder's name.
    pub network: String,
    /// Shape of a sample: channels, height, width.
    pub shape: [usize; 3],
    /// Safetensors.
    pub weights: PathBuf,
    /// Float32 npy, `[batch, channels, height, width]`.
    pub input: PathBuf,
    /// One thread a core.
    pub cores: Vec<usize>,
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
