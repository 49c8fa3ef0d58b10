//! Notes on the changes made to a file's tensors, and short lists of names in messages.

use std::fmt;

use crate::words::counted;

/// A change made to a file's tensors to make them a network's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WeightsNote {
    /// The tensors were read from this number of files, which an index names.
    Shards(usize),
    /// A prefix was removed from names.
    Prefix {
        /// The prefix.
        prefix: String,
        /// How many names had it.
        tensors: usize,
    },
    /// Wrappers inside names were removed, or an older spelling was changed.
    Rewritten(Handful),
    /// Tensors were renamed by the manifest.
    Renamed(Handful),
    /// Values were converted to float32.
    Converted {
        /// The type in the file.
        from: &'static str,
        /// How many tensors were of it.
        tensors: usize,
    },
    /// Tensors were ignored.
    Ignored {
        /// The reason.
        why: Ignored,
        /// Their names.
        tensors: Handful,
    },
}

/// The reason why tensors are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ignored {
    /// They are whole numbers that count steps of training.
    Counters,
    /// They list relative positions, which follow from the network.
    PositionIndex,
    /// They belong to a head that only training needs.
    AuxiliaryHead,
    /// Their names do not begin with the manifest's prefix.
    OtherPrefix,
    /// The manifest ignores them.
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

impl Ignored {
    /// Returns the word for one such tensor, and the words after it.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Ignored::Counters => ("counter", "of training"),
            Ignored::PositionIndex => ("list", "of relative positions"),
            Ignored::AuxiliaryHead => ("tensor", "of an auxiliary head"),
            Ignored::OtherPrefix => ("tensor", "without the prefix"),
            Ignored::Asked => ("tensor", "matched by `ignore`"),
        }
    }
}

/// The first few of several names or sentences, and the number of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handful {
    shown: Vec<String>,
    count: usize,
}

impl Handful {
    /// The most that are shown.
    pub const MOST: usize = 4;

    /// Adds a text. It is only built if it will be shown.
    pub fn push(&mut self, said: impl FnOnce() -> String) {
        self.count += 1;
        if self.shown.len() < Self::MOST {
            self.shown.push(said());
        }
    }

    /// Returns the number of all.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the texts that are shown.
    pub fn shown(&self) -> &[String] {
        &self.shown
    }

    /// Returns whether there are no texts.
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
    /// Collects names, in quotes.
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        let mut handful = Handful::default();
        for name in names {
            handful.push(|| quoted(name.as_ref()));
        }
        handful
    }
}

/// The most characters of a name that are shown.
const SHOWN: usize = 100;

/// The most characters of a sentence that quotes a file.
const SENTENCE: usize = 300;

/// Returns a sentence that may quote a file, as a terminal can show it.
pub(super) fn cut(said: &str) -> String {
    shown(said, SENTENCE)
}

/// Returns a name from a file, as a terminal can show it: in quotes, without control
/// characters, and cut if it is long.
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
