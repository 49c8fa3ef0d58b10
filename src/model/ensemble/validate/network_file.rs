//! The file that a member's `network` names.

use crate::ensemble::files::Files;
use crate::ensemble::manifest::EnsembleError;
use divisi_runtime::onnx::OnnxModel;

/// The file of a network, and the one of its outputs that answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct NetworkFile<'a> {
    pub(super) name: &'a str,
    output: Option<&'a str>,
}

impl<'a> NetworkFile<'a> {
    /// Reads the table of a network, or returns `None` where it names no file.
    ///
    /// # Errors
    /// Another field stands beside `file` than `output`, or one of them holds no name; in words.
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

    /// Whether it is a file of ONNX, by its name's end.
    pub(super) fn is_onnx(self) -> bool {
        self.name.ends_with(".onnx")
    }

    /// Decodes the file of ONNX.
    pub(super) fn model(self, files: &Files) -> Result<OnnxModel, EnsembleError> {
        let opened = match files.path(self.name) {
            Some(path) => OnnxModel::open(&path),
            None => OnnxModel::from_bytes(files.read(self.name)?),
        };
        let model = opened.and_then(|model| match self.output {
            Some(output) => model.answering(output),
            None => Ok(model),
        });
        model.map_err(|error| EnsembleError::File {
            file: files.display(self.name),
            reason: error.to_string(),
        })
    }
}
