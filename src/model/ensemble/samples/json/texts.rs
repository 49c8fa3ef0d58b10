//! Texts in JSON: plain texts, or objects with a text, an optional second text and a target.

use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use divisi_runtime::reading::ReadError;

use crate::ensemble::samples::form::SampleForm;
use crate::ensemble::samples::rows::Samples;
use crate::ensemble::samples::text::{TextInput, TextRows};

use super::targets::{AllTargets, JsonTargets, OneTarget};
use super::{missing_field, parse, placed, repeated_field, unknown_field};

/// The fields of a document as text.
const FIELDS: &str = "`samples` (`texts`, `x`) and `labels` (`targets`, `y`)";

/// Reads an array of texts, or an object of `samples` and `labels`.
pub(in crate::ensemble::samples) fn texts(
    bytes: &[u8],
    form: &SampleForm<'_>,
    input: &TextInput,
) -> Result<Samples, ReadError> {
    let mut set = TextSet::new(form, input);
    let read = parse(bytes, TextDocument(&mut set));
    read.map_err(|e| set.error(1, &e))?;
    set.finish()
}

/// Reads a text from each line that is not empty.
pub(in crate::ensemble::samples) fn text_lines(
    bytes: &[u8],
    form: &SampleForm<'_>,
    input: &TextInput,
) -> Result<Samples, ReadError> {
    let mut set = TextSet::new(form, input);
    for (before, line) in bytes.split(|b| *b == b'\n').enumerate() {
        if !line.trim_ascii().is_empty() {
            let read = parse(line, OneText(&mut set));
            read.map_err(|e| set.error(before + 1, &e))?;
        }
    }
    set.finish()
}

/// The texts and targets read.
struct TextSet<'a> {
    rows: TextRows<'a>,
    targets: JsonTargets<'a>,
    has_targets: bool,
    /// The error in a sample or field, if it stopped the parser.
    wrong: Option<ReadError>,
}

impl<'a> TextSet<'a> {
    fn new(form: &SampleForm<'a>, input: &'a TextInput) -> Self {
        TextSet {
            rows: TextRows::new(input),
            targets: JsonTargets::new(form.targets()),
            has_targets: false,
            wrong: None,
        }
    }

    fn take<E: Error>(&mut self, text: &str, pair: Option<&str>) -> Result<(), E> {
        let taken = self.rows.take(text, pair);
        taken.map_err(|error| self.fail(error))
    }

    /// Stores the reason why the current sample is invalid. The parser's own error has no room for
    /// it.
    fn fail<E: Error>(&mut self, error: ReadError) -> E {
        let row = self.rows.len();
        self.wrong = Some(error.at(format_args!("row {row}")));
        E::custom("")
    }

    /// Returns the error that stopped the parser.
    fn error(&mut self, line: usize, error: &serde_json::Error) -> ReadError {
        let known = self.wrong.take().or(self.targets.take_wrong());
        known.unwrap_or_else(|| placed(line, error))
    }

    fn finish(self) -> Result<Samples, ReadError> {
        let samples = self.rows.finish()?;
        match self.has_targets {
            true => samples.with_targets(self.targets.finish()),
            false => Ok(samples),
        }
    }
}

/// Reads a whole document.
struct TextDocument<'s, 'a>(&'s mut TextSet<'a>);

reads_itself!(TextDocument<'_, '_>, deserialize_any);

impl<'de> Visitor<'de> for TextDocument<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array of texts, or an object of {FIELDS}")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        AllTexts(self.0).visit_seq(seq)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let set = self.0;
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "samples" | "texts" | "x" => map.next_value_seed(AllTexts(set))?,
                "labels" | "targets" | "y" => {
                    set.has_targets = true;
                    map.next_value_seed(AllTargets(&mut set.targets))?;
                }
                other => {
                    set.wrong = Some(unknown_field(FIELDS, other));
                    return Err(A::Error::custom(""));
                }
            }
        }
        Ok(())
    }
}

/// Reads an array of texts.
struct AllTexts<'s, 'a>(&'s mut TextSet<'a>);

reads_itself!(AllTexts<'_, '_>, deserialize_seq);

impl<'de> Visitor<'de> for AllTexts<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array of texts")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(OneText(self.0))?.is_some() {}
        Ok(())
    }
}

/// Reads a text, or an object of `text`, `text_pair` and a target. Other fields are ignored.
struct OneText<'s, 'a>(&'s mut TextSet<'a>);

reads_itself!(OneText<'_, '_>, deserialize_any);

impl<'de> Visitor<'de> for OneText<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a text, or an object with the field `text`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.take(text, None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let set = self.0;
        let (mut text, mut pair, mut has_target) = (None, None, false);
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "text" => text = Some(map.next_value::<String>()?),
                "text_pair" => pair = map.next_value::<Option<String>>()?,
                "label" | "target" | "y" if has_target => {
                    return Err(set.fail(repeated_field("label")));
                }
                "label" | "target" | "y" => {
                    (set.has_targets, has_target) = (true, true);
                    map.next_value_seed(OneTarget(&mut set.targets))?;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        match text {
            Some(text) => set.take(&text, pair.as_deref()),
            None => Err(set.fail(missing_field("text"))),
        }
    }
}
