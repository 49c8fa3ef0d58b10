//! JSON schemas of the files, for editors that complete and check TOML.

use serde_json::{Map, Value as Json, json};

use super::fields::{Config, ConfigField, FIELDS, sections};
use super::keys::{EDIT, MAIN};
use super::themes::BUILT_IN;
use super::values::{ConfigValue, ExpectedValue};
use crate::commands::{BINDINGS, Binding, Scope};
use crate::look::Role;

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Returns the schema of a file: `config`, `keys` or `theme`.
pub fn schema(file: &str) -> Option<Json> {
    match file {
        "config" => Some(config()),
        "keys" => Some(keys()),
        "theme" => Some(theme()),
        _ => None,
    }
}

fn object(properties: Map<String, Json>) -> Json {
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}

fn document(title: &str, properties: Map<String, Json>) -> Json {
    let mut schema = object(properties);
    schema["$schema"] = json!(DRAFT);
    schema["title"] = json!(title);
    schema
}

fn config() -> Json {
    let mut tables = Map::new();
    for section in sections() {
        let fields = FIELDS.iter().filter(|f| f.section == section);
        let properties = fields.map(|f| (f.key.to_owned(), option(f)));
        tables.insert(section.to_owned(), object(properties.collect()));
    }
    let layouts = json!({ "type": "array", "items": { "type": "object" } });
    tables.insert("layouts".into(), layouts);
    document("config.toml of Divisi", tables)
}

fn option(field: &ConfigField) -> Json {
    let mut schema = match field.expects {
        ExpectedValue::Words(words) => json!({ "enum": words }),
        ExpectedValue::Theme => json!({ "type": "string", "examples": themes() }),
        ExpectedValue::Text(_) => json!({ "type": "string" }),
        ExpectedValue::Flag => json!({ "type": "boolean" }),
        ExpectedValue::Whole(least, most) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        ExpectedValue::Number(least, most) => {
            json!({ "type": "number", "minimum": least, "maximum": most })
        }
        ExpectedValue::Time(..) => {
            json!({ "type": "string", "pattern": "^[0-9.]+ *(ms|s|min|m|h)$" })
        }
    };
    schema["description"] = json!(field.help);
    schema["default"] = match (field.get)(&Config::default()) {
        ConfigValue::Text(text) => json!(text),
        ConfigValue::Number(number) => json!(number),
        ConfigValue::Flag(flag) => json!(flag),
        time @ ConfigValue::Time(_) => json!(time.to_string().trim_matches('"')),
    };
    schema
}

fn themes() -> Vec<&'static str> {
    let names = BUILT_IN.iter().map(|(name, _)| *name);
    ["auto"].into_iter().chain(names).collect()
}

fn keys() -> Json {
    let table = |editing: bool| {
        let here = BINDINGS
            .iter()
            .filter(|e| (e.scope == Scope::Edit) == editing);
        object(here.map(|e| (e.name().to_owned(), command(e))).collect())
    };
    let mut tables = Map::new();
    tables.insert(MAIN.into(), table(false));
    tables.insert(EDIT.into(), table(true));
    document("keys.toml of Divisi", tables)
}

fn command(entry: &Binding) -> Json {
    let keys: Vec<String> = entry.keys.iter().map(ToString::to_string).collect();
    json!({
        "description": entry.help,
        "default": keys,
        "anyOf": [
            { "type": "string" },
            { "type": "array", "items": { "type": "string" }, "uniqueItems": true },
        ],
    })
}

fn theme() -> Json {
    let text = |help: &str| json!({ "type": "string", "description": help });
    let roles = Role::ALL.iter();
    let roles = roles.map(|(_, name, help)| ((*name).to_owned(), text(help)));
    let mut tables = Map::new();
    let bases: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
    tables.insert("base".into(), json!({ "enum": bases }));
    tables.insert("background".into(), text("behind everything, or terminal"));
    tables.insert(
        "ground".into(),
        text("what the terminal's own background is taken for"),
    );
    tables.insert(
        "ink".into(),
        text("what the terminal's own text is taken for"),
    );
    tables.insert("roles".into(), object(roles.collect()));
    document("A theme of Divisi", tables)
}
