//! The place of a model's errors: a line of its configuration, or its file.

use std::fmt::Display;

use divisi_runtime::reading::ReadError;

use crate::config::{ModelConfig, TensorConfig};
use crate::error::LoadFault;
use crate::folder::{CONFIG, ModelFolder};

/// A model's folder and the file being read.
pub(super) struct ConfigPlace<'f> {
    pub(super) folder: &'f ModelFolder<'f>,
    /// The file, by its path in the folder.
    pub(super) file: &'f str,
}

impl ConfigPlace<'_> {
    /// Returns an error at a line of the configuration.
    pub(super) fn wrong(&self, line: usize, why: &str) -> LoadFault {
        self.folder.wrong(line, why.to_owned())
    }

    /// Returns an error of a parameter, at its line if it is set.
    pub(super) fn of_parameter(&self, config: &ModelConfig, name: &str, why: &str) -> LoadFault {
        let why = format!("parameters.{name}: {why}");
        match config.lines.parameters.get(name) {
            Some(line) => self.folder.wrong(*line, why),
            None => self.folder.failed(CONFIG, &why),
        }
    }

    /// Returns an error of the whole file.
    pub(super) fn of_file(&self, error: &impl Display) -> LoadFault {
        let (shown, text) = (self.folder.display(self.file), error.to_string());
        // Readers prefix their errors with the path.
        let path = self.folder.inside(self.file).ok();
        let own = path.and_then(|path| Some(format!("{}: ", path.to_str()?)));
        let reason = own.and_then(|own| text.strip_prefix(&own).map(str::to_owned));
        ReadError::new(reason.unwrap_or(text)).at(shown).into()
    }

    /// Checks that the model has all tensors named by the configuration.
    pub(super) fn check_names(
        &self,
        side: &str,
        written: &[TensorConfig],
        known: &[&str],
    ) -> Result<(), LoadFault> {
        let unknown = written
            .iter()
            .find(|tensor| !known.contains(&&*tensor.name));
        match unknown {
            None => Ok(()),
            Some(tensor) => {
                let (name, known) = (&tensor.name, known.join(", "));
                let why = format!("{side}: the model has no `{name}`; expected {known}");
                Err(self.wrong(tensor.line, &why))
            }
        }
    }
}
