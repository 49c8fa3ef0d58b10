//! The part of an entry's configuration that clients see as written.

use divisi_runtime::tensor::DataType;

/// The part of an entry's configuration that clients see as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryConfig {
    /// Its platform, if set.
    pub platform: Option<String>,
    /// Its backend, if set.
    pub backend: Option<String>,
    /// The name of its file, if it is not the usual name.
    pub model_file: Option<String>,
    /// The served versions.
    pub versions: VersionPolicy,
    /// The inputs with written settings.
    pub inputs: Vec<ConfiguredTensor>,
    /// The outputs with written settings.
    pub outputs: Vec<ConfiguredTensor>,
    /// The batching settings, if set.
    pub batching: Option<ConfiguredBatching>,
    /// Requests that run before clients are admitted.
    pub warmup: Vec<Warmup>,
    /// Parameters by name.
    pub parameters: Vec<(String, String)>,
}

/// The settings of an input or output other than its type and dimensions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfiguredTensor {
    /// Its name.
    pub name: String,
    /// The dimensions that the model itself has, if they differ.
    pub reshape: Option<Vec<i64>>,
    /// The order of its dimensions.
    pub format: TensorFormat,
    /// The file with the names of its values, if set.
    pub label_file: Option<String>,
}

/// The order of the dimensions of an image input: a hint for clients that prepare images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TensorFormat {
    /// Not set.
    #[default]
    None,
    /// Height, width, channels.
    Nhwc,
    /// Channels, height, width.
    Nchw,
}

/// The batching settings as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfiguredBatching {
    /// The preferred batch sizes.
    pub preferred: Vec<usize>,
    /// Whether answers keep the order of their requests.
    pub preserve_ordering: bool,
}

/// The policy that selects the served versions of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionPolicy {
    /// This number of versions, the highest ones.
    Latest(u32),
    /// All versions.
    All,
    /// These versions.
    Specific(Vec<u64>),
}

impl Default for VersionPolicy {
    fn default() -> Self {
        VersionPolicy::Latest(1)
    }
}

impl VersionPolicy {
    /// Returns the served versions of the existing versions, ascending.
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

/// A request that runs before clients are admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warmup {
    /// Its name.
    pub name: String,
    /// Its batch size. A warm-up with batch size 0 is skipped.
    pub rows: usize,
    /// The number of runs; 0 also means one.
    pub count: usize,
    /// Its inputs.
    pub inputs: Vec<WarmupInput>,
}

/// An input of a warm-up request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarmupInput {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub data_type: DataType,
    /// The dimensions of a row.
    pub dims: Vec<i64>,
    /// The source of its values, if set.
    pub data: Option<WarmupData>,
}

/// The source of the values of a warm-up input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WarmupData {
    /// Zeros.
    Zeros,
    /// Random numbers.
    Random,
    /// The bytes of a file in the model's folder `warmup`.
    File(String),
}
