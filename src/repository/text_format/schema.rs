//! The message types of `config.pbtxt`, with the field names of the published interface file.

/// A type of messages.
#[derive(Debug)]
pub(crate) struct MessageType {
    /// Its name in the interface file.
    pub(super) name: &'static str,
    pub(super) fields: &'static [FieldType],
}

/// A field of a type of messages.
#[derive(Debug)]
pub(super) struct FieldType {
    pub(super) name: &'static str,
    pub(super) kind: FieldKind,
    /// Whether it may appear more than once.
    pub(super) repeated: bool,
    /// The name of its choice, if any. A message has at most one field of a choice.
    pub(super) choice: Option<&'static str>,
}

/// The kind of values of a field.
#[derive(Debug)]
pub(super) enum FieldKind {
    Flag,
    /// A whole number.
    Whole {
        least: i128,
        most: i128,
    },
    Number,
    Text,
    /// One of several choices, by number or name.
    Choice(&'static [(i32, &'static str)]),
    /// A message of the type with this number.
    Message(usize),
}

impl MessageType {
    /// Returns the type of a whole `config.pbtxt`, or `None` if the interface file does not define
    /// it.
    pub(crate) fn config() -> Option<&'static MessageType> {
        let mut all = MESSAGES.iter();
        all.find(|message| message.name == "inference.ModelConfig")
    }

    /// Returns the type of the messages of a field.
    pub(super) fn at(number: usize) -> Option<&'static MessageType> {
        MESSAGES.get(number)
    }

    /// Returns the field `name`.
    pub(super) fn field(&self, name: &str) -> Option<&'static FieldType> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Returns the field that JSON calls `name`, in the interface file's spelling or as `itsName`.
    pub(super) fn json_field(&self, name: &str) -> Option<&'static FieldType> {
        let mut fields = self.fields.iter();
        fields.find(|field| field.name == name || is_in_camel_case(field.name, name))
    }

    /// Returns the names of its fields.
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.fields.iter().map(|field| field.name).collect()
    }
}

/// Returns whether `written` is `name` in camel case: without underscores, and with upper case
/// after each.
fn is_in_camel_case(name: &str, written: &str) -> bool {
    let mut upper = false;
    let letters = name.chars().filter_map(|c| {
        let was = std::mem::replace(&mut upper, c == '_');
        match (c, was) {
            ('_', _) => None,
            (c, true) => Some(c.to_ascii_uppercase()),
            (c, false) => Some(c),
        }
    });
    letters.eq(written.chars())
}

include!(concat!(env!("OUT_DIR"), "/schema.rs"));
