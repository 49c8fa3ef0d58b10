//! Samples that are texts: the tokenizer, and the tensors that it fills.

use std::sync::Arc;

use toml::Spanned;

use crate::ensemble::manifest::{EnsembleError, Manifest, ManifestSource};
use crate::ensemble::samples::{MOST_TOKENIZER, TextError, TextTokenizer, TokenTensor};
use crate::ensemble::text_table::TextTable;
use crate::ensemble::{Member, TextInput};
use crate::tensor::{Dimension, TensorSpec};

use super::input::SampleInput;
use super::network_file::NetworkFile;
use super::tensors::{self, TextLengths};

/// The most tokens of a sample.
const MOST_LENGTH: i64 = 1 << 16;

/// The lengths that texts are padded to where the manifest names neither tensors nor lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextPadding {
    /// To buckets, where the members' files leave the length open and take a mask.
    Buckets,
    /// To the length that longer texts are cut to.
    Length,
}

/// Returns the tensors of a sample, where it has names: those that are written, or for texts
/// those that the members' files take.
pub(super) fn tensors(
    source: &ManifestSource<'_>,
    manifest: &Manifest,
    padding: TextPadding,
) -> Result<Option<Spanned<Vec<TensorSpec>>>, EnsembleError> {
    match (&manifest.input.tensors, &manifest.input.text) {
        (Some(written), _) => Ok(Some(written.clone())),
        (None, None) => Ok(None),
        (None, Some(text)) => {
            let length = length(source, text.get_ref())?;
            let mut taken = taken(source, manifest)?;
            let varies = match (&manifest.input.lengths, padding) {
                (Some(_), _) => true,
                (None, TextPadding::Buckets) => mask(text.get_ref(), &taken).is_some(),
                (None, TextPadding::Length) => false,
            };
            if !(varies && taken.iter().all(|spec| spec.dims == [Dimension::Varies])) {
                taken = taken.into_iter().map(|spec| filled(spec, length)).collect();
            }
            Ok(Some(Spanned::new(text.span(), taken)))
        }
    }
}

/// Returns the lengths of texts and the tensor that masks what is padded, if samples are texts.
pub(super) fn lengths(
    source: &ManifestSource<'_>,
    manifest: &Manifest,
    specs: &[TensorSpec],
) -> Result<Option<TextLengths>, EnsembleError> {
    let Some(text) = manifest.input.text.as_ref().map(Spanned::get_ref) else {
        return Ok(None);
    };
    Ok(Some(TextLengths {
        most: length(source, text)?,
        mask: mask(text, specs),
    }))
}

/// Returns the name of the tensor that masks what is padded, if there is one.
fn mask(text: &TextTable, specs: &[TensorSpec]) -> Option<String> {
    let names = names(text);
    let (mask, _) = names.iter().find(|(_, kind)| *kind == TokenTensor::Mask)?;
    let found = specs.iter().find(|spec| spec.name == *mask);
    found.map(|spec| spec.name.clone())
}

/// Returns how texts become the tensors of a sample, if samples are texts. Their lengths may
/// vary.
pub(super) fn input(
    source: &ManifestSource<'_>,
    manifest: &Manifest,
    specs: Option<&[TensorSpec]>,
    varies: bool,
) -> Result<Option<TextInput>, EnsembleError> {
    let (Some(written), Some(specs)) = (&manifest.input.text, specs) else {
        return Ok(None);
    };
    let text = written.get_ref();
    let length = length(source, text)?;
    let wrong = |why: String| source.wrong(written.span().start, format!("input.text: {why}"));
    let expected = match varies {
        true => Dimension::Varies,
        false => Dimension::Fixed(length),
    };
    let kinds = specs.iter().map(|spec| kind(text, spec, expected));
    let kinds: Vec<TokenTensor> = kinds.collect::<Result<_, _>>().map_err(wrong)?;
    let (ids, _) = names(text)[0];
    if !kinds.contains(&TokenTensor::Ids) {
        return Err(wrong(format!("expected a tensor `{ids}` for the tokens")));
    }
    Ok(Some(TextInput::new(
        tokenizer(source, text, length)?,
        kinds,
        varies,
    )))
}

fn length(source: &ManifestSource<'_>, text: &TextTable) -> Result<usize, EnsembleError> {
    source.count("input.text.length", &text.length, MOST_LENGTH)
}

fn tokenizer(
    source: &ManifestSource<'_>,
    text: &TextTable,
    length: usize,
) -> Result<TextTokenizer, EnsembleError> {
    let file = text.tokenizer.get_ref();
    let written = source.files.read_text_within(file, MOST_TOKENIZER)?;
    TextTokenizer::parse(&written, length).map_err(|error| match error {
        TextError::Short { .. } => {
            let at = text.length.span().start;
            source.wrong(at, format!("input.text.length: {error}"))
        }
        error => EnsembleError::File {
            file: source.files.display(file),
            reason: error.to_string(),
        },
    })
}

