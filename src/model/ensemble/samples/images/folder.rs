//! Folders of images: only images, or one folder per class.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use divisi_runtime::reading::ReadError;

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
pub(super) fn images(folder: &Path, targets: TargetForm<'_>) -> Result<Vec<ImageFile>, ReadError> {
    let entries = entries(folder)?;
    let (folders, files): (Vec<_>, Vec<_>) = entries.into_iter().partition(|e| e.is_folder);
    match (folders.first(), files.first()) {
        (None, None) => Err(ReadError::expected(
            "images (.png, .jpg, .jpeg, .webp) or folders of them",
            "an empty folder",
        )),
        (Some(folder), Some(file)) => Err(ReadError::expected(
            "only images, or one folder per class",
            format_args!("both `{}` and `{}`", file.shown(), folder.shown()),
        )),
        (None, Some(_)) => files.into_iter().map(|f| f.image(None, "")).collect(),
        (Some(folder), None) => match targets {
            TargetForm::Classes(classes) => of_classes(&folders, &classes),
            TargetForm::Rows(_) | TargetForm::Boxes(_) => {
                let expected = "only images, since the answers are not classes";
                let wrong = ReadError::expected(expected, "a folder");
                Err(wrong.at(format_args!("`{}`", folder.shown())))
            }
        },
    }
}

/// Returns the images in `folder` by name. The folder must contain only images.
pub(super) fn plain_images(folder: &Path) -> Result<Vec<ImageFile>, ReadError> {
    let entries = entries(folder)?;
    entries.into_iter().map(|e| e.image(None, "")).collect()
}

fn of_classes(folders: &[FolderEntry], classes: &Classes<'_>) -> Result<Vec<ImageFile>, ReadError> {
    let mut all = Vec::new();
    for folder in folders {
        let name = folder.shown();
        let class = classes.named(&folder.name);
        let class = class.map_err(|e| e.at(format_args!("`{name}`")))?;
        let files = entries(&folder.path)?;
        if files.is_empty() {
            let wrong = ReadError::expected("at least one image", "none");
            return Err(wrong.at(format_args!("`{name}`")));
        }
        for file in files {
            all.push(file.image(Some(class), &format!("{name}/"))?);
        }
        if all.len() > MOST_FILES {
            return Err(many_files());
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
    fn image(self, class: Option<usize>, before: &str) -> Result<ImageFile, ReadError> {
        let name = format!("{before}{}", self.shown());
        let wrong = |error: ReadError| Err(error.at(format_args!("`{name}`")));
        match (self.is_folder, is_image(&self.name)) {
            (true, _) => wrong(ReadError::expected(
                "only images in a class's folder",
                "a folder",
            )),
            (false, false) => wrong(ReadError::new(
                "expected a .png, .jpg, .jpeg or .webp image",
            )),
            (false, true) => Ok(ImageFile {
                name,
                path: self.path,
                class,
            }),
        }
    }
}

/// Returns the entries of a folder by name, without hidden ones.
fn entries(folder: &Path) -> Result<Vec<FolderEntry>, ReadError> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(ReadError::new)? {
        let entry = entry.map_err(ReadError::new)?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let found = FolderEntry::new(&entry);
        entries.push(found.map_err(|e| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            ReadError::new(e).at(format_args!("`{}`", name.escape_debug()))
        })?);
        if entries.len() > MOST_FILES {
            return Err(many_files());
        }
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}

fn many_files() -> ReadError {
    ReadError::new(format_args!(
        "expected at most {MOST_FILES} files in a folder"
    ))
}
