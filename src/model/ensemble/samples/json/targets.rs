//! Targets in JSON: labels, or rows of numbers.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};

use divisi_runtime::reading::ReadError;

use crate::ensemble::boxes::TargetBox;
use crate::ensemble::samples::boxes::{WrittenBox, of_sample};
use crate::ensemble::samples::form::Classes;
use crate::ensemble::samples::targets::{TargetForm, Targets};

use super::labels::{JsonLabels, OneLabel};
use super::target_rows::{JsonTargetRows, OneTargetRow};

/// The targets read.
pub(super) enum JsonTargets<'a> {
    Classes(JsonLabels<'a>),
    Rows(JsonTargetRows<'a>),
    Boxes(JsonBoxes<'a>),
}

/// The boxes of samples read.
pub(super) struct JsonBoxes<'a> {
    classes: Classes<'a>,
    found: Vec<Vec<TargetBox>>,
    /// The error in a box, if it stopped the parser.
    wrong: Option<ReadError>,
}

impl<'a> JsonTargets<'a> {
    pub(super) fn new(form: TargetForm<'a>) -> Self {
        match form {
            TargetForm::Classes(classes) => JsonTargets::Classes(JsonLabels::new(classes)),
            TargetForm::Rows(columns) => JsonTargets::Rows(JsonTargetRows::new(columns)),
            TargetForm::Boxes(classes) => JsonTargets::Boxes(JsonBoxes {
                classes,
                found: Vec::new(),
                wrong: None,
            }),
        }
    }

    /// Takes the error in a target, if it stopped the parser.
    pub(super) fn take_wrong(&mut self) -> Option<ReadError> {
        match self {
            JsonTargets::Classes(labels) => labels.wrong.take(),
            JsonTargets::Rows(rows) => rows.wrong.take(),
            JsonTargets::Boxes(boxes) => boxes.wrong.take(),
        }
    }

    /// Returns the targets.
    pub(super) fn finish(self) -> Targets {
        match self {
            JsonTargets::Classes(labels) => Targets::Classes(labels.found),
            JsonTargets::Rows(rows) => rows.finish(),
            JsonTargets::Boxes(boxes) => Targets::Boxes(boxes.found),
        }
    }
}

/// Reads an array of targets.
pub(super) struct AllTargets<'r, 'a>(pub &'r mut JsonTargets<'a>);

reads_itself!(AllTargets<'_, '_>, deserialize_seq);

impl<'de> Visitor<'de> for AllTargets<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            JsonTargets::Classes(_) => write!(f, "an array of labels"),
            JsonTargets::Rows(_) | JsonTargets::Boxes(_) => write!(f, "an array of targets"),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(OneTarget(self.0))?.is_some() {}
        Ok(())
    }
}

/// Reads the target of a sample.
pub(super) struct OneTarget<'r, 'a>(pub &'r mut JsonTargets<'a>);

impl<'de> DeserializeSeed<'de> for OneTarget<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.0 {
            JsonTargets::Classes(labels) => OneLabel(labels).deserialize(deserializer),
            JsonTargets::Rows(rows) => OneTargetRow(rows).deserialize(deserializer),
            JsonTargets::Boxes(boxes) => boxes.take(deserializer),
        }
    }
}

impl JsonBoxes<'_> {
    /// Reads the boxes of a sample.
    fn take<'de, D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        let written = Vec::<WrittenBox>::deserialize(deserializer)?;
        match of_sample(self.found.len(), &written, &self.classes) {
            Ok(boxes) => self.found.push(boxes),
            Err(error) => {
                self.wrong = Some(error);
                return Err(D::Error::custom(""));
            }
        }
        Ok(())
    }
}
