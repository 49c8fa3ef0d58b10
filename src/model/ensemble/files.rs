//! The files of an ensemble: in a folder, a single network file, or compiled into the program.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use divisi_runtime::network::Shape;
use divisi_runtime::reading;

use super::alone::{is_network, manifest};
use super::manifest::EnsembleError;

/// The files of one ensemble.
#[derive(Clone, Debug)]
pub enum Files {
    /// Files in a folder.
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The name of the manifest in the folder.
        manifest: String,
    },
    /// A network file without a manifest: an ensemble of one member.
    Network {
        /// Its folder.
        folder: PathBuf,
        /// Its name there.
        file: String,
        /// The shape of a sample, if the file leaves dimensions open.
        shape: Option<Shape>,
        /// The length of the longest sample if the file leaves a length open, or `None` for the
        /// default.
        most_length: Option<usize>,
    },
    /// Files compiled into the program.
    Embedded {
        /// The ensemble's name.
        name: &'static str,
        /// Each file's name and bytes.
        files: &'static [(&'static str, &'static [u8])],
    },
}

/// The usual name of a manifest in a folder.
const MANIFEST: &str = "ensemble.toml";

/// The usual name of a pipeline's manifest in a folder.
const PIPELINE: &str = "pipeline.toml";

/// Returns the usual manifest name that exists among files. `is_there` returns whether a file
/// exists.
fn manifest_among(is_there: impl Fn(&str) -> bool) -> &'static str {
    let mut usual = [MANIFEST, PIPELINE].into_iter();
    usual.find(|name| is_there(name)).unwrap_or(MANIFEST)
}

impl Files {
    /// Returns the files of an ensemble from the path of its folder or manifest, or of a single
    /// network file.
    pub fn from_path(path: &Path) -> Self {
        if path.is_dir() {
            let manifest = manifest_among(|name| path.join(name).exists());
            return Files::Folder {
                folder: path.to_owned(),
                manifest: manifest.to_owned(),
            };
        }
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
        match name.unwrap_or_else(|| MANIFEST.to_owned()) {
            file if is_network(path) => Files::Network {
                folder,
                file,
                shape: None,
                most_length: None,
            },
            manifest => Files::Folder { folder, manifest },
        }
    }

    /// Returns the files of a single network for samples of `shape`, or `None` for other files.
    #[must_use]
    pub fn with_shape(self, shape: Shape) -> Option<Self> {
        match self {
            Files::Network { folder, file, .. } => Some(Files::Network {
                folder,
                file,
                shape: Some(shape),
                most_length: None,
            }),
            Files::Folder { .. } | Files::Embedded { .. } => None,
        }
    }

    /// Returns the manifest's name among the files.
    pub fn manifest(&self) -> &str {
        match self {
            Files::Folder { manifest, .. } => manifest,
            Files::Network { file, .. } => file,
            Files::Embedded { files, .. } => {
                manifest_among(|name| files.iter().any(|(file, _)| *file == name))
            }
        }
    }

    /// Returns the name of a file for messages.
    pub fn display(&self, name: &str) -> String {
        match self {
            Files::Folder { folder, .. } | Files::Network { folder, .. } => {
                folder.join(name).display().to_string()
            }
            Files::Embedded { name: ensemble, .. } => format!("{ensemble} (built in)/{name}"),
        }
    }

    /// Returns the path of a file, or `None` if it is compiled into the program.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        match self {
            Files::Folder { folder, .. } | Files::Network { folder, .. } => Some(folder.join(name)),
            Files::Embedded { .. } => None,
        }
    }

    /// Returns the folder of the files, or `None` if they are compiled into the program.
    pub fn folder(&self) -> Option<PathBuf> {
        match self {
            Files::Folder { folder, .. } | Files::Network { folder, .. } => Some(folder.clone()),
            Files::Embedded { .. } => None,
        }
    }

    /// Reads one file.
    ///
    /// # Errors
    /// The file does not exist, cannot be read, or is a pipe, a device or a folder.
    pub fn read(&self, name: &str) -> Result<Vec<u8>, EnsembleError> {
        match self.path(name) {
            Some(path) => reading::bytes(&path).map_err(|e| self.wrong(name, e)),
            None => self.embedded(name).map(<[u8]>::to_vec),
        }
    }

    /// Reads one file as text. For a single network, generates its manifest.
    ///
    /// # Errors
    /// As [`Files::read`], or the file is not UTF-8 or too long.
    pub fn read_text(&self, name: &str) -> Result<String, EnsembleError> {
        self.read_text_within(name, reading::MOST_TEXT)
    }

    /// Reads one file of at most `most` bytes as text.
    ///
    /// # Errors
    /// As [`Files::read_text`], with this limit.
    pub fn read_text_within(&self, name: &str, most: u64) -> Result<String, EnsembleError> {
        if let Files::Network {
            folder,
            file,
            shape,
            most_length,
        } = self
            && file == name
        {
            let made = manifest(&folder.join(file), *shape, *most_length);
            return made.map_err(|e| self.wrong(name, e));
        }
        match self.path(name) {
            Some(path) => reading::text_within(&path, most).map_err(|e| self.wrong(name, e)),
            None => match str::from_utf8(self.embedded(name)?) {
                Ok(text) => Ok(text.to_owned()),
                Err(_) => Err(self.wrong(name, "expected UTF-8 text")),
            },
        }
    }

    /// Returns the compiled-in files of a folder, with their names in it.
    pub(super) fn embedded_folder(&self, folder: &str) -> Vec<(&'static str, &'static [u8])> {
        let within = |name: &'static str| name.strip_prefix(folder)?.strip_prefix('/');
        let files = self.all_embedded().iter();
        files
            .filter_map(|(name, bytes)| Some((within(name)?, *bytes)))
            .collect()
    }

    fn all_embedded(&self) -> &'static [(&'static str, &'static [u8])] {
        match self {
            Files::Folder { .. } | Files::Network { .. } => &[],
            Files::Embedded { files, .. } => files,
        }
    }

    fn embedded(&self, name: &str) -> Result<&'static [u8], EnsembleError> {
        let files = self.all_embedded();
        let found = files.iter().find(|(n, _)| *n == name);
        let found = found.map(|(_, bytes)| *bytes);
        found.ok_or_else(|| self.wrong(name, "no such file"))
    }

    /// Returns the error of a whole file.
    pub(super) fn wrong(&self, name: &str, reason: impl Display) -> EnsembleError {
        EnsembleError::File {
            file: self.display(name),
            reason: reason.to_string(),
        }
    }
}
