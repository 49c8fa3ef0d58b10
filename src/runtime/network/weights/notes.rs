//! What was done to a file's tensors to make them a network's.

use std::fmt;

/// One thing that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WeightsNote {
    /// Read from so many files that an index names.
    Shards(usize),
    /// A prefix was taken away.
    Prefix { prefix: String, tensors: usize },
    /// Wrappers inside of names were taken away, or an older way to write them changed.
    Rewritten(Handful),
    /// Renamed as was said.
    Renamed(Handful),
    /// Converted to float32.
    Converted { from: &'static str, tensors: usize },
    /// Left alone.
    Ignored { why: Ignored, tensors: Handful },
}

/// Why tensors are left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ignored {
    /// Whole numbers that count training's steps.
    Counters,
    /// A head that only training needs.
    AuxiliaryHead,
    /// They do not begin with the prefix that was said.
    OtherPrefix,
    /// It was said.
    Asked,
}

impl fmt::Display for WeightsNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WeightsNote::Shards(files) => write!(f, "read from {}", counted(*files, "shard")),
            WeightsNote::Prefix { prefix, tensors } => {
                let names = counted(*tensors, "name");
                write!(f, "prefix {} removed from {names}", quoted(prefix))
            }
            WeightsNote::Rewritten(names) => {
                write!(f, "{} rewritten: {names}", counted(names.count(), "name"))
            }
            WeightsNote::Renamed(names) => {
                write!(f, "{} renamed: {names}", counted(names.count(), "name"))
            }
            WeightsNote::Converted { from, tensors } => {
                let tensors = counted(*tensors, "tensor");
                write!(f, "{tensors} converted from {from} to float32")
            }
            WeightsNote::Ignored { why, tensors } => {
                let (what, rest) = why.words();
                let count = counted(tensors.count(), what);
                write!(f, "ignored {count} {rest}: {tensors}")
            }
        }
    }
}

/// `1 tensor`, `2 tensors`.
fn counted(number: usize, what: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {what}{ending}")
}

impl Ignored {
    /// What one is called, and what is said of it.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Ignored::Counters => ("counter", "of training"),
            Ignored::AuxiliaryHead => ("tensor", "of an auxiliary head"),
            Ignored::OtherPrefix => ("tensor", "without the prefix"),
            Ignored::Asked => ("tensor", "as asked"),
        }
    }
}

/// The first few of what there is, and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handful {
    shown: Vec<String>,
    count: usize,
}

impl Handful {
    /// As many are shown at most.
    pub const MOST: usize = 4;

    /// Adds one; what it is called is only asked where it will be shown.
    pub fn push(&mut self, said: impl FnOnce() -> String) {
        self.count += 1;
        if self.shown.len() < Self::MOST {
            self.shown.push(said());
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Those that are shown.
    pub fn shown(&self) -> &[String] {
        &self.shown
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn separated(&self, by: &str) -> String {
        let mut text = self.shown.join(by);
        let more = self.count - self.shown.len();
        if more > 0 {
            text += &format!(" and {more} more");
        }
        text
    }
}

impl fmt::Display for Handful {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.separated(", "))
    }
}

impl<S: AsRef<str>> FromIterator<S> for Handful {
    /// Quotes names.
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        let mut handful = Handful::default();
        for name in names {
            handful.push(|| quoted(name.as_ref()));
        }
        handful
    }
}

/// Characters of a name that are shown.
const SHOWN: usize = 100;

/// Characters of a sentence that quotes a file.
const SENTENCE: usize = 300;

/// A sentence that may quote a file, as a terminal can show it.
pub(super) fn cut(said: &str) -> String {
    shown(said, SENTENCE)
}

/// A name of a file's own choosing, as a terminal can show it: in quotes, without control
/// characters, cut where it is long.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", shown(name, SHOWN))
}

fn shown(text: &str, most: usize) -> String {
    let mut start = String::new();
    for c in text.chars().take(most) {
        match c.is_control() {
            true => start.extend(c.escape_debug()),
            false => start.push(c),
        }
    }
    if text.chars().nth(most).is_some() {
        start.push('…');
    }
    start
}