/// Returns the names of the tensors, as written or as usual.
fn names(text: &TextTable) -> [(&str, TokenTensor); 4] {
    let written = [&text.ids, &text.mask, &text.types, &text.positions];
    let mut written = written.into_iter();
    TokenTensor::ALL.map(|kind| {
        let name = written.next().and_then(|name| name.as_deref());
        (name.unwrap_or(kind.usual_name()), kind)
    })
}

/// Returns what a tensor holds of each token.
fn kind(text: &TextTable, spec: &TensorSpec, expected: Dimension) -> Result<TokenTensor, String> {
    let names = names(text);
    let found = names.iter().find(|(name, _)| *name == spec.name);
    let Some((_, kind)) = found else {
        let known = names.map(|(name, _)| format!("`{name}`")).join(", ");
        return Err(format!(
            "a tokenizer fills {known}, the input has `{}`; `ids`, `mask`, `types` and \
             `positions` name tensors that are called otherwise",
            spec.name
        ));
    };
    match spec.dims == [expected] {
        true => Ok(*kind),
        false => Err(format!(
            "`{}`: expected dimensions of [{expected}], the length of texts, found {spec}",
            spec.name
        )),
    }
}

/// Returns the tensors that the members' files take. Of those that several take, a fixed
/// dimension is that of all.
fn taken(
    source: &ManifestSource<'_>,
    manifest: &Manifest,
) -> Result<Vec<TensorSpec>, EnsembleError> {
    let mut specs: Vec<TensorSpec> = Vec::new();
    for table in manifest.members.get_ref() {
        let (member, at) = (table.get_ref(), table.get_ref().network.span().start);
        let wrong = |why: String| source.wrong(at, format!("network of `{}`: {why}", member.name));
        let file = NetworkFile::read(member.network.get_ref()).map_err(wrong)?;
        let Some(file) = file.filter(|file| file.is_onnx()) else {
            return Err(wrong(tensors::NO_BUILDER.into()));
        };
        let inputs = file.model(source.files)?.written_inputs();
        let inputs = inputs.map_err(|e| EnsembleError::File {
            file: source.files.display(file.name),
            reason: e.to_string(),
        })?;
        for spec in inputs {
            match specs.iter_mut().find(|known| known.name == spec.name) {
                Some(known) if known.varies() => *known = spec,
                Some(_) => {}
                None => specs.push(spec),
            }
        }
    }
    Ok(specs)
}

/// Returns a tensor whose open dimensions are the length of texts.
fn filled(spec: TensorSpec, length: usize) -> TensorSpec {
    let size = |dim: Dimension| Dimension::Fixed(dim.size().unwrap_or(length));
    TensorSpec {
        dims: spec.dims.into_iter().map(size).collect(),
        ..spec
    }
}

/// Checks that the tables of all members have a row for each id, type and position of a text.
pub(super) fn check_tables(
    source: &ManifestSource<'_>,
    manifest: &Manifest,
    sample: &SampleInput,
    members: &[Arc<Member>],
) -> Result<(), EnsembleError> {
    let (Some(written), Some(input)) = (&manifest.input.text, &sample.text) else {
        return Ok(());
    };
    let text = written.get_ref();
    for member in members {
        for (name, kind) in names(text) {
            let rows = rows(member, name);
            let short = rows.and_then(|rows| too_short(kind, rows, input.tokenizer()));
            if let Some(why) = short {
                let at = match kind {
                    TokenTensor::Positions => text.length.span().start,
                    _ => text.tokenizer.span().start,
                };
                let why = format!("input.text.{why} of member `{}`", member.name);
                return Err(source.wrong(at, why));
            }
        }
    }
    Ok(())
}

/// Returns the rows of the smallest table in which a member looks the input `name` up.
fn rows(member: &Member, name: &str) -> Option<usize> {
    let inputs = member.graph.signature().inputs;
    let ids = inputs.into_iter().find(|spec| spec.name == name)?.ids?;
    usize::try_from(ids.most().saturating_add(1)).ok()
}

/// Returns why a table of `rows` rows is too short for what a tokenizer makes, if it is: the
/// field that is wrong, and what was expected.
fn too_short(kind: TokenTensor, rows: usize, tokenizer: &TextTokenizer) -> Option<String> {
    let within = |highest: u32| (highest as usize) < rows;
    match kind {
        TokenTensor::Ids if !within(tokenizer.highest()) => Some(format!(
            "tokenizer: a tokenizer of another vocabulary: its ids go up to {}, there are {rows} \
             in the table",
            tokenizer.highest()
        )),
        TokenTensor::Types if !within(tokenizer.highest_type()) => Some(format!(
            "tokenizer: it makes types up to {}, there are {rows} in the table",
            tokenizer.highest_type()
        )),
        TokenTensor::Positions if tokenizer.length() > rows => Some(format!(
            "length: expected at most {rows}, found {}: there are no more positions in the table",
            tokenizer.length()
        )),
        _ => None,
    }
}
