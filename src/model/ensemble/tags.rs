//! The class names of tokens that mark spans, in the scheme IOB2: `B-PER` begins a person, `I-PER`
//! continues the person, and `O` is outside of all spans.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// The scheme by which class names of tokens mark spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TagScheme {
    /// They mark no spans.
    #[default]
    Plain,
    /// One class, `O`, is outside of all spans.
    Outside {
        /// Its number.
        class: u32,
    },
    /// The names follow IOB2.
    Spans,
}

/// The name of the class outside of all spans.
const OUTSIDE: &str = "O";

impl TagScheme {
    /// Returns the scheme of classes with these names: IOB2 if all names except `O` begin with `B-`
    /// or `I-`, and some with `B-`.
    pub fn from_names(names: Option<&[String]>) -> Self {
        let names = names.unwrap_or_default();
        let Some(outside) = names.iter().position(|name| name == OUTSIDE) else {
            return TagScheme::Plain;
        };
        let spans = names.iter().filter(|name| *name != OUTSIDE);
        let begins = names.iter().any(|name| name.starts_with("B-"));
        match begins && spans.into_iter().all(|name| Tag::from_name(name).is_some()) {
            true => TagScheme::Spans,
            false => TagScheme::Outside {
                class: u32::try_from(outside).unwrap_or(u32::MAX),
            },
        }
    }
}

/// The part of a class in spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tag<T> {
    begins: bool,
    kind: T,
}

impl<'a> Tag<&'a str> {
    fn from_name(name: &'a str) -> Option<Self> {
        let (begins, kind) = match (name.strip_prefix("B-"), name.strip_prefix("I-")) {
            (Some(kind), _) => (true, kind),
            (None, Some(kind)) => (false, kind),
            (None, None) => return None,
        };
        Some(Tag { begins, kind })
    }
}

/// A run of tokens: the kind of span, the first token and the token after the last.
pub(super) type TokenSpan = (usize, usize, usize);

/// The tags of all classes.
#[derive(Clone, Debug, Default)]
pub(super) struct TokenTags(Vec<Option<Tag<usize>>>);

impl TokenTags {
    /// Returns the tags of classes with these names. Names without a tag are outside.
    pub(super) fn from_names(names: &[String]) -> Self {
        let mut kinds = HashMap::new();
        let tag = |name: &String| {
            let tag = Tag::from_name(name)?;
            let next = kinds.len();
            let kind = *kinds.entry(tag.kind.to_owned()).or_insert(next);
            Some(Tag {
                begins: tag.begins,
                kind,
            })
        };
        TokenTags(names.iter().map(tag).collect())
    }

    /// Returns the spans of a sequence of classes, as seqeval in its default mode and CoNLL's
    /// script `conlleval` do: `I-` begins a span if it does not continue a span of its kind.
    pub(super) fn spans(&self, classes: &[u32]) -> Vec<TokenSpan> {
        let mut spans = Vec::new();
        let mut open: Option<(usize, usize)> = None;
        for (at, class) in classes.iter().enumerate() {
            let tag = self.0.get(*class as usize).copied().flatten();
            let goes_on =
                |(kind, _): &(usize, usize)| tag.is_some_and(|t| !t.begins && t.kind == *kind);
            if open.as_ref().is_some_and(goes_on) {
                continue;
            }
            spans.extend(open.map(|(kind, first)| (kind, first, at)));
            open = tag.map(|tag| (tag.kind, at));
        }
        spans.extend(open.map(|(kind, first)| (kind, first, classes.len())));
        spans
    }
}
