//! Requests that are run before others are let in.

use divisi::catalogue::{Warmup, WarmupData, WarmupInput};

use crate::text_format::TextFault;

use super::fields::ConfigFields;
use super::tensors::{data_type, dims};

/// Reads a table of `model_warmup`.
///
/// # Errors
/// An input says no type, or not where its values are from.
pub(super) fn warmup(
    mut fields: ConfigFields,
    unused: &mut Vec<String>,
) -> Result<Warmup, TextFault> {
    let name = fields.text("name").map(|name| name.value);
    let mut number = |name| fields.whole(name).map(|n| n.value).unwrap_or_default();
    let (rows, count) = (number("batch_size"), number("count"));
    let inputs = fields.messages("inputs").into_iter();
    let inputs = inputs.map(|entry| input(entry, unused));
    let inputs = inputs.collect::<Result<_, _>>()?;
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
    let file = fields.text("input_data_file");
    let zeros = fields.flag("zero_data") == Some(true);
    let random = fields.flag("random_data") == Some(true);
    let data = match (file, zeros, random) {
        (Some(file), ..) => WarmupData::File(file.value),
        (None, true, _) => WarmupData::Zeros,
        (None, false, true) => WarmupData::Random,
        (None, false, false) => {
            let why = "expected it, `random_data` or `input_data_file`, found none";
            return Err(fields.wrong(line, "zero_data", why));
        }
    };
    fields.finish(unused);
    Ok(WarmupInput {
        name,
        data_type,
        dims,
        data,
    })
}
