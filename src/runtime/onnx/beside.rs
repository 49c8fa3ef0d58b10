//! Files in the model's folder that hold values of the model. They are mapped. Values read from
//! them may stay in the file, as for the model's own file.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use prost::bytes::Bytes;

use super::proto::TensorProto;
use crate::lock::lock;
use crate::network::{Map, WeightsError};
use crate::reading::ReadError;

/// A mapped file and its bytes.
#[derive(Clone, Debug)]
pub(super) struct MappedFile {
    pub(super) map: Arc<Map>,
    pub(super) bytes: Bytes,
}

/// A mapped file as the owner of its bytes.
struct MapOwner(Arc<Map>);

impl AsRef<[u8]> for MapOwner {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}

impl MappedFile {
    /// Maps the regular file at `path`.
    pub(super) fn open(path: &Path) -> Result<Self, WeightsError> {
        let map = Arc::new(Map::open(path)?);
        let bytes = Bytes::from_owner(MapOwner(Arc::clone(&map)));
        Ok(MappedFile { map, bytes })
    }

    /// Returns `bytes` bytes from `offset` on.
    fn range(&self, offset: u64, bytes: usize) -> io::Result<Bytes> {
        let size = self.bytes.len();
        let start = usize::try_from(offset).ok();
        let range = start.and_then(|start| Some(start..start.checked_add(bytes)?));
        match range.filter(|range: &Range<usize>| range.end <= size) {
            Some(range) => {
                self.map.count_read(bytes);
                Ok(self.bytes.slice(range))
            }
            None => {
                let why = format!("expected {bytes} bytes from byte {offset}, the file has {size}");
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, why))
            }
        }
    }
}

/// The external files of a model.
#[derive(Debug)]
pub(super) struct FilesBeside {
    folder: PathBuf,
    /// The files that were read, by their names in the model.
    open: Mutex<BTreeMap<String, MappedFile>>,
}

impl FilesBeside {
    /// Creates the files in a model's folder without opening them.
    pub(super) fn in_folder(folder: &Path) -> Self {
        FilesBeside {
            folder: folder.to_owned(),
            open: Mutex::default(),
        }
    }

    /// Returns the files that were read.
    pub(super) fn maps(&self) -> Vec<Arc<Map>> {
        let open = lock(&self.open);
        open.values().map(|file| Arc::clone(&file.map)).collect()
    }

    /// Returns the bytes of a tensor's `count` values of `size` bytes each.
    pub(super) fn bytes(
        &self,
        tensor: &TensorProto,
        count: usize,
        size: usize,
    ) -> Result<Bytes, ReadError> {
        let name = location(tensor);
        let fail = |error: ReadError| error.at(format_args!("its values are in `{name}`"));
        let number = |key: &str| match entry(tensor, key) {
            None => Ok(None),
            Some(text) => text.parse::<u64>().map(Some).map_err(|_| {
                let found = format_args!("`{text}`");
                fail(ReadError::expected("a whole number", found).at(key))
            }),
        };
        let bytes = count.saturating_mul(size);
        let offset = number("offset")?.unwrap_or(0);
        if let Some(length) = number("length")?
            && length != bytes as u64
        {
            let found = usize::try_from(length).unwrap_or(usize::MAX) / size.max(1);
            return Err(ReadError::expected(format_args!("{count} values"), found));
        }
        let file = self.file(name)?.map_err(|e| fail(ReadError::new(e)))?;
        let range = file.range(offset, bytes);
        range.map_err(|e| fail(ReadError::new(e)))
    }

    /// Returns a file. It is mapped only once.
    fn file(&self, name: &str) -> Result<Result<MappedFile, WeightsError>, ReadError> {
        let mut open = lock(&self.open);
        if let Some(file) = open.get(name) {
            return Ok(Ok(file.clone()));
        }
        let made = match inside(&self.folder, name)? {
            Ok(path) => MappedFile::open(&path),
            Err(error) => Err(error.into()),
        };
        if let Ok(file) = &made {
            open.insert(name.to_owned(), file.clone());
        }
        Ok(made)
    }
}

/// Returns the name of the file that holds a tensor's values.
pub(super) fn location(tensor: &TensorProto) -> &str {
    entry(tensor, "location").unwrap_or_default()
}

fn entry<'t>(tensor: &'t TensorProto, key: &str) -> Option<&'t str> {
    let mut entries = tensor.external_data.iter();
    let found = entries.find(|e| e.key.as_deref() == Some(key));
    found.and_then(|e| e.value.as_deref())
}

/// Returns the path of the file `name` if it lies in `folder` after following symbolic links.
fn inside(folder: &Path, name: &str) -> Result<io::Result<PathBuf>, ReadError> {
    let normal = |c: Component<'_>| matches!(c, Component::Normal(_) | Component::CurDir);
    if name.is_empty() || !Path::new(name).components().all(normal) {
        return Err(ReadError::new(format_args!(
            "its values are in `{name}`, which is not a path inside the model's folder"
        )));
    }
    let real = |path: &Path| path.canonicalize();
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let (root, path) = match (real(folder), real(&folder.join(name))) {
        (Ok(root), Ok(path)) => (root, path),
        (Err(e), _) | (_, Err(e)) => return Ok(Err(e)),
    };
    match path.starts_with(root) {
        true => Ok(Ok(path)),
        false => Err(ReadError::new(format_args!(
            "its values are in `{name}`, a link out of the model's folder; replace it with a copy \
             (for a Hugging Face cache: download with `--local-dir`)"
        ))),
    }
}
