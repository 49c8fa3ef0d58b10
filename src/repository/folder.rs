//! The files of a repository. They are found by name, and never outside the repository.

use std::fmt::Display;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use divisi_runtime::reading::{self, ReadError};

use crate::error::LoadFault;

/// The name of a configuration in a model's folder.
pub(crate) const CONFIG: &str = "config.pbtxt";

/// The maximum number of folders of a repository.
const MOST_MODELS: usize = 10_000;

/// The maximum number of bytes of a `config.pbtxt` or a label file.
pub(crate) const MOST_TEXT: u64 = 1 << 20;

/// The maximum number of characters of a model's name, which is a folder name.
const MOST_NAME: usize = 255;

fn of_path(path: &Path, error: ReadError) -> ReadError {
    error.at(path.display())
}

/// A repository's folder, with links resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Root(PathBuf);

impl Root {
    /// Opens the folder at `path`.
    pub(crate) fn open(path: &Path) -> Result<Self, ReadError> {
        let unreadable = |error| of_path(path, ReadError::new(error));
        let root = path.canonicalize().map_err(unreadable)?;
        match root.is_dir() {
            true => Ok(Root(root)),
            false => Err(of_path(
                path,
                ReadError::new("expected a model repository (a folder with one folder per model)"),
            )),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the names of its folders, in order. Hidden folders are not models.
    pub(crate) fn names(&self) -> Result<Vec<String>, ReadError> {
        let unreadable = |error| of_path(&self.0, ReadError::new(error));
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.0).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.starts_with('.') && entry.path().is_dir() {
                names.push(name);
            }
            if names.len() > MOST_MODELS {
                let wrong = format_args!("expected at most {MOST_MODELS} models");
                return Err(of_path(&self.0, ReadError::new(wrong)));
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Returns the folder of a model.
    ///
    /// # Errors
    /// The name is not valid, or leads out of the repository.
    pub(crate) fn model(&self, name: &str) -> Result<ModelFolder<'_>, LoadFault> {
        let shown = !name.trim().is_empty() && !name.chars().any(char::is_control);
        if !shown || name.chars().count() > MOST_NAME {
            let found = name.escape_debug();
            let wrong = format_args!("expected a name of 1 to {MOST_NAME} printable characters");
            return Err(ReadError::new(wrong).at(found).into());
        }
        let folder = ModelFolder {
            root: self,
            name: name.to_owned(),
            has_own_config: true,
        };
        // The replacement character stands for bytes that are not UTF-8.
        if name.contains(char::REPLACEMENT_CHARACTER) && !self.0.join(name).is_dir() {
            return Err(folder.failed("", &"expected a name in UTF-8"));
        }
        folder.inside("").map(|_| folder)
    }
}

/// The folder of a model.
#[derive(Clone, Debug)]
pub(crate) struct ModelFolder<'r> {
    root: &'r Root,
    name: String,
    /// Whether the configuration comes from the model's file, and not from a load request.
    has_own_config: bool,
}

impl ModelFolder<'_> {
    /// Returns the repository's folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root.0
    }

    /// Returns the model's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of a model's file for messages.
    pub(crate) fn display(&self, file: &str) -> String {
        match file {
            "" => self.name.clone(),
            CONFIG if !self.has_own_config => format!("{}/config of `load`", self.name),
            _ => format!("{}/{file}", self.name),
        }
    }

    /// Returns the same folder, with a configuration from a load request.
    pub(crate) fn with_other_config(self) -> Self {
        ModelFolder {
            has_own_config: false,
            ..self
        }
    }

    /// Returns the path of a file of the model.
    ///
    /// # Errors
    /// The file does not exist, or lies outside the repository.
    pub(crate) fn inside(&self, file: &str) -> Result<PathBuf, LoadFault> {
        let path = self.plain(file)?;
        match path.canonicalize() {
            // Readers need the name of the link, not of its target.
            Ok(real) if real.starts_with(&self.root.0) => Ok(path),
            Ok(_) => Err(self.wrong_link(file, "the link leads out of the repository")),
            Err(error) if error.kind() == ErrorKind::NotFound && path.is_symlink() => {
                Err(self.wrong_link(file, "the target of the link does not exist"))
            }
            Err(error) => Err(self.failed(file, &error)),
        }
    }

    /// Returns the path of a file of the model, or `None` if the file does not exist. Only this
    /// function distinguishes a missing file from an unreadable one.
    ///
    /// # Errors
    /// The file lies outside the repository, or is a link without a target.
    pub(crate) fn find(&self, file: &str) -> Result<Option<PathBuf>, LoadFault> {
        let found = fs::symlink_metadata(self.plain(file)?);
        match found.is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            true => Ok(None),
            false => self.inside(file).map(Some),
        }
    }

    /// Returns the path of a file name, without following links.
    fn plain(&self, file: &str) -> Result<PathBuf, LoadFault> {
        self.check_plain(&self.name)?;
        self.check_plain(file)?;
        Ok(self.root.0.join(&self.name).join(file))
    }

    /// Checks that a path lies below the folder, by its names alone.
    ///
    /// # Errors
    /// The path is absolute, or has a part such as `..`.
    pub(crate) fn check_plain(&self, file: &str) -> Result<(), LoadFault> {
        let normal = |part: Component<'_>| matches!(part, Component::Normal(_));
        match Path::new(file).components().all(normal) && !file.contains('\0') {
            true => Ok(()),
            false => Err(ReadError::new(format_args!(
                "`{}` leads out of the model's folder",
                file.escape_debug()
            ))
            .into()),
        }
    }

    /// Returns the text of a file.
    pub(crate) fn text(&self, file: &str) -> Result<String, LoadFault> {
        let path = self.inside(file)?;
        reading::text_within(&path, MOST_TEXT).map_err(|e| self.failed(file, &e))
    }

    /// Returns the existing versions, ascending: the folders whose names are numbers above 0.
    ///
    /// # Errors
    /// The folder cannot be read, or a version is a link that leads out of the repository.
    pub(crate) fn versions(&self) -> Result<Vec<u64>, LoadFault> {
        let mut versions = Vec::new();
        for name in self.entries("")? {
            let number = name.parse().ok().filter(|_| !name.starts_with(['0', '+']));
            if let Some(version) = number
                && self.is_folder(&name)?
            {
                versions.push(version);
            }
        }
        versions.sort_unstable();
        Ok(versions)
    }

    /// Returns whether a folder of this name exists.
    ///
    /// # Errors
    /// As for [`ModelFolder::find`].
    pub(crate) fn is_folder(&self, name: &str) -> Result<bool, LoadFault> {
        Ok(self.find(name)?.is_some_and(|path| path.is_dir()))
    }

    /// Returns the names in a folder of the model, in order.
    pub(crate) fn entries(&self, folder: &str) -> Result<Vec<String>, LoadFault> {
        let path = self.inside(folder)?;
        let failed = |error: &io::Error| self.failed(folder, error);
        let mut names = Vec::new();
        for entry in fs::read_dir(path)
            .map_err(|e| failed(&e))?
            .take(MOST_MODELS)
        {
            let name = entry.map_err(|e| failed(&e))?.file_name();
            names.push(name.to_string_lossy().into_owned());
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Returns the error of a line of the model's configuration.
    pub(crate) fn wrong(&self, line: usize, message: String) -> LoadFault {
        LoadFault::of_line(&self.display(CONFIG), line, message)
    }

    /// Returns an error of a whole file.
    pub(crate) fn failed(&self, file: &str, reason: &impl Display) -> LoadFault {
        ReadError::new(reason).at(self.display(file)).into()
    }

    fn wrong_link(&self, file: &str, reason: &str) -> LoadFault {
        LoadFault::Link(ReadError::new(reason).at(self.display(file)))
    }
}
