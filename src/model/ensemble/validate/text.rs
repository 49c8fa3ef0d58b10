//! Text samples: the tokenizer, and the tensors that it fills.

use std::sync::Arc;

use toml::Spanned;

use crate::ensemble::manifest::{EnsembleError, Manifest, ManifestSource};
use crate::ensemble::samples::{MOST_TOKENIZER, TextTokenizer, TokenTensor, TokenizerError};
use crate::ensemble::text_table::TextTable;
use crate::ensemble::{Member, TextInput};
use divisi_runtime::tensor::{Dimension, TensorSpec};

use super::input::SampleInput;
use super::network_file::NetworkFile;
use super::tensors::{self, TextLengths};

/// The maximum number of tokens of a sample.
const MOST_LENGTH: i64 = 1 << 16;

/// The largest padding id that rows of float32 hold exactly.
const MOST_PADDING: i64 = (1 << 24) - 1;

/// Returns the named tensors of a sample: the manifest's tensors, or for texts the tensors that the
/// members' files take. A text's tensors have the text's own length if a member of an ensemble
/// leaves it open. In a pipeline they have the length to which texts are cut.
pub(super) fn tensors(
    source: &ManifestSource<'_>,
    manifest: &Manifest,
) -> Result<Option<Spanned<Vec<TensorSpec>>>, EnsembleError> {
    match (&manifest.input.tensors, &manifest.input.text) {
        (Some(written), _) => Ok(Some(written.clone())),
        (None, None) => Ok(None),
        (None, Some(text)) => {
            let length = length(source, text.get_ref())?;
            let taken = taken(source, manifest)?;
            let varies = manifest.steps.is_none() && taken.iter().any(TensorSpec::varies);
            let size = match varies {
                true => Dimension::Varies,
                false => Dimension::Fixed(length),
            };
            let sized = taken.into_iter().map(|spec| sized(spec, length, size));
            Ok(Some(Spanned::new(text.span(), sized.collect())))
        }
    }
}

/// Returns the lengths of texts and the tensor that masks their padding, or `None` if samples are
/// not texts.
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

/// Returns the name of the tensor that masks padding, or `None` if there is none.
fn mask(text: &TextTable, specs: &[TensorSpec]) -> Option<String> {
    let names = names(text);
    let (mask, _) = names.iter().find(|(_, kind)| *kind == TokenTensor::Mask)?;
    let found = specs.iter().find(|spec| spec.name == *mask);
    found.map(|spec| spec.name.clone())
}

/// Returns the conversion of texts to the tensors of a sample, or `None` if samples are not texts.
/// The lengths may vary.
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
    let size = match varies {
        true => Dimension::Varies,
        false => Dimension::Fixed(length),
    };
    let kinds = specs.iter().map(|spec| kind(text, spec, size, length));
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
    let padding = padding(source, text)?;
    let tokenizer = TextTokenizer::parse(&written, length);
    let padded = tokenizer.map(|tokenizer| match padding {
        Some(id) => tokenizer.padded_with(id),
        None => tokenizer,
    });
    padded.map_err(|error| match error {
        TokenizerError::Length(error) => {
            let at = text.length.span().start;
            source.wrong(at, format!("input.text.length: {error}"))
        }
        TokenizerError::File(error) => source.files.wrong(file, error),
    })
}

/// Reads the padding id, or returns `None` for the tokenizer's.
fn padding(source: &ManifestSource<'_>, text: &TextTable) -> Result<Option<u32>, EnsembleError> {
    let Some(written) = &text.padding_id else {
        return Ok(None);
    };
    let found = *written.get_ref();
    match u32::try_from(found) {
        Ok(id) if found <= MOST_PADDING => Ok(Some(id)),
        _ => Err(source.wrong(
            written.span().start,
            format!(
                "input.text.padding_id: expected an id of the vocabulary, 0 to {MOST_PADDING}, \
                 found {found}"
            ),
        )),
    }
}

/// Returns the name of the tensor of ids.
pub(super) fn ids(text: &TextTable) -> &str {
    names(text)[0].0
}

/// Returns the names of the tensors, as set or by default.
fn names(text: &TextTable) -> [(&str, TokenTensor); 4] {
    let written = [&text.ids, &text.mask, &text.types, &text.positions];
    let mut written = written.into_iter();
    TokenTensor::ALL.map(|kind| {
        let name = written.next().and_then(|name| name.as_deref());
        (name.unwrap_or(kind.usual_name()), kind)
    })
}

