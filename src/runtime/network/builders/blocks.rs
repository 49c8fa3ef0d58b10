//! Networks as lines of data: layers as in the files of manifests ([`crate::network::file`]), and
//! blocks of lines, which others use.
//!
//! ```toml
//! [blocks]
//! unit = [
//!     { name = "{at}.conv", op = "conv2d", channels = "{width}", kernel = 3, stride = "{stride}" },
//!     { name = "{at}.add", op = "add", from = ["{at}.conv", "{in}"] },
//! ]
//!
//! [[networks]]
//! name = "example"
//! side = 224
//! layers = [
//!     { block = "unit", each = [0, 2], at = "units.{i}", width = 64 },
//!     { name = "fc", op = "linear", features = "{classes}" },
//! ]
//! ```
//!
//! A line of a block takes `{width}` from the line that uses the block. A field whose value that
//! line lacks is left out. `{in}` is the layer before the block, `{last}` the layer before the line.
//! `each` repeats a line, and `{i}` counts, here from 0 to 2. Lines of networks have `{classes}`.
//!
//! `parameters` has the origins of parameters that are not stored in tensors named after the layer.
//! A line with `part` adds layers whose number or shapes depend on the size of the image.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::swin::{self, MergedTokens, WindowAttention};
use super::transformer::HeadAttention;
use super::vit::{self, PositionedTokens};
use crate::network::file::WrittenLayer;
use crate::network::{Graph, GraphBuilder, GraphError, ParameterOrigin, Shape};

/// Builds the network of `lines` for samples of shape `input` and answers of `classes` logits.
pub(super) fn build(
    blocks: &BTreeMap<String, Vec<Table>>,
    lines: &[Table],
    input: Shape,
    classes: usize,
) -> Result<Graph, GraphError> {
    let builder = GraphBuilder::new(input);
    let mut expansion = Expansion { blocks, builder };
    let classes = i64::try_from(classes).unwrap_or(i64::MAX);
    let values = Table::from_iter([("classes".to_owned(), classes.into())]);
    expansion.add_lines(lines, &values)?;
    expansion.builder.build()
}

struct Expansion<'a> {
    blocks: &'a BTreeMap<String, Vec<Table>>,
    builder: GraphBuilder,
}

impl Expansion<'_> {
    fn add_lines(&mut self, lines: &[Table], values: &Table) -> Result<(), GraphError> {
        let mut values = values.clone();
        for line in lines {
            let each = line.get("each").and_then(|each| filled(each, &values));
            let [first, last]: [i64; 2] = each.map_or(Ok([0, 0]), read)?;
            for i in first..=last {
                values.insert("i".to_owned(), i.into());
                values.insert("last".to_owned(), self.last_name().into());
                self.add_line(filled_table(line, &values))?;
            }
        }
        Ok(())
    }

    fn last_name(&self) -> &str {
        let last = self.builder.node(self.builder.last());
        last.map_or("input", |node| &node.name)
    }

    fn add_line(&mut self, mut line: Table) -> Result<(), GraphError> {
        if let Some(name) = line.remove("block") {
            let lines = name.as_str().and_then(|name| self.blocks.get(name));
            let lines = lines.ok_or_else(|| GraphError::Published(format!("no block {name}")))?;
            line.insert("in".to_owned(), self.last_name().into());
            return self.add_lines(lines, &line);
        }
        if line.contains_key("part") {
            return read::<BlockPart>(line.into())?.add(&mut self.builder);
        }
        let origins = line.remove("parameters").map(read::<Origins>).transpose()?;
        let origins = origins.map(Origins::listed).unwrap_or_default();
        read::<WrittenLayer>(line.into())?.add(&mut self.builder, origins)
    }
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, GraphError> {
    let read = value.try_into();
    read.map_err(|error: toml::de::Error| GraphError::Published(error.to_string()))
}

/// Returns the fields of a line with their holes filled, without those whose values are missing.
fn filled_table(line: &Table, values: &Table) -> Table {
    let filled = |(key, value): (&String, &Value)| Some((key.clone(), filled(value, values)?));
    line.iter().filter_map(filled).collect()
}

fn filled(value: &Value, values: &Table) -> Option<Value> {
    match value {
        Value::String(text) => filled_text(text, values),
        Value::Array(all) => {
            let all = all.iter().map(|one| filled(one, values));
            all.collect::<Option<_>>().map(Value::Array)
        }
        Value::Table(table) => Some(filled_table(table, values).into()),
        other => Some(other.clone()),
    }
}

/// Returns the value of a text that is a hole, as it is, or a text with its holes filled.
fn filled_text(text: &str, values: &Table) -> Option<Value> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (key, after) = after.split_once('}')?;
        let value = values.get(key)?;
        if text.len() == key.len() + 2 {
            return Some(value.clone());
        }
        filled += before;
        match value {
            Value::String(text) => filled += text,
            other => filled += &other.to_string(),
        }
        rest = after;
    }
    Some((filled + rest).into())
}

/// The origins of a layer's parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Origins {
    weight: Option<ParameterOrigin>,
    bias: Option<ParameterOrigin>,
    running_mean: Option<ParameterOrigin>,
    running_var: Option<ParameterOrigin>,
}

impl Origins {
    fn listed(self) -> Vec<(&'static str, ParameterOrigin)> {
        let all = [
            ("weight", self.weight),
            ("bias", self.bias),
            ("running_mean", self.running_mean),
            ("running_var", self.running_var),
        ];
        let given = all
            .into_iter()
            .filter_map(|(of, origin)| Some((of, origin?)));
        given.collect()
    }
}

/// Layers that read the last value, and whose number or shapes depend on the size of the image.
#[derive(Deserialize)]
#[serde(tag = "part", rename_all = "kebab-case")]
enum BlockPart {
    Attention(HeadAttention),
    PositionedTokens(PositionedTokens),
    /// The class's token alone.
    Class,
    /// The pixels of an image as tokens.
    Tokens,
    WindowAttention(WindowAttention),
    MergedTokens(MergedTokens),
    /// Tokens as the pixels of an image.
    Image,
}

impl BlockPart {
    fn add(&self, builder: &mut GraphBuilder) -> Result<(), GraphError> {
        match self {
            BlockPart::Attention(part) => part.add(builder, &[]),
            BlockPart::PositionedTokens(part) => part.add(builder),
            BlockPart::Class => vit::add_class(builder),
            BlockPart::Tokens => swin::add_tokens(builder),
            BlockPart::WindowAttention(part) => part.add(builder),
            BlockPart::MergedTokens(part) => part.add(builder),
            BlockPart::Image => swin::add_image(builder),
        }
    }
}
