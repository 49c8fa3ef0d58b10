//! Default files with comments, made from the tables that files are checked against.

use super::fields::{Config, FIELDS, sections};
use super::keys::{EDIT, MAIN};
use super::themes::BUILT_IN;
use crate::commands::KEY_NAMES;
use crate::commands::{BINDINGS, Binding, Keymap, Scope};
use crate::look::{Colour, Role, Theme};

/// Returns the names of the built-in themes.
pub(crate) fn theme_names() -> Vec<String> {
    BUILT_IN
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect()
}

/// Returns `config.toml` with every option as in `config`.
pub fn config_file(config: &Config) -> String {
    let mut text = String::from(
        "# Divisi: options. A running console takes changes at once.\n\
         # `divisi config check` says what is wrong; `divisi config schema` is for editors.\n",
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
        "# Divisi: keys. NAME = \"KEY\" or [\"KEY\", …]; an empty list takes a command's keys away.\n\
         # A key is {}.\n\
         # Ctrl-C leaves and Ctrl-Z suspends whatever stands here; dialogs keep their keys.\n\
         # What a panel does with a key while it has the focus goes before other meanings.\n",
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
        .of(entry)
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

/// Returns a theme as its file would have it.
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
