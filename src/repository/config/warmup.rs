//! Requests that run before the model accepts clients.

use divisi_model::catalogue::{Warmup, WarmupData, WarmupInput};

use crate::text_format::TextFault;

use super::fields::ConfigFields;
use super::tensors::{data_type, dims};

/// Reads a table of `model_warmup`. A warm-up with batch size 0 is skipped and not checked.
///
/// # Errors
/// An input has no type, or an invalid dimension.
pub(super) fn warmup(
    mut fields: ConfigFields,
    unused: &mut Vec<String>,
) -> Result<Warmup, TextFault> {
    let name = fields.text("name").map(|name| name.value);
    let mut number = |name| fields.whole(name).map(|n| n.value).unwrap_or_default();
    let (rows, count) = (number("batch_size"), number("count"));
    let inputs = fields.messages("inputs").into_iter();
    let inputs = inputs.map(|entry| input(entry, unused));
    let inputs = match rows {
        0 => inputs.filter_map(Result::ok).collect(),
        _ => inputs.collect::<Result<_, _>>()?,
    };
    fields.finish(unused);
    Ok(Warmup {
        name: name.unwrap_or_default(),
        rows: usize::try_from(rows).unwrap_or_default(),
        count: usize::try_from(count).unwrap_or_default(),
        inputs,
    })
}

fn input(mut entry: ConfigFields, unused: &mut Vec<String>) -> Result<WarmupInput, TextFault> {
    let name = entry.text("key").map(|key| key.value).unwrap_or_default();
    let line = entry.line;
    let Some(mut fields) = entry.message("value") else {
        return Err(entry.wrong(line, "value", "expected an input, found none"));
    };
    let data_type = data_type(&mut fields)?;
    let dims = dims(&mut fields, "dims")?;
    let data = data(&mut fields);
    fields.finish(unused);
    Ok(WarmupInput {
        name,
        data_type,
        dims,
        data,
    })
}

/// Takes the source of an input's values. At most one of the fields is set. The presence of a flag
/// counts, not its value: `zero_data: false` also requests zeros.
fn data(fields: &mut ConfigFields) -> Option<WarmupData> {
    let file = fields.text("input_data_file");
    let file = file.map(|file| WarmupData::File(file.value));
    let zeros = fields.flag("zero_data").map(|_| WarmupData::Zeros);
    let random = fields.flag("random_data").map(|_| WarmupData::Random);
    file.or(zeros).or(random)
}
