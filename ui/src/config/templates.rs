//! Commented default files, and JSON schemas for editors. Both come from the tables that files are
//! checked against.

use serde_json::{Map, Value as Json, json};

use super::fields::{Config, ConfigField, FIELDS, sections};
use super::keys::{EDIT, MAIN};
use super::themes::{BUILT_IN, theme_names};
use super::values::{ConfigValue, ExpectedValue};
use crate::commands::{BINDINGS, Binding, KEY_NAMES, Keymap, Scope};
use crate::look::{Colour, Role, Theme};

/// Returns `config.toml` with every option of `config`.
pub fn config_file(config: &Config) -> String {
    let mut text = String::from(
        "# Divisi: options. A running console applies changes at once.\n\
         # `divisi config check` reports errors; `divisi config schema` is for editors.\n",
    );
    for section in sections() {
        text += &format!("\n[{section}]\n");
        for field in FIELDS.iter().filter(|f| f.section == section) {
            let expects = field.expects.words(&theme_names());
            let value = (field.get)(config);
            text += &format!("# {}\n# Expects {expects}.\n", field.help);
            text += &format!("{} = {value}\n", field.key);
        }
    }
    text
}

/// Returns `keys.toml` with every command and its keys in `keymap`.
pub fn keys_file(keymap: &Keymap) -> String {
    let mut text = format!(
        "# Divisi: keys. NAME = \"KEY\" or [\"KEY\", …]; an empty list removes a command's keys.\n\
         # A key is {}.\n\
         # Ctrl-C always quits and Ctrl-Z always suspends; dialogs keep their keys.\n\
         # A key of the focused panel takes precedence over other keys.\n",
        KEY_NAMES
    );
    let edits = |e: &&Binding| e.scope == Scope::Edit;
    text += &format!("\n[{MAIN}]\n");
    for entry in BINDINGS.iter().filter(|e| !edits(e)) {
        text += &line(entry, keymap);
    }
    text += &format!("\n# While the allocation is edited.\n[{EDIT}]\n");
    for entry in BINDINGS.iter().filter(edits) {
        text += &line(entry, keymap);
    }
    text
}

fn line(entry: &Binding, keymap: &Keymap) -> String {
    let keys: Vec<String> = keymap
        .keys_for(entry)
        .iter()
        .map(|k| format!("{:?}", k.to_string()))
        .collect();
    let place = match entry.scope {
        Scope::In(panel) => format!(" (in the panel {})", panel.name()),
        _ => String::new(),
    };
    let help = format!("{}{place}", entry.help);
    format!("# {help}\n{} = [{}]\n", entry.name(), keys.join(", "))
}

/// Returns the file of a built-in theme, with a comment for each role.
pub fn theme_file(name: &str) -> Option<String> {
    let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
    let mut commented = String::new();
    for line in text.lines() {
        let key = line.split(" = ").next().unwrap_or_default();
        let role = Role::ALL.iter().find(|(_, name, _)| *name == key);
        if let Some((_, _, help)) = role {
            commented += &format!("# {help}\n");
        }
        commented += line;
        commented.push('\n');
    }
    Some(commented)
}

/// Returns a theme in the form of its file.
pub(crate) fn theme_text(theme: &Theme) -> String {
    let hex = |rgb| Colour::Rgb(rgb).to_string();
    let mut text = format!(
        "# {}\nbackground = \"{}\"\nground = \"{}\"\nink = \"{}\"\n\n[roles]\n",
        theme.name,
        theme.background,
        hex(theme.ground),
        hex(theme.ink)
    );
    for (role, name, help) in Role::ALL {
        text += &format!("# {help}\n{name} = \"{}\"\n", theme.paint(role));
    }
    text
}

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
    tables.insert("background".into(), text("the background, or terminal"));
    tables.insert(
        "ground".into(),
        text("the colour assumed for the terminal's background"),
    );
    tables.insert(
        "ink".into(),
        text("the colour assumed for the terminal's text"),
    );
    tables.insert("roles".into(), object(roles.collect()));
    document("A theme of Divisi", tables)
}
