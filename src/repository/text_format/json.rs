//! Reads messages from the JSON form of Protocol Buffers.

use serde_json::Value;

use super::schema::{FieldKind, FieldType, MessageType};
use super::{Field, FieldValue, TextFault, TextMessage, quoted};

/// The maximum depth of nested messages.
const DEEPEST: usize = 32;

/// Reads JSON as a message of a type. Faults report line 1.
pub(super) fn parse(text: &str, kind: &'static MessageType) -> Result<TextMessage, TextFault> {
    let json = serde_json::from_str::<Value>(text).map_err(|error| TextFault {
        line: error.line(),
        message: format!("invalid JSON: {error}"),
    })?;
    let made = message(&json, kind, 0);
    made.map_err(|message| TextFault { line: 1, message })
}

fn message(json: &Value, kind: &'static MessageType, depth: usize) -> Result<TextMessage, String> {
    let Value::Object(entries) = json else {
        return Err(unexpected("an object", json));
    };
    if depth > DEEPEST {
        return Err(format!("more than {DEEPEST} nested messages"));
    }
    let mut made = TextMessage {
        line: 1,
        fields: Vec::new(),
    };
    for (name, value) in entries {
        let Some(field) = kind.json_field(name) else {
            let known = kind.names().join(", ");
            let name = quoted(name);
            return Err(format!("unknown field `{name}`, expected one of {known}"));
        };
        if value.is_null() {
            continue;
        }
        let rival = made.fields.iter().find(|other| {
            let other = kind.field(other.name).filter(|o| o.choice == field.choice);
            field.choice.is_some() && other.is_some()
        });
        if let Some(rival) = rival {
            let (name, rival) = (field.name, rival.name);
            return Err(format!(
                "{name}: expected this field or `{rival}`, found both"
            ));
        }
        let values = values(field, value, depth);
        let values = values.map_err(|why| format!("{}: {why}", field.name))?;
        made.fields.extend(values.into_iter().map(|value| Field {
            name: field.name,
            line: 1,
            value,
        }));
    }
    Ok(made)
}

/// Returns the values of a field: of a list, of a map's entries, or a single value.
fn values(
    field: &'static FieldType,
    json: &Value,
    depth: usize,
) -> Result<Vec<FieldValue>, String> {
    match (json, field.repeated) {
        (Value::Array(all), true) => {
            let all = all.iter().map(|json| value(field, json, depth));
            all.collect()
        }
        (Value::Object(entries), true) => {
            let entries = entries.iter().map(|(key, json)| {
                let entry = serde_json::json!({"key": key, "value": json});
                value(field, &entry, depth)
            });
            entries.collect()
        }
        (_, true) => Err(unexpected("a list", json)),
        (_, false) => value(field, json, depth).map(|value| vec![value]),
    }
}

fn value(field: &'static FieldType, json: &Value, depth: usize) -> Result<FieldValue, String> {
    match (&field.kind, json) {
        (FieldKind::Message(number), _) => {
            let kind = MessageType::at(*number).ok_or("unknown message type")?;
            message(json, kind, depth + 1).map(FieldValue::Message)
        }
        (FieldKind::Text, Value::String(text)) => Ok(FieldValue::Text(text.clone())),
        (FieldKind::Text, _) => Err(unexpected("a string", json)),
        (FieldKind::Flag, Value::Bool(flag)) => Ok(FieldValue::Flag(*flag)),
        // The keys of JSON maps are strings.
        (FieldKind::Flag, Value::String(text)) if text == "true" => Ok(FieldValue::Flag(true)),
        (FieldKind::Flag, Value::String(text)) if text == "false" => Ok(FieldValue::Flag(false)),
        (FieldKind::Flag, _) => Err(unexpected("`true` or `false`", json)),
        (FieldKind::Choice(choices), _) => choice(choices, json).map(FieldValue::Choice),
        (FieldKind::Number, Value::Number(number)) => {
            let number = number.as_f64().ok_or("expected a number")?;
            Ok(FieldValue::Number(number))
        }
        (FieldKind::Number, _) => Err(unexpected("a number", json)),
        (FieldKind::Whole { least, most }, _) => {
            let number = whole(json).filter(|number| (*least..=*most).contains(number));
            let expected = format!("a whole number from {least} to {most}");
            let number = number.ok_or_else(|| unexpected(&expected, json))?;
            Ok(FieldValue::Whole(number))
        }
    }
}

/// Reads a whole number. Protocol Buffers write 64-bit numbers as strings.
fn whole(json: &Value) -> Option<i128> {
    match json {
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Some(number.into()),
            (None, number) => number.map(Into::into),
        },
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

fn choice(choices: &'static [(i32, &'static str)], json: &Value) -> Result<&'static str, String> {
    let found = choices.iter().find(|(number, name)| match json {
        Value::String(written) => written == name,
        Value::Number(written) => written.as_i64() == Some((*number).into()),
        _ => false,
    });
    let names = || choices.iter().map(|(_, name)| *name).collect::<Vec<_>>();
    let found = found.map(|(_, name)| *name);
    found.ok_or_else(|| unexpected(&format!("one of {}", names().join(", ")), json))
}

fn unexpected(expected: &str, found: &Value) -> String {
    let mut found = found.to_string();
    found.truncate(found.floor_char_boundary(80));
    format!("expected {expected}, found {found}")
}
