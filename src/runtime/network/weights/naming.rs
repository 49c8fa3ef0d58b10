//! How the names in a file of weights become a network's: by what its user says, and by the
//! wrappers that training programs put around names.

use std::collections::BTreeMap;

use super::header::TensorEntry;

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

/// Parts of names that stand for a wrapper around the network: of `DataParallel` and
/// averaged models, of `torch.compile`, of Lightning and of checkpoints.
const WRAPPERS: [&str; 6] = [
    "module",
    "model",
    "_orig_mod",
    "net",
    "network",
    "state_dict",
];

/// Parts that wrap a part of a network, anywhere in a name.
const INSIDE: [&str; 4] = [
    "module",
    "_orig_mod",
    "_fsdp_wrapped_module",
    "_checkpoint_wrapped_module",
];

/// As many wrappers are looked for around each other.
const DEPTH: usize = 4;

/// The prefix, made of wrappers, behind which most names are wanted; the shortest of
/// equals. Empty where names are wanted as they are.
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

/// Where a name's wrappers end: at 0, and behind each of the first few.
fn ends(name: &str) -> impl Iterator<Item = usize> {
    let mut end = 0;
    let parts = name.split_inclusive('.').map_while(move |part| {
        let wrapper = WRAPPERS.contains(&part.strip_suffix('.')?);
        end += part.len();
        wrapper.then_some(end)
    });
    std::iter::once(0).chain(parts.take(DEPTH))
}

/// A name without wrappers inside of it (a part of a network may be compiled or made
/// parallel by itself), and as torchvision writes DenseNets today; `None` where that is
/// the name already.
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

/// Whether a tensor counts steps of training: what batch norms and averaged models keep.
pub(super) fn is_counter(name: &str, entry: &TensorEntry) -> bool {
    let whole = matches!(
        entry.dtype.as_str(),
        "I64" | "I32" | "U64" | "U32" | "I16" | "U8" | "BOOL"
    );
    let last = name.rsplit('.').next().unwrap_or_default();
    last == "num_batches_tracked" || whole && entry.shape.iter().product::<usize>() == 1
}

/// Whether a tensor belongs to a head that only training needs: `AuxLogits.…`, `aux1.…`,
/// `aux_classifier.…`.
pub(super) fn is_auxiliary(name: &str) -> bool {
    let (head, rest) = name.split_once('.').unwrap_or((name, ""));
    let start = head.get(..3).unwrap_or_default();
    !rest.is_empty() && start.eq_ignore_ascii_case("aux")
}
