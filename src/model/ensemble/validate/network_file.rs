//! The file named by a member's `network`.

use crate::ensemble::files::Files;
use crate::ensemble::manifest::EnsembleError;
use divisi_runtime::onnx::OnnxModel;

/// The file of a network, and the selected output.
#[derive(Clone, Copy, Debug)]
pub(super) struct NetworkFile<'a> {
    pub(super) name: &'a str,
    output: Option<&'a str>,
}

impl<'a> NetworkFile<'a> {
    /// Reads the table of a network, or returns `None` if it does not name a file.
    ///
    /// # Errors
    /// There is another field than `file` and `output`, or one of them is not a name. The error is
    /// a text.
    pub(super) fn read(spec: &'a toml::Table) -> Result<Option<Self>, String> {
        let Some(file) = spec.get("file") else {
            return Ok(None);
        };
        let texts = (file.as_str(), spec.get("output").map(toml::Value::as_str));
        let (name, output) = match texts {
            (Some(name), None) => (name, None),
            (Some(name), Some(Some(output))) => (name, Some(output)),
            _ => return Err("expected names in `file` and `output`".into()),
        };
        if let Some(other) = spec
            .keys()
            .find(|key| !["file", "output"].contains(&key.as_str()))
        {
            return Err(format!(
                "expected only `file` and `output`, found `{other}`"
            ));
        }
        match output.is_some() && !name.ends_with(".onnx") {
            true => Err(
                "`output` is only valid for an .onnx file; a file of layers has one output".into(),
            ),
            false => Ok(Some(NetworkFile { name, output })),
        }
    }

    /// Returns whether it is an ONNX file, by its extension.
    pub(super) fn is_onnx(self) -> bool {
        self.name.ends_with(".onnx")
    }

    /// Decodes the ONNX file.
    pub(super) fn model(self, files: &Files) -> Result<OnnxModel, EnsembleError> {
        let opened = match files.path(self.name) {
            Some(path) => OnnxModel::open(&path),
            None => OnnxModel::from_bytes(files.read(self.name)?),
        };
        let model = opened.and_then(|model| match self.output {
            Some(output) => model.answering(output),
            None => Ok(model),
        });
        model.map_err(|error| files.wrong(self.name, error))
    }
}
