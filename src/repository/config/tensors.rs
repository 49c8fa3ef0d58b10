//! The tensors of a model in its configuration.

use divisi_model::catalogue::TensorFormat;
use divisi_runtime::tensor::DataType;

use crate::text_format::{TextFault, quoted};

use super::fields::ConfigFields;

/// An input or output of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorConfig {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub data_type: DataType,
    /// Its dimensions, with -1 for a varying dimension. The batch dimension is not included if the
    /// model has `max_batch_size`.
    pub dims: Vec<i64>,
    /// The dimensions that the model itself takes, if they differ.
    pub reshape: Option<Vec<i64>>,
    /// The file with the names of its values.
    pub labels: Option<String>,
    /// The order of its dimensions, a hint for clients.
    pub format: TensorFormat,
    /// The line that it begins on.
    pub line: usize,
}

impl TensorConfig {
    /// Reads the table of an input or output.
    ///
    /// # Errors
    /// It has no name or type, or a dimension that is neither -1 nor above 0.
    pub(super) fn read(
        mut fields: ConfigFields,
        unused: &mut Vec<String>,
    ) -> Result<Self, TextFault> {
        let line = fields.line;
        let name = fields.text("name").map(|name| name.value);
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return Err(fields.wrong(line, "name", "expected the name of a tensor, found none"));
        };
        let data_type = data_type(&mut fields)?;
        let dims = dims(&mut fields, "dims")?;
        if dims.is_empty() {
            let why = format!("expected the dimensions of `{}`, found none", quoted(&name));
            return Err(fields.wrong(line, "dims", &why));
        }
        let reshape = match fields.message("reshape") {
            None => None,
            Some(mut table) => {
                let shape = self::dims(&mut table, "shape")?;
                table.finish(unused);
                Some(shape)
            }
        };
        let labels = fields.text("label_filename").map(|file| file.value);
        // A hint for clients that prepare images. The dimensions are complete without it.
        let format = match fields.choice("format").map(|format| format.value) {
            Some("FORMAT_NHWC") => TensorFormat::Nhwc,
            Some("FORMAT_NCHW") => TensorFormat::Nchw,
            _ => TensorFormat::None,
        };
        if format != TensorFormat::None {
            unused.push(fields.named("format"));
        }
        for usual in ["optional", "allow_ragged_batch", "is_shape_tensor"] {
            note_set(&mut fields, usual, unused);
        }
        fields.finish(unused);
        Ok(TensorConfig {
            name,
            data_type,
            dims,
            reshape,
            labels,
            format,
            line,
        })
    }
}

/// Notes a flag that is set but not supported. An unset flag needs no support.
fn note_set(fields: &mut ConfigFields, name: &str, unused: &mut Vec<String>) {
    if fields.flag(name) == Some(true) {
        let named = fields.named(name);
        if !unused.contains(&named) {
            unused.push(named);
        }
    }
}

/// Reads the type of a tensor.
pub(super) fn data_type(fields: &mut ConfigFields) -> Result<DataType, TextFault> {
    let line = fields.line;
    let Some(written) = fields.choice("data_type") else {
        return Err(fields.wrong(
            line,
            "data_type",
            "expected a type such as TYPE_FP32, found none",
        ));
    };
    let name = match written.value.trim_start_matches("TYPE_") {
        "STRING" => "BYTES",
        name => name,
    };
    let parsed = name.parse::<DataType>();
    parsed.map_err(|_| {
        let why = format!(
            "expected a type such as TYPE_FP32, found `{}`",
            quoted(written.value)
        );
        fields.wrong(written.line, "data_type", &why)
    })
}

/// Reads dimensions.
pub(super) fn dims(fields: &mut ConfigFields, name: &str) -> Result<Vec<i64>, TextFault> {
    let all = fields.wholes(name);
    match all.iter().find(|dim| dim.value == 0 || dim.value < -1) {
        None => Ok(all.into_iter().map(|dim| dim.value).collect()),
        Some(dim) => {
            let why = format!("expected -1 or a number above 0, found {}", dim.value);
            Err(fields.wrong(dim.line, name, &why))
        }
    }
}