/// Returns the kind of a tensor with the dimensions of texts.
fn kind(
    text: &TextTable,
    spec: &TensorSpec,
    size: Dimension,
    length: usize,
) -> Result<TokenTensor, String> {
    let names = names(text);
    let found = names.iter().find(|(name, _)| *name == spec.name);
    let Some((_, kind)) = found else {
        let known = names.map(|(name, _)| format!("`{name}`")).join(", ");
        return Err(format!(
            "a tokenizer fills {known}, but the input has `{}`; set `ids`, `mask`, `types` or \
             `positions` to tensors with other names",
            spec.name
        ));
    };
    match spec.dims == [size] {
        true => Ok(*kind),
        false => Err(format!(
            "`{}`: expected dimensions of [{length}], the length of texts, found {spec}",
            spec.name
        )),
    }
}

/// Returns the tensors that the members' files take. A tensor shared by several members has an open
/// dimension if a member leaves it open.
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
        let inputs = inputs.map_err(|e| source.files.wrong(file.name, e))?;
        for spec in inputs {
            match specs.iter_mut().find(|known| known.name == spec.name) {
                Some(known) if spec.varies() => *known = spec,
                Some(_) => {}
                None => specs.push(spec),
            }
        }
    }
    Ok(specs)
}

/// Returns a tensor in which open dimensions and the length of texts are replaced by `size`.
fn sized(spec: TensorSpec, length: usize, size: Dimension) -> TensorSpec {
    let of_text = |dim: Dimension| dim.size().is_none_or(|found| found == length);
    let dims = spec.dims.iter().map(|dim| match of_text(*dim) {
        true => size,
        false => *dim,
    });
    TensorSpec {
        dims: dims.collect(),
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
            let tokenizer = input.tokenizer();
            let short = rows.and_then(|rows| too_short(kind, rows, text, tokenizer));
            if let Some((at, why)) = short {
                let why = format!("input.text.{why} of member `{}`", member.name);
                return Err(source.wrong(at, why));
            }
        }
    }
    Ok(())
}

/// Returns the number of rows of the smallest table that a member indexes with the input `name`.
fn rows(member: &Member, name: &str) -> Option<usize> {
    let inputs = member.graph.signature().inputs;
    let ids = inputs.into_iter().find(|spec| spec.name == name)?.ids?;
    usize::try_from(ids.most().saturating_add(1)).ok()
}

/// Returns the reason why a table of `rows` rows is too short for the ids, types or positions of a
/// tokenizer, with the offset of the wrong field and its name, or `None` if the table is large
/// enough.
fn too_short(
    kind: TokenTensor,
    rows: usize,
    text: &TextTable,
    tokenizer: &TextTokenizer,
) -> Option<(usize, String)> {
    let within = |highest: u32| (highest as usize) < rows;
    let (of_file, of_length) = (text.tokenizer.span().start, text.length.span().start);
    let of_padding = text.padding_id.as_ref().map(|id| id.span().start);
    match kind {
        TokenTensor::Ids if !within(tokenizer.highest()) => {
            let highest = tokenizer.highest();
            let why = format!(
                "tokenizer: the vocabulary differs: its ids go up to {highest}, but there are \
                 only {rows} in the table"
            );
            Some((of_file, why))
        }
        TokenTensor::Ids if !within(tokenizer.padding()) => {
            let (most, found) = (rows.saturating_sub(1), tokenizer.padding());
            let why =
                format!("padding_id: found {found}, expected 0 to {most}, the ids in the table");
            Some((of_padding.unwrap_or(of_file), why))
        }
        TokenTensor::Types if !within(tokenizer.highest_type()) => {
            let most = tokenizer.highest_type();
            let why = format!(
                "tokenizer: its types go up to {most}, but there are only {rows} in the \
                         table"
            );
            Some((of_file, why))
        }
        TokenTensor::Positions if tokenizer.length() > rows => {
            let found = tokenizer.length();
            let why = format!(
                "length: found {found}, expected at most {rows}, the number of positions in the \
                 table"
            );
            Some((of_length, why))
        }
        _ => None,
    }
}
