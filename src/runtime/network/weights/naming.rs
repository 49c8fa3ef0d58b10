//! How the names in a file of weights become a network's: by the manifest, and without the
//! wrappers that training programs put around names; and the assignment of a file's tensors to
//! parameters by them.

use std::collections::{BTreeMap, BTreeSet};

use crate::reading::ReadError;

use super::notes::{Handful, Ignored, WeightsNote, quoted};
use super::tensors::TensorEntry;

/// How a file's names become the network's. By default names stay the same, except that recognised
/// wrappers are removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Naming {
    /// The beginning of the names to read; tensors of other names are ignored.
    pub prefix: Option<String>,
    /// Maps a name in the file without the prefix, or its beginning up to a dot, to the network's
    /// name.
    pub rename: BTreeMap<String, String>,
    /// Names in the file to ignore; each pattern matches at least one.
    pub ignore: Vec<Pattern>,
}

impl Naming {
    /// Returns the name without the prefix, or `None` if it does not begin with it.
    fn without_prefix<'a>(&self, name: &'a str) -> Option<&'a str> {
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

    /// Returns the longest key of [`Naming::rename`] that the name begins with, and the new name,
    /// or `None` if no key fits.
    fn renamed(&self, name: &str) -> Option<(&str, String)> {
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

/// A pattern for names; `*` matches any characters.
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

    /// Returns whether the pattern matches all of `name`.
    pub fn matches(&self, name: &str) -> bool {
        let Some((first, rest)) = self.0.split_once('*') else {
            return self.0 == name;
        };
        let Some(mut left) = name.strip_prefix(first) else {
            return false;
        };
        let (between, last) = rest.rsplit_once('*').unwrap_or(("", rest));
        // The earliest match of each piece leaves the most text for the later pieces.
        for piece in between.split('*') {
            match left.find(piece) {
                Some(at) => left = &left[at + piece.len()..],
                None => return false,
            }
        }
        left.ends_with(last)
    }
}

/// First parts of names that come from a wrapper around the network: `DataParallel`, averaged
/// models, `torch.compile`, Lightning and checkpoints.
const WRAPPERS: [&str; 6] = [
    "module",
    "model",
    "_orig_mod",
    "net",
    "network",
    "state_dict",
];

/// Parts of names, at any position, that come from a wrapper around a part of the network.
const INSIDE: [&str; 4] = [
    "module",
    "_orig_mod",
    "_fsdp_wrapped_module",
    "_checkpoint_wrapped_module",
];

/// The most wrappers around each other that are looked for.
const DEPTH: usize = 4;

/// Returns the wrapper prefix that matches most expected names, and the shortest of several; empty
/// if names match without a prefix.
fn wrapper_prefix<'a>(
    names: impl Iterator<Item = &'a str>,
    is_wanted: impl Fn(&str) -> bool,
) -> String {
    let mut hits: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        let candidates = wrapper_ends(name).filter(|&end| is_wanted(&name[end..]));
        candidates.for_each(|end| *hits.entry(&name[..end]).or_default() += 1);
    }
    let best = hits
        .into_iter()
        .max_by_key(|(p, n)| (*n, usize::MAX - p.len()));
    best.map_or_else(String::new, |(prefix, _)| prefix.to_owned())
}

/// Returns the positions at which a name's wrappers end: 0, and after each of the first few parts.
fn wrapper_ends(name: &str) -> impl Iterator<Item = usize> {
    let mut end = 0;
    let parts = name.split_inclusive('.').map_while(move |part| {
        let wrapper = WRAPPERS.contains(&part.strip_suffix('.')?);
        end += part.len();
        wrapper.then_some(end)
    });
    std::iter::once(0).chain(parts.take(DEPTH))
}

