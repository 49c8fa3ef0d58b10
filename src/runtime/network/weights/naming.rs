//! How the names in a file of weights become a network's: by the manifest, and without the
//! wrappers that training programs put around names.

use std::collections::BTreeMap;

use super::header::TensorEntry;

/// How a file's names become the network's. By default they are the same, but for wrappers
/// that are recognised.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Naming {
    /// The beginning of the names to read; tensors of other names are ignored.
    pub prefix: Option<String>,
    /// From a name in the file without the prefix, or its beginning up to a dot, to the
    /// network's name.
    pub rename: BTreeMap<String, String>,
    /// Names in the file to ignore; each pattern matches at least one.
    pub ignore: Vec<Pattern>,
}

impl Naming {
    /// Returns the name without the prefix, or `None` if it does not begin with it.
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

    /// Returns the longest key of [`Naming::rename`] that a name begins with, and the new name;
    /// `None` if there is no such key.
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

/// A pattern for names, in which `*` stands for any characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Creates a pattern from its text.
    pub fn new(text: impl Into<String>) -> Self {
        Pattern(text.into())
    }

    /// Returns the pattern's text.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether the pattern matches all of `name`.
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

/// First parts of names that stand for a wrapper around the network: `DataParallel`, averaged
/// models, `torch.compile`, Lightning and checkpoints.
const WRAPPERS: [&str; 6] = [
    "module",
    "model",
    "_orig_mod",
    "net",
    "network",
    "state_dict",
];

/// Parts of names, at any place, that stand for a wrapper around a part of the network.
const INSIDE: [&str; 4] = [
    "module",
    "_orig_mod",
    "_fsdp_wrapped_module",
    "_checkpoint_wrapped_module",
];

/// The most wrappers around each other that are looked for.
const DEPTH: usize = 4;

/// Returns the prefix of wrappers behind which most names are wanted, and the shortest of
/// several; empty if names are wanted as they are.
pub(super) fn wrapper_prefix<'a>(
    names: impl Iterator<Item = &'a str>,
    is_wanted: impl Fn(&str) -> bool,
) -> String {
    let mut hits: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        let candidates = ends(name).filter(|&end| is_wanted(&name[end..]));
        candidates.for_each(|end| *hits.entry(&name[..end]).or_default() += 1);
    }
    let best = hits
        .into_iter()
        .max_by_key(|(p, n)| (*n, usize::MAX - p.len()));
    best.map_or_else(String::new, |(prefix, _)| prefix.to_owned())
}

/// Returns the places at which a name's wrappers end: 0, and behind each of the first few.
fn ends(name: &str) -> impl Iterator<Item = usize> {
    let mut end = 0;
    let parts = name.split_inclusive('.').map_while(move |part| {
        let wrapper = WRAPPERS.contains(&part.strip_suffix('.')?);
        end += part.len();
        wrapper.then_some(end)
    });
    std::iter::once(0).chain(parts.take(DEPTH))
}

/// Returns a name without wrappers inside it, since a part of a network may be compiled or
/// made parallel by itself, and with torchvision's present names of DenseNets; `None` if that
/// is the name already.
pub(super) fn rewritten(name: &str) -> Option<String> {
    let parts = name.split('.');
    let kept: Vec<&str> = parts.filter(|p| !INSIDE.contains(p)).collect();
    let mut new = kept.join(".");
    if new.contains("denselayer") {
        for (old, today) in [
            (".norm.1.", ".norm1."),
            (".norm.2.", ".norm2."),
            (".conv.1.", ".conv1."),
            (".conv.2.", ".conv2."),
        ] {
            new = new.replace(old, today);
        }
    }
    (new != name).then_some(new)
}

/// Whether a tensor counts steps of training, as batch norms and averaged models do.
pub(super) fn is_counter(name: &str, entry: &TensorEntry) -> bool {
    let whole = matches!(
        entry.dtype.as_str(),
        "I64" | "I32" | "U64" | "U32" | "I16" | "U8" | "BOOL"
    );
    let last = name.rsplit('.').next().unwrap_or_default();
    last == "num_batches_tracked" || whole && entry.shape.iter().product::<usize>() == 1
}

/// Whether a tensor belongs to an auxiliary head, which only training needs: `AuxLogits.…`,
/// `aux1.…`, `aux_classifier.…`.
pub(super) fn is_auxiliary(name: &str) -> bool {
    let (head, rest) = name.split_once('.').unwrap_or((name, ""));
    let start = head.get(..3).unwrap_or_default();
    !rest.is_empty() && start.eq_ignore_ascii_case("aux")
}
