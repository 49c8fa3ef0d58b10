//! What was done to a file's tensors to make them a network's.

use std::fmt;

use super::handful::{Handful, quoted};

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
