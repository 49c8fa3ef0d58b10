//! Files of other formats, recognised by their first bytes.

use std::fmt;

/// A format that was found in place of safetensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// PyTorch's checkpoint: a zip with a pickle in it.
    TorchZip,
    /// A checkpoint of PyTorch before 1.6: pickles, one after the other.
    TorchPickle,
    /// A checkpoint of PyTorch before 0.1.10: a tar.
    TorchTar,
    /// An ONNX model.
    Onnx,
    /// NumPy's arrays in a zip.
    Npz,
    /// One NumPy array.
    Npy,
    /// A GGUF file, as llama.cpp reads it.
    Gguf,
    /// An HDF5 file, as Keras writes it.
    Hdf5,
    /// A zip of something else.
    Zip,
    /// A file compressed by gzip.
    Gzip,
    /// The pointer that Git LFS leaves in place of a large file.
    LfsPointer,
    /// An HTML page in place of a download.
    WebPage,
    /// Text of no format in particular.
    Text,
    /// An index of shards, if the folder of the shards is not known.
    Index,
}

/// The bytes at the end of a zip that are searched for names.
const TAIL: usize = 1 << 16;

impl Foreign {
    /// Returns the format of `file` by its first bytes, or `None` if the format is unknown.
    pub(super) fn recognise(file: &[u8]) -> Option<Self> {
        let starts = |with: &[u8]| file.starts_with(with);
        let pickle = matches!(file, [0x80, 2..=5, ..]);
        Some(match () {
            () if starts(b"PK\x03\x04") => zip(file),
            // An empty one, and one in parts.
            () if starts(b"PK\x05\x06") || starts(b"PK\x07\x08") => Foreign::Zip,
            () if starts(b"\x1f\x8b") => Foreign::Gzip,
            () if starts(b"GGUF") => Foreign::Gguf,
            () if starts(b"\x93NUMPY") => Foreign::Npy,
            () if starts(b"\x89HDF\r\n\x1a\n") => Foreign::Hdf5,
            () if starts(b"version https://git-lfs") => Foreign::LfsPointer,
            () if is_page(file) => Foreign::WebPage,
            () if file.get(257..262) == Some(b"ustar") => Foreign::TorchTar,
            () if is_old_tar(file) => Foreign::TorchTar,
            () if pickle => Foreign::TorchPickle,
            () if is_onnx(file) => Foreign::Onnx,
            () if is_text(file) => Foreign::Text,
            () => return None,
        })
    }
}

/// Distinguishes zips by their first name, or by the names listed at their end.
fn zip(file: &[u8]) -> Foreign {
    let first = || {
        let length = file.get(26..28)?;
        let length = usize::from(u16::from_le_bytes([length[0], length[1]]));
        file.get(30..30 + length)
    };
    let tail = &file[file.len().saturating_sub(TAIL)..];
    let named = |name: &[u8]| {
        let within = |bytes: &[u8]| bytes.windows(name.len()).any(|w| w == name);
        first().is_some_and(within) || within(tail)
    };
    match () {
        () if named(b"data.pkl") => Foreign::TorchZip,
        () if named(b".npy") => Foreign::Npz,
        () => Foreign::Zip,
    }
}

/// Returns whether a file begins with a member of PyTorch's tar, which may lack the magic number of
/// later tars.
fn is_old_tar(file: &[u8]) -> bool {
    let names: [&[u8]; 4] = [b"sys_info\0", b"pickle\0", b"storages\0", b"tensors\0"];
    file.len() >= 512 && names.iter().any(|name| file.starts_with(name))
}

fn is_page(file: &[u8]) -> bool {
    let start: Vec<u8> = file.iter().take(64).map(u8::to_ascii_lowercase).collect();
    let start = start.trim_ascii_start();
    start.starts_with(b"<!doctype html") || start.starts_with(b"<html")
}

/// The bytes examined to detect text.
const LETTERS: usize = 256;

/// Returns whether a file is UTF-8 without control characters. JSON is excluded, because it may be
/// an index.
fn is_text(file: &[u8]) -> bool {
    let start = &file[..file.len().min(LETTERS)];
    let text = match str::from_utf8(start) {
        Ok(text) => text,
        // The last letter may be cut.
        Err(e) if e.error_len().is_none() => {
            str::from_utf8(&start[..e.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    let plain = |c: char| !c.is_control() || c.is_ascii_whitespace();
    !text.trim().is_empty() && !text.trim_start().starts_with('{') && text.chars().all(plain)
}

/// Returns whether a file is a protocol buffer that begins with the version of ONNX's format and
/// one of the fields that may follow: the producer, its version, the graph.
fn is_onnx(file: &[u8]) -> bool {
    matches!(file, [0x08, 1..=0x20, 0x12 | 0x1a | 0x22 | 0x3a | 0x42, ..])
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let torch = |what: &str, weights_only: &str| {
            format!(
                "a PyTorch checkpoint ({what}); write it as safetensors in Python: \
                 `from safetensors.torch import save_file; \
                 state = torch.load(FILE, map_location=\"cpu\", weights_only={weights_only}); \
                 save_file({{k: v.contiguous() for k, v in state.items()}}, \"weights.safetensors\")`, \
                 with `state[\"state_dict\"]` or similar if it holds more than tensors"
            )
        };
        let numpy = |arrays: &str| {
            format!(
                "write it as safetensors in Python: `from safetensors.numpy import save_file; \
                 save_file({arrays}, \"weights.safetensors\")`"
            )
        };
        let said = match self {
            Foreign::TorchZip => torch("zip", "True"),
            Foreign::TorchPickle => torch("pickle", "True"),
            Foreign::TorchTar => torch("tar", "False"),
            Foreign::Onnx => format!(
                "an ONNX model; {}, with PyTorch's names",
                numpy(
                    "{t.name: onnx.numpy_helper.to_array(t) for t in onnx.load(FILE).graph.initializer}"
                )
            ),
            Foreign::Npz => {
                format!("NumPy's arrays (.npz); {}", numpy("dict(numpy.load(FILE))"))
            }
            Foreign::Npy => "one NumPy array (.npy), without names; write all tensors as safetensors with their names".into(),
            Foreign::Gguf => "a GGUF file; use the safetensors file it was converted from".into(),
            Foreign::Hdf5 => "an HDF5 file (Keras?); write its tensors as safetensors, with PyTorch's names and order of dimensions".into(),
            Foreign::Zip => "a zip; unpack it, or write its contents as safetensors".into(),
            Foreign::Gzip => "a gzip file; unpack it first".into(),
            Foreign::Text => "text: is this the right file?".into(),
            Foreign::LfsPointer => "a Git LFS pointer instead of the file; run `git lfs pull`".into(),
            Foreign::WebPage => "a web page instead of the file; download it again".into(),
            Foreign::Index => "an index of shards; merge the shards into one file in Python: `tensors = {}; [tensors.update(safetensors.torch.load_file(s)) for s in SHARDS]; safetensors.torch.save_file(tensors, \"weights.safetensors\")`".into(),
        };
        write!(f, "expected safetensors, found {said}")
    }
}
