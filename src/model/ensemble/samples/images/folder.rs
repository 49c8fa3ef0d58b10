//! Folders of images: only images, or one folder per class.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::ensemble::samples::error::FolderError;
use crate::ensemble::samples::form::Classes;
use crate::ensemble::samples::targets::TargetForm;

use super::is_image;

/// The maximum number of files of all folders together.
const MOST_FILES: usize = 1 << 22;

/// An image in a folder.
pub(super) struct ImageFile {
    /// Its name in the folder, for messages.
    pub name: String,
    pub path: PathBuf,
    /// Its class, if it lies in a class's folder.
    pub class: Option<usize>,
}

/// Returns the images in `folder` by name, and the images of each class by both names.
pub(super) fn images(
    folder: &Path,
    targets: TargetForm<'_>,
) -> Result<Vec<ImageFile>, FolderError> {
    let entries = entries(folder)?;
    let (folders, files): (Vec<_>, Vec<_>) = entries.into_iter().partition(|e| e.is_folder);
    match (folders.first(), files.first()) {
        (None, None) => Err(FolderError::Empty),
        (Some(folder), Some(file)) => Err(FolderError::Mixed {
            file: file.shown(),
            folder: folder.shown(),
        }),
        (None, Some(_)) => files.into_iter().map(|f| f.image(None, "")).collect(),
        (Some(folder), None) => match targets {
            TargetForm::Classes(classes) => of_classes(&folders, &classes),
            TargetForm::Rows(_) | TargetForm::Boxes(_) => {
                Err(FolderError::NoClasses(folder.shown()))
            }
        },
    }
}

/// Returns the images in `folder` by name. The folder must contain only images.
pub(super) fn plain_images(folder: &Path) -> Result<Vec<ImageFile>, FolderError> {
    let entries = entries(folder)?;
    entries.into_iter().map(|e| e.image(None, "")).collect()
}

fn of_classes(
    folders: &[FolderEntry],
    classes: &Classes<'_>,
) -> Result<Vec<ImageFile>, FolderError> {
    let mut all = Vec::new();
    for folder in folders {
        let name = folder.shown();
        let class = classes.named(&folder.name);
        let class = class.map_err(|error| FolderError::Class {
            folder: name.clone(),
            error,
        })?;
        let files = entries(&folder.path)?;
        if files.is_empty() {
            return Err(FolderError::EmptyClass(name));
        }
        for file in files {
            all.push(file.image(Some(class), &format!("{name}/"))?);
        }
        if all.len() > MOST_FILES {
            return Err(FolderError::Many(MOST_FILES));
        }
    }
    Ok(all)
}

/// A file or folder in a folder.
struct FolderEntry {
    name: String,
    path: PathBuf,
    is_folder: bool,
}

impl FolderEntry {
    fn new(entry: &fs::DirEntry) -> io::Result<Self> {
        let path = entry.path();
        Ok(FolderEntry {
            name: entry.file_name().to_string_lossy().into_owned(),
            // Links are followed.
            is_folder: fs::metadata(&path)?.is_dir(),
            path,
        })
    }

    /// Returns its name for a terminal.
    fn shown(&self) -> String {
        self.name.escape_debug().to_string()
    }

    /// Returns it as an image of a class, in a folder shown as `before`.
    fn image(self, class: Option<usize>, before: &str) -> Result<ImageFile, FolderError> {
        let name = format!("{before}{}", self.shown());
        match (self.is_folder, is_image(&self.name)) {
            (true, _) => Err(FolderError::Nested(name)),
            (false, false) => Err(FolderError::NoImage(name)),
            (false, true) => Ok(ImageFile {
                name,
                path: self.path,
                class,
            }),
        }
    }
}

/// Returns the entries of a folder by name, without hidden ones.
fn entries(folder: &Path) -> Result<Vec<FolderEntry>, FolderError> {
    let unreadable = |e: io::Error| FolderError::Unreadable(e.to_string());
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let found = FolderEntry::new(&entry);
        entries.push(found.map_err(|e| unreadable_entry(&entry, &e))?);
        if entries.len() > MOST_FILES {
            return Err(FolderError::Many(MOST_FILES));
        }
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}

fn unreadable_entry(entry: &fs::DirEntry, error: &io::Error) -> FolderError {
    let name = entry.file_name();
    let shown = name.to_string_lossy().escape_debug().to_string();
    FolderError::Unreadable(format!("`{shown}`: {error}"))
}
