//! The fields of a message, taken one by one, so that what nobody took is known by name.

use crate::text_format::{Field, Message, TextFault, Value};

/// A value with the line that it stands on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placed<T> {
    pub line: usize,
    pub value: T,
}

/// The fields of a message that nobody took yet.
pub(super) struct Fields {
    /// The names of the fields that lead to the message.
    path: String,
    pub line: usize,
    left: Vec<Field>,
}

impl Fields {
    pub(super) fn new(message: Message) -> Self {
        Fields {
            path: String::new(),
            line: message.line,
            left: message.fields,
        }
    }

    /// Returns the error of a field at a line.
    pub(super) fn wrong(&self, line: usize, field: &str, why: &str) -> TextFault {
        let message = format!("{}: {why}", self.named(field));
        TextFault { line, message }
    }

    /// Returns the whole name of a field.
    pub(super) fn named(&self, field: &str) -> String {
        match self.path.is_empty() {
            true => field.to_owned(),
            false => format!("{}.{field}", self.path),
        }
    }

    /// Takes all values of a field that `of` makes something of.
    fn taken<T>(&mut self, name: &str, of: impl Fn(Value) -> Option<T>) -> Vec<Placed<T>> {
        let (taken, left) = std::mem::take(&mut self.left)
            .into_iter()
            .partition::<Vec<Field>, _>(|field| field.name == name);
        self.left = left;
        let values = taken.into_iter().filter_map(|field| {
            let line = field.line;
            of(field.value).map(|value| Placed { line, value })
        });
        values.collect()
    }

    pub(super) fn texts(&mut self, name: &str) -> Vec<Placed<String>> {
        self.taken(name, |value| match value {
            Value::Text(text) => Some(text),
            _ => None,
        })
    }

    pub(super) fn text(&mut self, name: &str) -> Option<Placed<String>> {
        self.texts(name).pop()
    }

    pub(super) fn wholes(&mut self, name: &str) -> Vec<Placed<i64>> {
        // The interface file bounds them to 64 bits; those above an i64 mean "as many as can be".
        self.taken(name, |value| match value {
            Value::Whole(number) => Some(i64::try_from(number).unwrap_or(i64::MAX)),
            _ => None,
        })
    }

    pub(super) fn whole(&mut self, name: &str) -> Option<Placed<i64>> {
        self.wholes(name).pop()
    }

    /// Takes the values of a list of whole numbers.
    pub(super) fn numbers(&mut self, name: &str) -> Vec<i64> {
        let all = self.wholes(name).into_iter();
        all.map(|placed| placed.value).collect()
    }

    pub(super) fn flag(&mut self, name: &str) -> Option<bool> {
        let mut taken = self.taken(name, |value| match value {
            Value::Flag(flag) => Some(flag),
            _ => None,
        });
        taken.pop().map(|placed| placed.value)
    }

    pub(super) fn choice(&mut self, name: &str) -> Option<Placed<&'static str>> {
        let mut taken = self.taken(name, |value| match value {
            Value::Choice(choice) => Some(choice),
            _ => None,
        });
        taken.pop()
    }

    pub(super) fn messages(&mut self, name: &str) -> Vec<Fields> {
        let path = self.named(name);
        let taken = self.taken(name, |value| match value {
            Value::Message(message) => Some(message),
            _ => None,
        });
        let messages = taken.into_iter().map(|placed| Fields {
            path: path.clone(),
            line: placed.line,
            left: placed.value.fields,
        });
        messages.collect()
    }

    pub(super) fn message(&mut self, name: &str) -> Option<Fields> {
        self.messages(name).pop()
    }

    /// Takes a map of strings.
    ///
    /// # Errors
    /// A key is there twice.
    pub(super) fn map(&mut self, name: &str) -> Result<Vec<(String, String)>, TextFault> {
        let mut all: Vec<(String, String)> = Vec::new();
        for mut entry in self.messages(name) {
            let mut part = |name| entry.text(name).map(|text| text.value).unwrap_or_default();
            let (key, value) = (part("key"), part("value"));
            if all.iter().any(|(known, _)| *known == key) {
                let why = format!("the key `{key}` is there twice");
                return Err(self.wrong(entry.line, name, &why));
            }
            all.push((key, value));
        }
        Ok(all)
    }

    /// Adds the names of all fields that are left, each once.
    pub(super) fn finish(self, unused: &mut Vec<String>) {
        for field in &self.left {
            let mut names = Vec::new();
            leaves(&self.named(field.name), &field.value, &mut names);
            for name in names {
                if !unused.contains(&name) {
                    unused.push(name);
                }
            }
        }
    }
}

/// Adds the names of the values in a field.
fn leaves(name: &str, value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Message(message) if !message.fields.is_empty() => {
            for field in &message.fields {
                leaves(&format!("{name}.{}", field.name), &field.value, names);
            }
        }
        _ => names.push(name.to_owned()),
    }
}
