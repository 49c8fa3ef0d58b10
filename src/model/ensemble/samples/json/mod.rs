//! JSON: a document of samples with or without targets, one sample per line, or targets only.

/// Reads a type with itself as the visitor.
macro_rules! reads_itself {
    ($type:ty, $deserialize:ident) => {
        impl<'de> serde::de::DeserializeSeed<'de> for $type {
            type Value = ();

            fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
                from.$deserialize(self)
            }
        }
    };
}

mod labels;
mod rows;
mod target_rows;
mod targets;
mod texts;

use std::fmt;
use std::mem;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};

use divisi_runtime::reading::ReadError;

use super::form::SampleForm;
use super::named;
use super::rows::Samples;
use super::targets::{TargetForm, Targets};

pub(super) use texts::{text_lines, texts};

use rows::{AllRows, JsonRows, OneRow};
use targets::{AllTargets, JsonTargets, OneTarget};

/// The maximum number of characters of a text in a message.
const SHOWN: usize = 120;

/// Reads an array of samples, or an object of `samples` and `labels` (`targets`).
pub(super) fn samples(bytes: &[u8], form: &SampleForm<'_>) -> Result<Samples, ReadError> {
    if let Some(signature) = form.signature() {
        return named::of_json(bytes, &signature);
    }
    let mut set = JsonSet::new(form);
    let read = parse(bytes, JsonPart::Document.of(&mut set));
    read.map_err(|e| set.error(JsonPart::Document, 1, &e))?;
    set.finish()
}

/// Reads a sample, or an object of `sample` and `label`, from each line that is not empty.
pub(super) fn lines(bytes: &[u8], form: &SampleForm<'_>) -> Result<Samples, ReadError> {
    if let Some(signature) = form.signature() {
        return named::of_lines(bytes, &signature);
    }
    let mut set = JsonSet::new(form);
    for (before, line) in bytes.split(|b| *b == b'\n').enumerate() {
        if !line.trim_ascii().is_empty() {
            let read = parse(line, JsonPart::Line.of(&mut set));
            read.map_err(|e| set.error(JsonPart::Line, before + 1, &e))?;
        }
    }
    set.finish()
}

/// Reads an array of targets: numbers or names of classes, or rows of numbers.
pub(super) fn targets(bytes: &[u8], form: TargetForm<'_>) -> Result<Targets, ReadError> {
    let mut targets = JsonTargets::new(form);
    match parse(bytes, AllTargets(&mut targets)) {
        Ok(()) => Ok(targets.finish()),
        Err(error) => Err(targets.take_wrong().unwrap_or_else(|| placed(1, &error))),
    }
}

/// Reads a whole text as `part`.
fn parse<'de>(
    text: &'de [u8],
    part: impl DeserializeSeed<'de, Value = ()>,
) -> Result<(), serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    part.deserialize(&mut reader)?;
    reader.end()
}

/// Returns an error of the parser, with its position in a text that begins at `line`.
pub(super) fn placed(line: usize, error: &serde_json::Error) -> ReadError {
    let message = error.to_string();
    let reason = message.rsplit_once(" at line ").map_or(&*message, |m| m.0);
    let (line, column) = (line + error.line().saturating_sub(1), error.column());
    ReadError::new(shown(reason)).at(format_args!("line {line}, column {column}"))
}

/// Returns the error of a field that has no meaning, next to the fields that have.
fn unknown_field(fields: &str, found: &str) -> ReadError {
    let found = format_args!("`{}`", shown(found));
    ReadError::expected(format_args!("the fields {fields}"), found)
}

fn repeated_field(field: &str) -> ReadError {
    ReadError::new(format_args!("`{field}` appears twice"))
}

fn missing_field(field: &str) -> ReadError {
    ReadError::new(format_args!("expected the field `{field}`"))
}

/// Returns the error of a row of another shape.
fn other_shape(expected: &str, found: &[u64]) -> ReadError {
    let expected = format_args!("the shape {expected}");
    ReadError::expected(expected, format_args!("{found:?}"))
}

/// Returns the error of a row with more values than `most`.
fn too_long(most: usize) -> ReadError {
    ReadError::expected(format_args!("{most} values"), "more")
}

/// Returns the beginning of a file's text for a terminal.
fn shown(text: &str) -> String {
    let mut letters = text.chars();
    let start: String = letters.by_ref().take(SHOWN).collect();
    let more = if letters.next().is_some() { "…" } else { "" };
    let safe = |c: char| if c.is_control() { ' ' } else { c };
    start.chars().map(safe).collect::<String>() + more
}

