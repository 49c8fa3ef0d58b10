//! Assigns the tensors of a file to the parameters of a network.

use std::collections::{BTreeMap, BTreeSet};

use super::error::{NamingError, WeightsError};
use super::header::TensorEntry;
use super::naming::{Naming, is_auxiliary, is_counter, rewritten, wrapper_prefix};
use super::notes::{Handful, Ignored, WeightsNote, quoted};

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
) -> Result<Resolved<'a>, WeightsError> {
    let mut names = NameResolver::new(wanted, naming);
    let kept: Vec<_> = entries.filter(|(name, _)| !names.is_asked(name)).collect();
    let prefix = names.prefix(&kept)?;
    for (name, entry) in kept {
        names.place(name, entry, &prefix)?;
    }
    names.finish(prefix)
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
    /// Keys of `rename` that some name needed.
    used: BTreeSet<&'w str>,
    /// Patterns of `ignore` that some name matched, by their place.
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

    /// Whether the manifest asks to ignore a tensor; notes it if so.
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

    /// Returns the manifest's prefix, or that of the wrappers around most wanted names.
    fn prefix(&self, kept: &[(&'a str, &TensorEntry)]) -> Result<String, WeightsError> {
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
        Err(WeightsError::Naming(NamingError::Prefix {
            prefix: said.clone(),
            there: names().collect(),
        }))
    }

    fn place(
        &mut self,
        name: &'a str,
        entry: &TensorEntry,
        prefix: &str,
    ) -> Result<(), WeightsError> {
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

    fn give(
        &mut self,
        name: &'a str,
        wanted: &str,
        entry: &TensorEntry,
    ) -> Result<(), WeightsError> {
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
        } else if is_auxiliary(wanted) {
            self.ignore(Ignored::AuxiliaryHead, name);
        } else {
            self.found.unknown.push(name);
        }
        Ok(())
    }

    fn take(&mut self, name: &'a str, parameter: String) -> Result<(), WeightsError> {
        match self.found.tensors.insert(parameter.clone(), name) {
            None => Ok(()),
            Some(other) => Err(WeightsError::Naming(NamingError::Twice {
                first: other.to_owned(),
                second: name.to_owned(),
                parameter,
            })),
        }
    }

    /// Checks that every renaming and every pattern was needed; others are slips of the pen.
    fn check_use(&self) -> Result<(), WeightsError> {
        let mut keys = self.naming.rename.keys();
        if let Some(idle) = keys.find(|k| !self.used.contains(k.as_str())) {
            let name = idle.clone();
            return Err(WeightsError::Naming(NamingError::Rename { name }));
        }
        let mut patterns = self.naming.ignore.iter().enumerate();
        match patterns.find(|(at, _)| !self.matched.contains(at)) {
            None => Ok(()),
            Some((_, idle)) => Err(WeightsError::Naming(NamingError::Ignore {
                pattern: idle.text().to_owned(),
            })),
        }
    }

    fn finish(mut self, prefix: String) -> Result<Resolved<'a>, WeightsError> {
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
