//! Reads a configuration from text.

use std::sync::Arc;

use crate::error::LoadFault;
use crate::text_format::{MessageType, TextFault, TextMessage, quoted};

use super::fields::{AtLine, ConfigFields};
use super::queueing::queueing;
use super::steps::steps;
use super::warmup;
use super::{
    DynamicBatching, FieldLines, InstanceGroup, InstancePlace, MOST_LENGTH_PARAMETER, ModelConfig,
    NETWORK_PARAMETER, TensorConfig, VersionPolicy, Warmup,
};

impl ModelConfig {
    /// Reads the text of the file `file`.
    ///
    /// # Errors
    /// The text is malformed, or has an unknown field, an invalid value or an unsupported setting.
    pub fn parse(file: &str, text: &str) -> Result<Self, LoadFault> {
        ModelConfig::of(file, |kind| TextMessage::parse(text, kind))
    }

    /// Reads JSON. Errors name `file` as the source.
    ///
    /// # Errors
    /// As for [`ModelConfig::parse`].
    pub fn parse_json(file: &str, text: &str) -> Result<Self, LoadFault> {
        ModelConfig::of(file, |kind| TextMessage::parse_json(text, kind))
    }

    fn of(
        file: &str,
        parse: impl FnOnce(&'static MessageType) -> Result<TextMessage, TextFault>,
    ) -> Result<Self, LoadFault> {
        let of_line = |fault: TextFault| {
            let TextFault { line, mut message } = fault;
            message.truncate(message.floor_char_boundary(LONGEST));
            LoadFault::of_line(file, line, message)
        };
        let Some(kind) = MessageType::config() else {
            return Ok(ModelConfig::default());
        };
        let mut fields = ConfigFields::new(parse(kind).map_err(of_line)?);
        refuse(file, &mut fields)?;
        read(fields).map_err(of_line)
    }
}

fn read(mut fields: ConfigFields) -> Result<ModelConfig, TextFault> {
    let mut unused = Vec::new();
    let mut lines = FieldLines::default();
    let name = fields.text("name");
    lines.name = name.as_ref().map_or(lines.name, |name| name.line);
    let platform = runner(&mut fields, "platform", &mut lines.platform);
    let backend = runner(&mut fields, "backend", &mut lines.backend);
    let max_batch_size = max_batch_size(&mut fields, &mut lines)?;
    let mut tensors = |name: &str| -> Result<Vec<TensorConfig>, TextFault> {
        let tables = fields.messages(name).into_iter();
        let read = tables.map(|table| TensorConfig::read(table, &mut unused));
        let read = read.collect::<Result<Vec<_>, _>>()?;
        unlike(name, &read)?;
        Ok(read)
    };
    let (inputs, outputs) = (tensors("input")?, tensors("output")?);
    let config = ModelConfig {
        name: text(name),
        platform,
        backend,
        versions: versions(&mut fields, &mut lines, &mut unused)?,
        max_batch_size,
        inputs,
        outputs,
        model_file: model_file(&mut fields, &mut lines),
        batching: batching(&mut fields, max_batch_size, &mut unused)?,
        steps: steps(&mut fields, &mut unused)?,
        instances: instances(&mut fields, &mut unused)?,
        cached: cached(&mut fields),
        warmup: warmup(&mut fields, &mut lines, &mut unused)?,
        parameters: parameters(&mut fields, &mut lines, &mut unused),
        unused: Vec::new(),
        lines: FieldLines::default(),
    };
    fields.finish(&mut unused);
    Ok(ModelConfig {
        unused,
        lines,
        ..config
    })
}

/// Takes the platform or the backend, and notes its line.
fn runner(fields: &mut ConfigFields, field: &str, line: &mut usize) -> Option<String> {
    let text = fields.text(field).filter(|text| !text.value.is_empty())?;
    *line = text.line;
    Some(text.value)
}

fn model_file(fields: &mut ConfigFields, lines: &mut FieldLines) -> Option<String> {
    let file = fields.text("default_model_filename")?;
    lines.model_file = file.line;
    Some(file.value).filter(|file| !file.is_empty())
}

fn text(placed: Option<AtLine<String>>) -> Option<String> {
    placed.map(|placed| placed.value)
}

/// The maximum number of bytes of an error, which may quote the file.
const LONGEST: usize = 1000;

/// Refuses settings that would change the answers or their recipients if they were ignored.
fn refuse(file: &str, fields: &mut ConfigFields) -> Result<(), LoadFault> {
    let unsupported = |line: usize, field: &str, instead: &str| LoadFault::Unsupported {
        what: format!("{file}:{line}: `{field}` is not supported"),
        instead: instead.to_owned(),
    };
    if let Some(table) = fields.message("sequence_batching") {
        let instead = "serve a model without state between requests";
        return Err(unsupported(table.line, "sequence_batching", instead));
    }
    if let Some(mut table) = fields.message("model_transaction_policy")
        && table.flag("decoupled") == Some(true)
    {
        let field = "model_transaction_policy.decoupled";
        let instead = "serve a model that answers each request once";
        return Err(unsupported(table.line, field, instead));
    }
    Ok(())
}

/// Refuses two tensors with the same name.
fn unlike(side: &str, tensors: &[TensorConfig]) -> Result<(), TextFault> {
    let twice = tensors.iter().enumerate().find(|(at, tensor)| {
        let mut before = tensors[..*at].iter();
        before.any(|other| other.name == tensor.name)
    });
    match twice {
        None => Ok(()),
        Some((_, tensor)) => Err(TextFault {
            line: tensor.line,
            message: format!("{side}: `{}` appears twice", quoted(&tensor.name)),
        }),
    }
}

fn max_batch_size(
    fields: &mut ConfigFields,
    lines: &mut FieldLines,
) -> Result<Option<usize>, TextFault> {
    let Some(written) = fields.whole("max_batch_size") else {
        return Ok(None);
    };
    lines.max_batch_size = written.line;
    match usize::try_from(written.value) {
        Ok(most) => Ok(Some(most)),
        Err(_) => {
            let why = format!("expected 0 or more, found {}", written.value);
            Err(fields.wrong(written.line, "max_batch_size", &why))
        }
    }
}

fn versions(
    fields: &mut ConfigFields,
    lines: &mut FieldLines,
    unused: &mut Vec<String>,
) -> Result<VersionPolicy, TextFault> {
    let Some(mut table) = fields.message("version_policy") else {
        return Ok(VersionPolicy::default());
    };
    lines.version_policy = table.line;
    let (all, latest, specific) = (
        table.message("all"),
        table.message("latest"),
        table.message("specific"),
    );
    table.finish(unused);
    if all.is_some() {
        return Ok(VersionPolicy::All);
    }
    if let Some(mut latest) = latest {
        return latest_versions(&mut latest);
    }
    let Some(mut specific) = specific else {
        return Ok(VersionPolicy::default());
    };
    let written = specific.wholes("versions");
    let version = |placed: &AtLine<i64>| match u64::try_from(placed.value) {
        Ok(version) if version > 0 => Ok(version),
        _ => {
            let why = format!("expected a version above 0, found {}", placed.value);
            Err(specific.wrong(placed.line, "versions", &why))
        }
    };
    let versions = written.iter().map(version).collect::<Result<_, _>>()?;
    Ok(VersionPolicy::Specific(versions))
}

fn latest_versions(latest: &mut ConfigFields) -> Result<VersionPolicy, TextFault> {
    let Some(written) = latest.whole("num_versions") else {
        return Ok(VersionPolicy::Latest(1));
    };
    match u32::try_from(written.value) {
        Ok(count) if count > 0 => Ok(VersionPolicy::Latest(count)),
        _ => {
            let why = format!("expected a number above 0, found {}", written.value);
            Err(latest.wrong(written.line, "num_versions", &why))
        }
    }
}

fn batching(
    fields: &mut ConfigFields,
    most: Option<usize>,
    unused: &mut Vec<String>,
) -> Result<Option<DynamicBatching>, TextFault> {
    let Some(mut table) = fields.message("dynamic_batching") else {
        return Ok(None);
    };
    let mut preferred = Vec::new();
    for written in table.wholes("preferred_batch_size") {
        match usize::try_from(written.value) {
            Ok(size) if size > 0 && most.is_none_or(|most| size <= most) => preferred.push(size),
            _ => {
                let most = most.map_or_else(String::new, |m| format!(" up to max_batch_size, {m}"));
                let why = format!("expected a number above 0{most}, found {}", written.value);
                return Err(table.wrong(written.line, "preferred_batch_size", &why));
            }
        }
    }
    let delay = table
        .micros("max_queue_delay_microseconds")
        .unwrap_or_default();
    let queueing = queueing(&mut table, unused)?;
    // Answers of one connection may always overtake each other. `false` needs no support.
    let preserve_ordering = table.flag("preserve_ordering") == Some(true);
    if preserve_ordering {
        unused.push(table.named("preserve_ordering"));
    }
    table.finish(unused);
    Ok(Some(DynamicBatching {
        preferred,
        delay,
        preserve_ordering,
        queueing: queueing.map(Arc::new),
    }))
}

fn instances(
    fields: &mut ConfigFields,
    unused: &mut Vec<String>,
) -> Result<Vec<InstanceGroup>, TextFault> {
    let mut groups = Vec::new();
    for mut table in fields.messages("instance_group") {
        let place = table.choice("kind").map_or("KIND_AUTO", |kind| kind.value);
        let gpus = table.numbers("gpus").into_iter();
        groups.push(InstanceGroup {
            count: {
                let count = table.whole("count").map_or(1, |count| count.value);
                usize::try_from(count).unwrap_or(1).max(1)
            },
            place: match place {
                "KIND_GPU" => InstancePlace::Gpus,
                "KIND_CPU" => InstancePlace::Processors,
                _ => InstancePlace::Any,
            },
            gpus: gpus.filter_map(|gpu| u32::try_from(gpu).ok()).collect(),
        });
        table.text("name");
        table.finish(unused);
    }
    Ok(groups)
}

fn cached(fields: &mut ConfigFields) -> bool {
    let table = fields.message("response_cache");
    table.and_then(|mut table| table.flag("enable")) == Some(true)
}

fn warmup(
    fields: &mut ConfigFields,
    lines: &mut FieldLines,
    unused: &mut Vec<String>,
) -> Result<Vec<Warmup>, TextFault> {
    let tables = fields.messages("model_warmup");
    lines.warmup = tables.iter().map(|table| table.line).collect();
    let warmup = tables
        .into_iter()
        .map(|table| warmup::warmup(table, unused));
    warmup.collect()
}

fn parameters(
    fields: &mut ConfigFields,
    lines: &mut FieldLines,
    unused: &mut Vec<String>,
) -> Vec<(String, String)> {
    let entries = fields.messages("parameters").into_iter();
    let parameters = entries.map(|mut entry| {
        let key = text(entry.text("key")).unwrap_or_default();
        let value = entry.message("value");
        let value = value.and_then(|mut value| text(value.text("string_value")));
        if ![NETWORK_PARAMETER, MOST_LENGTH_PARAMETER].contains(&&*key) {
            unused.push(format!("parameters.{key}"));
        }
        lines.parameters.entry(key.clone()).or_insert(entry.line);
        (key, value.unwrap_or_default())
    });
    parameters.collect()
}
