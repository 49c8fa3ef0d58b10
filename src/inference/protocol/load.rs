//! The parameters of a load request.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use divisi_engine::deployment::ModelOverride;

use crate::error::ServiceError;

/// The value of a parameter.
pub enum LoadParameter {
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Another type.
    Other,
}

/// The prefix of file names.
const FILE: &str = "file:";

/// Reads the parameters: `config`, a configuration in JSON, and `file:PATH`, a model file, which is
/// base64 if it is text. Files are accepted if `with_files` is set.
///
/// # Errors
/// Returns an error if a parameter is unknown, has a value of another type, or is a file without
/// `with_files`.
pub fn load_parameters(
    parameters: impl IntoIterator<Item = (String, LoadParameter)>,
    with_files: bool,
) -> Result<ModelOverride, ServiceError> {
    let mut by = ModelOverride::default();
    for (name, value) in parameters {
        let wrong = |expected: &str| {
            let message = format!("parameter `{name}` of `load`: expected {expected}");
            ServiceError::bad(message)
        };
        match (name.strip_prefix(FILE), value) {
            (Some(_), _) if !with_files => {
                return Err(ServiceError::unsupported(format!(
                    "parameter `{name}` of `load`: this server accepts no model files; \
                     start it with `--load-files`"
                )));
            }
            (Some(path), LoadParameter::Bytes(bytes)) => by.files.push((path.to_owned(), bytes)),
            (Some(path), LoadParameter::Text(text)) => {
                let bytes = STANDARD.decode(text).map_err(|_| wrong("base64"))?;
                by.files.push((path.to_owned(), bytes));
            }
            (Some(_), LoadParameter::Other) => return Err(wrong("a file in base64")),
            (None, LoadParameter::Text(text)) if name == "config" => by.config = Some(text),
            (None, _) if name == "config" => {
                return Err(wrong("a configuration as JSON text"));
            }
            (None, _) => {
                return Err(ServiceError::unsupported(format!(
                    "parameter `{name}` of `load`: not supported"
                )));
            }
        }
    }
    if by.config.is_none() && !by.files.is_empty() {
        let message = "parameters of `load`: files require `config`";
        return Err(ServiceError::bad(message));
    }
    Ok(by)
}
