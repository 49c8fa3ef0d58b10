//! What a member says about the names in its file of weights.

use std::collections::BTreeMap;

use toml::Spanned;

use super::super::error::EnsembleError;
use super::super::manifest::MemberTable;
use super::source::ManifestSource;
use crate::network::{Naming, Pattern};

pub(super) fn naming(
    page: &ManifestSource<'_>,
    table: &MemberTable,
) -> Result<Naming, EnsembleError> {
    let spans = [
        ("prefix", table.prefix.as_ref().map(Spanned::span)),
        ("rename", table.rename.as_ref().map(Spanned::span)),
        ("ignore", table.ignore.as_ref().map(Spanned::span)),
    ];
    let mut written = spans.into_iter().filter_map(|(f, s)| Some((f, s?)));
    match (&table.weights, written.next()) {
        (None, Some((field, span))) => {
            let why = format!("members.{field}: belongs to `weights`, a file; there is none");
            Err(page.wrong(span.start, why))
        }
        _ => Ok(Naming {
            prefix: prefix(page, table.prefix.as_ref())?,
            rename: rename(page, table.rename.as_ref())?,
            ignore: ignore(page, table.ignore.as_ref())?,
        }),
    }
}

fn prefix(
    page: &ManifestSource<'_>,
    written: Option<&Spanned<String>>,
) -> Result<Option<String>, EnsembleError> {
    match written {
        Some(w) if w.get_ref().is_empty() => {
            let why = "members.prefix: expected what names begin with, found nothing";
            Err(page.wrong(w.span().start, why))
        }
        written => Ok(written.map(|w| w.get_ref().clone())),
    }
}

fn rename(
    page: &ManifestSource<'_>,
    written: Option<&Spanned<BTreeMap<String, String>>>,
) -> Result<BTreeMap<String, String>, EnsembleError> {
    let Some(written) = written else {
        return Ok(BTreeMap::new());
    };
    let names = written.get_ref();
    if names
        .iter()
        .any(|(from, to)| from.is_empty() || to.is_empty())
    {
        let why = "members.rename: expected names, from the file's to the network's, found nothing";
        return Err(page.wrong(written.span().start, why));
    }
    Ok(names.clone())
}

fn ignore(
    page: &ManifestSource<'_>,
    written: Option<&Spanned<Vec<String>>>,
) -> Result<Vec<Pattern>, EnsembleError> {
    let Some(written) = written else {
        return Ok(Vec::new());
    };
    if written.get_ref().iter().any(String::is_empty) {
        let why = "members.ignore: expected names (`*` stands for anything), found nothing";
        return Err(page.wrong(written.span().start, why));
    }
    Ok(written.get_ref().iter().map(Pattern::new).collect())
}