/// Returns a name without wrappers inside it, and with torchvision's current names of DenseNets, or
/// `None` if the name does not change. Wrappers occur inside a name if a part of a network was
/// compiled or made parallel.
fn rewritten(name: &str) -> Option<String> {
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

/// Returns whether a tensor counts steps of training, as batch norms and averaged models do.
fn is_counter(name: &str, entry: &TensorEntry) -> bool {
    let whole = matches!(
        entry.dtype.as_str(),
        "I64" | "I32" | "U64" | "U32" | "I16" | "U8" | "BOOL"
    );
    let last = name.rsplit('.').next().unwrap_or_default();
    last == "num_batches_tracked" || whole && entry.shape.iter().product::<usize>() == 1
}

/// Returns whether a tensor lists the relative positions within a window, which follow from its
/// side.
fn is_position_index(name: &str) -> bool {
    name.rsplit('.').next() == Some("relative_position_index")
}

/// Returns whether a tensor belongs to an auxiliary head, which only training needs: `AuxLogits.…`,
/// `aux1.…`, `aux_classifier.…`.
fn is_auxiliary(name: &str) -> bool {
    let (head, rest) = name.split_once('.').unwrap_or((name, ""));
    let start = head.get(..3).unwrap_or_default();
    !rest.is_empty() && start.eq_ignore_ascii_case("aux")
}

/// The tensors of a file, assigned to parameters.
#[derive(Debug, Default)]
pub(super) struct Resolved<'a> {
    /// Names in the file, by the parameters' names.
    pub tensors: BTreeMap<String, &'a str>,
    /// Names of tensors that belong to no layer.
    pub unknown: Vec<&'a str>,
    pub notes: Vec<WeightsNote>,
}

/// Assigns each tensor to the parameter of its name.
///
/// # Errors
/// `naming` does not fit the names, or two tensors are one parameter.
pub(super) fn resolve<'a>(
    entries: impl Iterator<Item = (&'a str, &'a TensorEntry)>,
    wanted: &BTreeSet<&str>,
    naming: &Naming,
) -> Result<Resolved<'a>, ReadError> {
    let mut names = NameResolver::new(wanted, naming);
    let kept: Vec<_> = entries.filter(|(name, _)| !names.is_asked(name)).collect();
    let prefix = names.prefix(&kept)?;
    for (name, entry) in kept {
        names.place(name, entry, &prefix)?;
    }
    names.finish(prefix)
}

/// Returns the error of a name or pattern in a field that no tensor has.
fn unused(field: &str, name: &str) -> ReadError {
    ReadError::new(format_args!("no tensor is named {}", quoted(name))).at(field)
}

struct NameResolver<'a, 'w> {
    wanted: &'w BTreeSet<&'w str>,
    naming: &'w Naming,
    found: Resolved<'a>,
    /// How many names the prefix was removed from.
    stripped: usize,
    renamed: Handful,
    rewritten: Handful,
    ignored: BTreeMap<Ignored, Handful>,
    /// Keys of `rename` that were used.
    used: BTreeSet<&'w str>,
    /// Patterns of `ignore` that matched a name, by their position.
    matched: BTreeSet<usize>,
}

impl<'a, 'w> NameResolver<'a, 'w> {
    fn new(wanted: &'w BTreeSet<&'w str>, naming: &'w Naming) -> Self {
        NameResolver {
            wanted,
            naming,
            found: Resolved::default(),
            stripped: 0,
            renamed: Handful::default(),
            rewritten: Handful::default(),
            ignored: BTreeMap::new(),
            used: BTreeSet::new(),
            matched: BTreeSet::new(),
        }
    }

    fn ignore(&mut self, why: Ignored, name: &str) {
        let group = self.ignored.entry(why).or_default();
        group.push(|| quoted(name));
    }

    /// Returns whether the manifest ignores a tensor, and notes it if so.
    fn is_asked(&mut self, name: &str) -> bool {
        let patterns = self.naming.ignore.iter().enumerate();
        let matching = patterns.filter(|(_, p)| p.matches(name));
        let matching: Vec<usize> = matching.map(|(at, _)| at).collect();
        let asked = !matching.is_empty();
        self.matched.extend(matching);
        if asked {
            self.ignore(Ignored::Asked, name);
        }
        asked
    }

