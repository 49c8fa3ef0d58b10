//! The configuration of an entry, as far as its clients are told it as it is written.

use divisi_runtime::tensor::DataType;

/// See the module's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryConfig {
    /// Its platform, if it names one.
    pub platform: Option<String>,
    /// Its backend, if it names one.
    pub backend: Option<String>,
    /// The name of its file, if it is another than usual.
    pub model_file: Option<String>,
    /// The versions that are served.
    pub versions: VersionPolicy,
    /// The inputs of which something is written.
    pub inputs: Vec<ConfiguredTensor>,
    /// The outputs of which something is written.
    pub outputs: Vec<ConfiguredTensor>,
    /// How requests become batches, if something is written of it.
    pub batching: Option<ConfiguredBatching>,
    /// Requests that are run before others are let in.
    pub warmup: Vec<Warmup>,
    /// Parameters by name.
    pub parameters: Vec<(String, String)>,
}

/// An input or output as it is written, beside its type and dimensions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfiguredTensor {
    /// Its name.
    pub name: String,
    /// The dimensions that the model itself has, where these are others.
    pub reshape: Option<Vec<i64>>,
    /// The order of its dimensions.
    pub format: TensorFormat,
    /// The file with the names of its values, if it has one.
    pub label_file: Option<String>,
}

/// The order of the dimensions of an input that is an image: a hint for clients that prepare it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TensorFormat {
    /// None is said.
    #[default]
    None,
    /// Height, width, channels.
    Nhwc,
    /// Channels, height, width.
    Nchw,
}

/// How requests become batches, as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfiguredBatching {
    /// The sizes that are preferred.
    pub preferred: Vec<usize>,
    /// Whether answers keep the order of their requests.
    pub preserve_ordering: bool,
}

/// The versions of a model that are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionPolicy {
    /// The highest ones, so many.
    Latest(u32),
    /// All.
    All,
    /// These.
    Specific(Vec<u64>),
}

impl Default for VersionPolicy {
    fn default() -> Self {
        VersionPolicy::Latest(1)
    }
}

impl VersionPolicy {
    /// Returns the versions that are served of those that there are, ascending.
    pub fn select(&self, there: &[u64]) -> Vec<u64> {
        let mut sorted = there.to_vec();
        sorted.sort_unstable();
        match self {
            VersionPolicy::All => sorted,
            VersionPolicy::Latest(count) => {
                let first = sorted.len().saturating_sub(*count as usize);
                sorted.split_off(first)
            }
            VersionPolicy::Specific(wanted) => {
                sorted.retain(|version| wanted.contains(version));
                sorted
            }
        }
    }
}

/// A request that is to be run before others are let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warmup {
    /// Its name.
    pub name: String,
    /// Its batch size; a warm-up of 0 is skipped.
    pub rows: usize,
    /// How often it is run; 0 for once.
    pub count: usize,
    /// Its inputs.
    pub inputs: Vec<WarmupInput>,
}

/// An input of such a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarmupInput {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub data_type: DataType,
    /// The dimensions of a row.
    pub dims: Vec<i64>,
    /// Where its values are from, if something is written of it.
    pub data: Option<WarmupData>,
}

/// The values of such an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WarmupData {
    /// Zeros.
    Zeros,
    /// Random numbers.
    Random,
    /// The bytes of a file in the folder `warmup` of the model.
    File(String),
}
