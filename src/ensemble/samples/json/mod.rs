//! JSON: a document of samples, alone or with labels, a line for each sample, and labels alone.

mod labels;
mod rows;

use std::fmt;
use std::mem;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::error::{JsonError, SamplesError};
use super::form::{Classes, SampleForm};
use super::rows::Samples;

use labels::{AllLabels, JsonLabels, OneLabel};
use rows::{AllRows, JsonRows, OneRow};

/// The most letters of a text in a message.
const SHOWN: usize = 120;

/// Reads an array of samples, or an object of `samples` and `labels`.
pub(super) fn samples(bytes: &[u8], form: &SampleForm<'_>) -> Result<Samples, SamplesError> {
    let mut set = JsonSet::new(form);
    let read = parse(bytes, JsonPart::Document.of(&mut set));
    read.map_err(|e| set.error(JsonPart::Document, 1, &e))?;
    set.finish()
}

/// Reads a sample, or an object of `sample` and `label`, from each line that is not empty.
pub(super) fn lines(bytes: &[u8], form: &SampleForm<'_>) -> Result<Samples, SamplesError> {
    let mut set = JsonSet::new(form);
    for (before, line) in bytes.split(|b| *b == b'\n').enumerate() {
        if !line.trim_ascii().is_empty() {
            let read = parse(line, JsonPart::Line.of(&mut set));
            read.map_err(|e| set.error(JsonPart::Line, before + 1, &e))?;
        }
    }
    set.finish()
}

/// Reads an array of labels: numbers or names of classes.
pub(super) fn labels(bytes: &[u8], classes: &Classes<'_>) -> Result<Vec<usize>, SamplesError> {
    let mut labels = JsonLabels::new(*classes);
    match parse(bytes, AllLabels(&mut labels)) {
        Ok(()) => Ok(labels.found),
        Err(error) => Err(labels.wrong.take().unwrap_or_else(|| placed(1, &error))),
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

/// Returns an error of the parser, with its place in a text that begins at `line`.
fn placed(line: usize, error: &serde_json::Error) -> SamplesError {
    let message = error.to_string();
    let reason = message.rsplit_once(" at line ").map_or(&*message, |m| m.0);
    let place = JsonError::Place {
        line: line + error.line().saturating_sub(1),
        column: error.column(),
        reason: shown(reason),
    };
    place.into()
}

/// Returns the beginning of a file's text, as a terminal can show it.
fn shown(text: &str) -> String {
    let mut letters = text.chars();
    let start: String = letters.by_ref().take(SHOWN).collect();
    let more = if letters.next().is_some() { "…" } else { "" };
    let safe = |c: char| if c.is_control() { ' ' } else { c };
    start.chars().map(safe).collect::<String>() + more
}

/// The samples and labels read so far.
struct JsonSet<'a> {
    rows: JsonRows<'a>,
    labels: JsonLabels<'a>,
    /// Whether there is a field of labels.
    labelled: bool,
    /// The error in a field, if that is why the parser stopped.
    wrong: Option<SamplesError>,
}

impl<'a> JsonSet<'a> {
    fn new(form: &'a SampleForm<'a>) -> Self {
        JsonSet {
            rows: JsonRows::new(form),
            labels: JsonLabels::new(form.classes),
            labelled: false,
            wrong: None,
        }
    }

    /// Returns why the parser stopped.
    fn error(&mut self, part: JsonPart, line: usize, error: &serde_json::Error) -> SamplesError {
        let field = self.wrong.take().map(|error| match part {
            JsonPart::Document => error,
            JsonPart::Line => error.within(format!("line {line}")),
        });
        let known = self.rows.wrong.take().or(self.labels.wrong.take());
        known.or(field).unwrap_or_else(|| placed(line, error))
    }

    fn finish(self) -> Result<Samples, SamplesError> {
        let samples = self.rows.finish()?;
        match self.labelled {
            true => samples.with_labels(self.labels.found),
            false => Ok(samples),
        }
    }

    fn fail<E: Error>(&mut self, error: JsonError) -> E {
        self.wrong = Some(error.into());
        E::custom("")
    }
}

/// The text that is read as a whole.
#[derive(Clone, Copy)]
enum JsonPart {
    Document,
    Line,
}

impl JsonPart {
    fn of<'s, 'a>(self, set: &'s mut JsonSet<'a>) -> PartReader<'s, 'a> {
        PartReader { part: self, set }
    }

    /// Returns the names of the fields of samples and labels, which are also called `x` and `y`.
    fn fields(self) -> [&'static str; 2] {
        match self {
            JsonPart::Document => ["samples", "labels"],
            JsonPart::Line => ["sample", "label"],
        }
    }

    /// Returns the same in words.
    fn expected(self) -> &'static str {
        match self {
            JsonPart::Document => "`samples` and `labels`, or `x` and `y`",
            JsonPart::Line => "`sample` and `label`, or `x` and `y`",
        }
    }
}

/// Reads a document or a line into a set.
struct PartReader<'s, 'a> {
    part: JsonPart,
    set: &'s mut JsonSet<'a>,
}

impl PartReader<'_, '_> {
    /// Returns which of the two fields `name` is.
    fn field<E: Error>(&mut self, name: &str, seen: &mut [bool; 2]) -> Result<usize, E> {
        let fields = self.part.fields();
        let named = |at: usize| name == fields[at] || name == ["x", "y"][at];
        let Some(at) = (0..2).find(|at| named(*at)) else {
            return Err(self.set.fail(JsonError::Field {
                expected: self.part.expected(),
                found: shown(name),
            }));
        };
        self.set.labelled |= at == 1;
        match mem::replace(&mut seen[at], true) {
            true => Err(self.set.fail(JsonError::RepeatedField(fields[at]))),
            false => Ok(at),
        }
    }
}

impl<'de> DeserializeSeed<'de> for PartReader<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

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
                (_, JsonPart::Document) => map.next_value_seed(AllLabels(&mut self.set.labels))?,
                (_, JsonPart::Line) => map.next_value_seed(OneLabel(&mut self.set.labels))?,
            }
        }
        match seen[0] {
            true => Ok(()),
            false => {
                let missing = JsonError::MissingField(self.part.fields()[0]);
                Err(self.set.fail(missing))
            }
        }
    }
}