    /// Returns the manifest's prefix, or that of the wrappers around most expected names.
    fn prefix(&self, kept: &[(&'a str, &TensorEntry)]) -> Result<String, ReadError> {
        let names = || kept.iter().map(|(name, _)| *name);
        let Some(said) = &self.naming.prefix else {
            let is_wanted = |rest: &str| match self.naming.renamed(rest) {
                Some((_, name)) => self.wanted.contains(name.as_str()),
                None => self.wanted.contains(rest),
            };
            return Ok(wrapper_prefix(names(), is_wanted));
        };
        if names().any(|n| self.naming.without_prefix(n).is_some()) {
            return Ok(said.clone());
        }
        let there: Handful = names().collect();
        Err(ReadError::new(format_args!(
            "prefix: no tensor's name begins with {}; the file has {there}",
            quoted(said)
        )))
    }

    fn place(&mut self, name: &'a str, entry: &TensorEntry, prefix: &str) -> Result<(), ReadError> {
        let rest = match &self.naming.prefix {
            Some(_) => self.naming.without_prefix(name),
            None => Some(name.strip_prefix(prefix).unwrap_or(name)),
        };
        let Some(rest) = rest else {
            self.ignore(Ignored::OtherPrefix, name);
            return Ok(());
        };
        self.stripped += usize::from(rest.len() < name.len());
        if let Some((key, new)) = self.naming.renamed(rest) {
            self.used.insert(key);
            self.renamed
                .push(|| format!("{} → {}", quoted(rest), quoted(&new)));
            return self.give(name, &new, entry);
        }
        self.give(name, rest, entry)
    }

    fn give(&mut self, name: &'a str, wanted: &str, entry: &TensorEntry) -> Result<(), ReadError> {
        if self.wanted.contains(wanted) {
            return self.take(name, wanted.to_owned());
        }
        if let Some(new) = rewritten(wanted).filter(|n| self.wanted.contains(n.as_str())) {
            self.rewritten
                .push(|| format!("{} → {}", quoted(wanted), quoted(&new)));
            return self.take(name, new);
        }
        if is_counter(wanted, entry) {
            self.ignore(Ignored::Counters, name);
        } else if is_position_index(wanted) {
            self.ignore(Ignored::PositionIndex, name);
        } else if is_auxiliary(wanted) {
            self.ignore(Ignored::AuxiliaryHead, name);
        } else {
            self.found.unknown.push(name);
        }
        Ok(())
    }

    fn take(&mut self, name: &'a str, parameter: String) -> Result<(), ReadError> {
        match self.found.tensors.insert(parameter.clone(), name) {
            None => Ok(()),
            Some(other) => Err(ReadError::new(format_args!(
                "tensors {} and {} both become {}",
                quoted(other),
                quoted(name),
                quoted(&parameter)
            ))),
        }
    }

    /// Checks that every renaming and every pattern was used; an unused one is a mistake.
    fn check_use(&self) -> Result<(), ReadError> {
        let mut keys = self.naming.rename.keys();
        if let Some(idle) = keys.find(|k| !self.used.contains(k.as_str())) {
            return Err(unused("rename", idle));
        }
        let mut patterns = self.naming.ignore.iter().enumerate();
        match patterns.find(|(at, _)| !self.matched.contains(at)) {
            None => Ok(()),
            Some((_, idle)) => Err(unused("ignore", idle.text())),
        }
    }

    fn finish(mut self, prefix: String) -> Result<Resolved<'a>, ReadError> {
        self.check_use()?;
        let notes = &mut self.found.notes;
        if self.stripped > 0 {
            let tensors = self.stripped;
            notes.push(WeightsNote::Prefix { prefix, tensors });
        }
        if !self.rewritten.is_empty() {
            notes.push(WeightsNote::Rewritten(self.rewritten));
        }
        if !self.renamed.is_empty() {
            notes.push(WeightsNote::Renamed(self.renamed));
        }
        let ignored = self.ignored.into_iter();
        notes.extend(ignored.map(|(why, tensors)| WeightsNote::Ignored { why, tensors }));
        Ok(self.found)
    }
}