/// The samples and targets read.
struct JsonSet<'a> {
    rows: JsonRows<'a>,
    targets: JsonTargets<'a>,
    /// Whether there is a field of targets.
    has_targets: bool,
    /// The error in a field, if it stopped the parser.
    wrong: Option<ReadError>,
}

impl<'a> JsonSet<'a> {
    fn new(form: &'a SampleForm<'a>) -> Self {
        JsonSet {
            rows: JsonRows::new(form),
            targets: JsonTargets::new(form.targets()),
            has_targets: false,
            wrong: None,
        }
    }

    /// Returns the error that stopped the parser.
    fn error(&mut self, part: JsonPart, line: usize, error: &serde_json::Error) -> ReadError {
        let field = self.wrong.take().map(|error| match part {
            JsonPart::Document => error,
            JsonPart::Line => error.at(format_args!("line {line}")),
        });
        let known = self.rows.wrong.take().or(self.targets.take_wrong());
        known.or(field).unwrap_or_else(|| placed(line, error))
    }

    fn finish(self) -> Result<Samples, ReadError> {
        let samples = self.rows.finish()?;
        match self.has_targets {
            true => samples.with_targets(self.targets.finish()),
            false => Ok(samples),
        }
    }

    fn fail<E: Error>(&mut self, error: ReadError) -> E {
        self.wrong = Some(error);
        E::custom("")
    }
}

/// The kind of text that is read as a unit.
#[derive(Clone, Copy)]
enum JsonPart {
    Document,
    Line,
}

impl JsonPart {
    fn of<'s, 'a>(self, set: &'s mut JsonSet<'a>) -> PartReader<'s, 'a> {
        PartReader { part: self, set }
    }

    /// Returns the names of the fields of samples and of targets.
    fn fields(self) -> [&'static [&'static str]; 2] {
        match self {
            JsonPart::Document => [&["samples", "x"], &["labels", "targets", "y"]],
            JsonPart::Line => [&["sample", "x"], &["label", "target", "y"]],
        }
    }

    /// Returns the expected fields as text.
    fn expected(self) -> &'static str {
        match self {
            JsonPart::Document => "`samples` (`x`) and `labels` (`targets`, `y`)",
            JsonPart::Line => "`sample` (`x`) and `label` (`target`, `y`)",
        }
    }
}

/// Reads a document or a line into a set.
struct PartReader<'s, 'a> {
    part: JsonPart,
    set: &'s mut JsonSet<'a>,
}

impl PartReader<'_, '_> {
    /// Returns the one of the two fields that `name` denotes.
    fn field<E: Error>(&mut self, name: &str, seen: &mut [bool; 2]) -> Result<usize, E> {
        let fields = self.part.fields();
        let Some(at) = fields.iter().position(|names| names.contains(&name)) else {
            let wrong = unknown_field(self.part.expected(), name);
            return Err(self.set.fail(wrong));
        };
        self.set.has_targets |= at == 1;
        match mem::replace(&mut seen[at], true) {
            true => Err(self.set.fail(repeated_field(fields[at][0]))),
            false => Ok(at),
        }
    }
}

reads_itself!(PartReader<'_, '_>, deserialize_any);

impl<'de> Visitor<'de> for PartReader<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            JsonPart::Document => write!(f, "an array of samples"),
            JsonPart::Line => write!(f, "a sample as an array"),
        }?;
        write!(f, ", or an object of {}", self.part.expected())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        match self.part {
            JsonPart::Document => AllRows(&mut self.set.rows).visit_seq(seq),
            JsonPart::Line => {
                OneRow(&mut self.set.rows).deserialize(SeqAccessDeserializer::new(seq))
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut seen = [false; 2];
        while let Some(name) = map.next_key::<String>()? {
            match (self.field(&name, &mut seen)?, self.part) {
                (0, JsonPart::Document) => map.next_value_seed(AllRows(&mut self.set.rows))?,
                (0, JsonPart::Line) => map.next_value_seed(OneRow(&mut self.set.rows))?,
                (_, JsonPart::Document) => {
                    map.next_value_seed(AllTargets(&mut self.set.targets))?
                }
                (_, JsonPart::Line) => map.next_value_seed(OneTarget(&mut self.set.targets))?,
            }
        }
        match seen[0] {
            true => Ok(()),
            false => {
                let missing = missing_field(self.part.fields()[0][0]);
                Err(self.set.fail(missing))
            }
        }
    }
}
