//! The fields of a message. Each field is taken once, so that the names of unread fields are known.

use std::time::Duration;

use crate::text_format::{Field, FieldValue, TextFault, TextMessage, quoted};

/// A value with its line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AtLine<T> {
    pub line: usize,
    pub value: T,
}

/// The fields of a message that are not taken yet.
pub(super) struct ConfigFields {
    /// The names of the fields that lead to the message.
    path: String,
    pub line: usize,
    left: Vec<Field>,
}

impl ConfigFields {
    pub(super) fn new(message: TextMessage) -> Self {
        ConfigFields {
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

    /// Returns the full name of a field.
    pub(super) fn named(&self, field: &str) -> String {
        match self.path.is_empty() {
            true => field.to_owned(),
            false => format!("{}.{field}", self.path),
        }
    }

    /// Takes all values of a field for which `of` returns a value.
    fn taken<T>(&mut self, name: &str, of: impl Fn(FieldValue) -> Option<T>) -> Vec<AtLine<T>> {
        let (taken, left) = std::mem::take(&mut self.left)
            .into_iter()
            .partition::<Vec<Field>, _>(|field| field.name == name);
        self.left = left;
        let values = taken.into_iter().filter_map(|field| {
            let line = field.line;
            of(field.value).map(|value| AtLine { line, value })
        });
        values.collect()
    }

    pub(super) fn texts(&mut self, name: &str) -> Vec<AtLine<String>> {
        self.taken(name, |value| match value {
            FieldValue::Text(text) => Some(text),
            _ => None,
        })
    }

    pub(super) fn text(&mut self, name: &str) -> Option<AtLine<String>> {
        self.texts(name).pop()
    }

    pub(super) fn wholes(&mut self, name: &str) -> Vec<AtLine<i64>> {
        // The interface file allows 64 bits. Values above an i64 mean "no limit".
        self.taken(name, |value| match value {
            FieldValue::Whole(number) => Some(i64::try_from(number).unwrap_or(i64::MAX)),
            _ => None,
        })
    }

    pub(super) fn whole(&mut self, name: &str) -> Option<AtLine<i64>> {
        self.wholes(name).pop()
    }

    /// Takes a time in microseconds, if it is above 0.
    pub(super) fn micros(&mut self, name: &str) -> Option<Duration> {
        let micros = self.whole(name).map_or(0, |n| n.value);
        let micros = u64::try_from(micros).ok().filter(|micros| *micros > 0);
        micros.map(Duration::from_micros)
    }

    /// Takes the values of a list of whole numbers.
    pub(super) fn numbers(&mut self, name: &str) -> Vec<i64> {
        let all = self.wholes(name).into_iter();
        all.map(|placed| placed.value).collect()
    }

    pub(super) fn flag(&mut self, name: &str) -> Option<bool> {
        let mut taken = self.taken(name, |value| match value {
            FieldValue::Flag(flag) => Some(flag),
            _ => None,
        });
        taken.pop().map(|placed| placed.value)
    }

    pub(super) fn choice(&mut self, name: &str) -> Option<AtLine<&'static str>> {
        let mut taken = self.taken(name, |value| match value {
            FieldValue::Choice(choice) => Some(choice),
            _ => None,
        });
        taken.pop()
    }

    pub(super) fn messages(&mut self, name: &str) -> Vec<ConfigFields> {
        let path = self.named(name);
        let taken = self.taken(name, |value| match value {
            FieldValue::Message(message) => Some(message),
            _ => None,
        });
        let messages = taken.into_iter().map(|placed| ConfigFields {
            path: path.clone(),
            line: placed.line,
            left: placed.value.fields,
        });
        messages.collect()
    }

    pub(super) fn message(&mut self, name: &str) -> Option<ConfigFields> {
        self.messages(name).pop()
    }

    /// Takes a map of strings.
    ///
    /// # Errors
    /// A key appears twice.
    pub(super) fn map(&mut self, name: &str) -> Result<Vec<(String, String)>, TextFault> {
        let mut all: Vec<(String, String)> = Vec::new();
        for mut entry in self.messages(name) {
            let mut part = |name| entry.text(name).map(|text| text.value).unwrap_or_default();
            let (key, value) = (part("key"), part("value"));
            if all.iter().any(|(known, _)| *known == key) {
                let why = format!("the key `{}` appears twice", quoted(&key));
                return Err(self.wrong(entry.line, name, &why));
            }
            all.push((key, value));
        }
        Ok(all)
    }

    /// Adds the names of all remaining fields, each once.
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
fn leaves(name: &str, value: &FieldValue, names: &mut Vec<String>) {
    match value {
        FieldValue::Message(message) if !message.fields.is_empty() => {
            for field in &message.fields {
                leaves(&format!("{name}.{}", field.name), &field.value, names);
            }
        }
        _ => names.push(name.to_owned()),
    }
}
