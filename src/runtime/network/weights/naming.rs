//! What a person says about the names in a file of weights.

use std::collections::BTreeMap;

/// How a file's names become the network's. Nothing said: they are the same, but for
/// wrappers and the like that are recognised.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Naming {
    /// What the wanted names begin with in the file; others are left alone.
    pub prefix: Option<String>,
    /// From a name in the file (without prefix), or its beginning up to a dot, to the
    /// network's.
    pub rename: BTreeMap<String, String>,
    /// Names in the file that are left alone; each pattern stands for one at least.
    pub ignore: Vec<Pattern>,
}

impl Naming {
    /// The name without the prefix that was said; `None` where it does not begin so.
    pub(super) fn without_prefix<'a>(&self, name: &'a str) -> Option<&'a str> {
        let prefix = self.prefix.as_deref().unwrap_or_default();
        let rest = name.strip_prefix(prefix)?;
        // `module` is taken for `module.`.
        let whole = prefix.is_empty() || prefix.ends_with('.');
        Some(if whole {
            rest
        } else {
            rest.strip_prefix('.').unwrap_or(rest)
        })
    }

    /// The key of [`Naming::rename`] that a name falls under, the longest there is, and
    /// what the name becomes.
    pub(super) fn renamed(&self, name: &str) -> Option<(&str, String)> {
        if self.rename.is_empty() {
            return None;
        }
        let ends = name.match_indices('.').map(|(at, _)| at);
        let mut ends: Vec<usize> = ends.chain([name.len()]).collect();
        ends.reverse();
        let found = ends.into_iter().find_map(|end| {
            let entry = self.rename.get_key_value(&name[..end])?;
            Some((end, entry))
        });
        found.map(|(end, (key, to))| (key.as_str(), format!("{to}{}", &name[end..])))
    }
}

/// A name, in which `*` stands for anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// A pattern of this text.
    pub fn new(text: impl Into<String>) -> Self {
        Pattern(text.into())
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether all of `name` is as the pattern says.
    pub fn matches(&self, name: &str) -> bool {
        let Some((first, rest)) = self.0.split_once('*') else {
            return self.0 == name;
        };
        let Some(mut left) = name.strip_prefix(first) else {
            return false;
        };
        let (between, last) = rest.rsplit_once('*').unwrap_or(("", rest));
        // The earliest place for each piece leaves most for those after it.
        for piece in between.split('*') {
            match left.find(piece) {
                Some(at) => left = &left[at + piece.len()..],
                None => return false,
            }
        }
        left.ends_with(last)
    }
}
