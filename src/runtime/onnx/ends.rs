//! The inputs and outputs of a file, and how they lie in the rows that a network takes and
//! answers.

use super::activation::{Activation, NumberType, Value};
use super::batch::BatchTrace;
use super::error::{ModelFault, OnnxError};
use super::layout::Layout;
use super::model::OnnxModel;
use super::open_dims::open_dims;
use super::partial::{PartialNetwork, Refusal};
use super::proto::{DimensionProto, ValueInfoProto};
use super::tensor::type_name;
use crate::network::{Dims, NodeId, Op, Shape, TensorOp};
use crate::reading::ReadError;
use crate::tensor::{DataType, Dimension, Signature, TensorSpec};

/// An input or output of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnnxTensor {
    /// Its name.
    pub name: String,
    /// The type of its values. The network holds them as float32, whatever it is.
    pub data_type: DataType,
    /// Its dimensions, with a batch of 1 if the file has a batch.
    pub dims: Vec<usize>,
}

/// `TensorProto.DataType` of float32.
pub(super) const FLOAT: i32 = 1;

/// Returns the type of a number in `TensorProto.DataType`, or `None` for one that holds no
/// numbers.
fn data_type(element_type: i32) -> Option<DataType> {
    Some(match element_type {
        FLOAT => DataType::Fp32,
        2 => DataType::Uint8,
        3 => DataType::Int8,
        4 => DataType::Uint16,
        5 => DataType::Int16,
        6 => DataType::Int32,
        7 => DataType::Int64,
        9 => DataType::Bool,
        10 => DataType::Fp16,
        11 => DataType::Fp64,
        12 => DataType::Uint32,
        13 => DataType::Uint64,
        16 => DataType::Bf16,
        _ => return None,
    })
}

/// Returns the signature of a network, with dimensions without the batch if all inputs have one.
pub(super) fn signature(inputs: &[OnnxTensor], outputs: &[OnnxTensor]) -> Signature {
    let has_batch = inputs.iter().all(|i| i.dims.first() == Some(&1));
    let spec = |tensor: &OnnxTensor| {
        let dims = match tensor.dims[..] {
            [1, ref sample @ ..] if has_batch => sample,
            ref all => all,
        };
        TensorSpec::fixed(tensor.name.as_str(), tensor.data_type, dims)
    };
    Signature {
        inputs: inputs.iter().map(spec).collect(),
        outputs: outputs.iter().map(spec).collect(),
        lengths: None,
    }
}

/// Returns a dimension's number, or `None` if it varies.
pub(super) fn size(dim: &DimensionProto) -> Option<usize> {
    dim.dim_value
        .and_then(|d| usize::try_from(d).ok())
        .filter(|d| *d > 0)
}

/// Returns a dimension as the file writes it.
pub(super) fn written(dim: &DimensionProto) -> String {
    let name = || dim.dim_param.clone().filter(|n| !n.is_empty());
    let number = size(dim).map(|d| d.to_string());
    number.or_else(name).unwrap_or_else(|| "?".into())
}

pub(super) fn name_of(value: &ValueInfoProto) -> &str {
    value.name.as_deref().unwrap_or_default()
}

/// Returns the element type and the dimensions in the file, or `None` if the value is not a tensor
/// of a known rank.
pub(super) fn type_of(value: &ValueInfoProto) -> (i32, Option<&[DimensionProto]>) {
    let tensor = value.r#type.as_ref().and_then(|t| t.tensor_type.as_ref());
    let element_type = tensor.and_then(|t| t.elem_type).unwrap_or_default();
    let shape = tensor.and_then(|t| t.shape.as_ref());
    (element_type, shape.map(|s| s.dim.as_slice()))
}

impl OnnxModel {
    /// Returns the inputs as the file writes them, without the first dimension, the batch's.
    ///
    /// # Errors
    /// An input holds no numbers.
    pub fn written_inputs(&self) -> Result<Vec<TensorSpec>, OnnxError> {
        let specs = self.inputs().map(|input| {
            let (element_type, dims) = type_of(input);
            let name = name_of(input).to_owned();
            let sample = dims.and_then(|dims| dims.get(1..)).unwrap_or_default();
            let dims = sample
                .iter()
                .map(|d| size(d).map_or(Dimension::Varies, Dimension::Fixed));
            match data_type(element_type) {
                Some(data_type) => Ok(TensorSpec {
                    name,
                    data_type,
                    dims: dims.collect(),
                    ids: None,
                }),
                None => Err(no_numbers(&name, element_type).into()),
            }
        });
        specs.collect()
    }

    /// Returns the inputs with the dimensions in `given`. Other inputs have the dimensions in the
    /// file and a batch of 1.
    pub(super) fn bound(
        &self,
        given: &[(&str, Vec<usize>)],
    ) -> Result<Vec<OnnxTensor>, ModelFault> {
        let names: Vec<&str> = self.inputs().map(name_of).collect();
        if let Some((stray, _)) = given.iter().find(|(name, _)| !names.contains(name)) {
            let wrong = format_args!("no input is named `{stray}`, expected {}", names.join(", "));
            return Err(ReadError::new(wrong).into());
        }
        let dims = |name: &str| given.iter().find(|(n, _)| *n == name).map(|(_, d)| &d[..]);
        self.inputs().map(|i| bound(i, dims(name_of(i)))).collect()
    }

    /// Returns the size of the batch that all inputs take, if it is fixed to more than one
    /// sample.
    pub fn fixed_batch(&self) -> Option<usize> {
        fixed(self.inputs())
    }
}

/// The largest fixed first dimension that counts as a batch.
const MOST_FIXED: usize = 1 << 16;

/// Returns the size of the batch that all inputs take, if it is fixed to more than one sample.
/// Rows of single numbers are one sample.
fn fixed<'v>(inputs: impl Iterator<Item = &'v ValueInfoProto>) -> Option<usize> {
    let mut found = None;
    let mut rank = 0;
    for input in inputs {
        let dims = type_of(input).1?;
        let first = size(dims.first()?).filter(|size| (2..=MOST_FIXED).contains(size))?;
        if found.is_some_and(|found| found != first) {
            return None;
        }
        found = Some(first);
        rank = rank.max(dims.len());
    }
    found.filter(|_| rank > 1)
}

fn no_numbers(name: &str, element_type: i32) -> ReadError {
    let wrong = ReadError::expected("a tensor of numbers", type_name(element_type));
    wrong.at(format_args!("input `{name}`"))
}

fn bound(input: &ValueInfoProto, given: Option<&[usize]>) -> Result<OnnxTensor, ModelFault> {
    let name = name_of(input).to_owned();
    let (element_type, dims) = type_of(input);
    let Some(data_type) = data_type(element_type) else {
        return Err(no_numbers(&name, element_type).into());
    };
    let all = || dims.unwrap_or_default().iter().map(written).collect();
    let fits = |given: &&[usize]| {
        let written = dims.into_iter().flatten().zip(*given);
        let known = dims.is_none_or(|dims| dims.len() == given.len());
        known
            && written.enumerate().all(|(at, (dim, given))| {
                size(dim).is_none_or(|size| size == *given) || (at, *given) == (0, 1)
            })
    };
    let open = |(at, dim): (usize, &DimensionProto)| size(dim).or((at == 0).then_some(1));
    // A tensor without a batch may be given with one of 1 before it.
    let whole = |given: &&[usize]| {
        let sizes = dims.unwrap_or_default().iter().map(size);
        given.first() == Some(&1) && sizes.eq(given[1..].iter().map(|d| Some(*d)))
    };
    let dims: Option<Vec<usize>> = match given {
        Some(given) if dims.is_some() && whole(&given) => Some(given[1..].to_vec()),
        Some(given) => Some(given).filter(fits).map(<[usize]>::to_vec),
        None => dims.and_then(|dims| dims.iter().enumerate().map(open).collect()),
    };
    match dims {
        Some(dims) => Ok(OnnxTensor {
            name,
            data_type,
            dims,
        }),
        None => Err(match given {
            Some(given) => ModelFault::Dims {
                name,
                expected: all(),
                found: format!("{given:?}"),
            },
            None => ModelFault::OpenTensor {
                name,
                expected: all(),
                open: open_dims(
                    type_of(input)
                        .1
                        .and_then(|d| d.get(1..))
                        .unwrap_or_default(),
                ),
            },
        }),
    }
}

/// Returns the network's shape of an input: an image, or a tensor without the batch of 1.
fn shape(input: &OnnxTensor) -> Option<Shape> {
    let is_float = NumberType::from(input.data_type) == NumberType::Floats;
    let shape = match input.dims[..] {
        [1, c, h, w] if is_float => Shape::image(c, h, w),
        [1, ref rest @ ..] => Shape::tensor(Dims::new(rest).ok()?),
        ref all => Shape::tensor(Dims::new(all).ok()?),
    };
    Some(shape).filter(|shape| shape.is_reasonable())
}

fn layout(dims: &[usize], shape: Shape) -> Layout {
    match shape {
        Shape::Image {
            channels,
            height,
            width,
        } => Layout::image(channels, height, width),
        _ => Layout::row_major(dims.to_vec()),
    }
}

/// Returns the batch that the file takes, followed here for one sample: the samples of all inputs
/// whose first dimension is not fixed to 1.
fn batch_of<'a>(model: &'a OnnxModel, inputs: &[OnnxTensor]) -> Option<BatchTrace<'a>> {
    if inputs.iter().any(|bound| bound.dims.first() != Some(&1)) {
        return None;
    }
    let first = |input| type_of(input).1.and_then(<[DimensionProto]>::first);
    let firsts = model
        .inputs()
        .filter_map(|i| Some((name_of(i), size(first(i)?))));
    let several: Vec<(&str, Option<usize>)> = firsts.filter(|(_, d)| *d != Some(1)).collect();
    let fixed = several.iter().find_map(|(_, size)| *size);
    let names = several.iter().map(|(name, _)| *name);
    (!several.is_empty()).then(|| BatchTrace::new(fixed, names))
}

/// Returns the error of a model without inputs.
pub(super) fn no_inputs() -> ReadError {
    ReadError::new("it has no inputs, so its answers are constants")
}

fn not_computed(output: &str) -> ReadError {
    ReadError::new(format_args!(
        "output `{output}` is not a tensor computed by the nodes"
    ))
}

impl<'a> PartialNetwork<'a> {
    /// Starts a network for the inputs of a file. A single input is the row. Several inputs are
    /// parts of the row in the order of the file, as is a single input after `lead` other values.
    pub(super) fn taking(
        model: &'a OnnxModel,
        inputs: &[OnnxTensor],
        lead: usize,
    ) -> Result<Self, OnnxError> {
        let unreasonable = |input: &OnnxTensor| {
            let OnnxTensor { name, dims, .. } = input;
            ReadError::new(format_args!(
                "input `{name}`: a tensor of {dims:?} is empty or too large"
            ))
        };
        let shapes = inputs
            .iter()
            .map(|i| shape(i).ok_or_else(|| unreasonable(i)));
        let shapes: Vec<Shape> = shapes.collect::<Result<_, _>>()?;
        let all = shapes
            .iter()
            .map(|s| s.elements())
            .fold(lead, usize::saturating_add);
        let sample = match shapes[..] {
            [] => return Err(no_inputs().into()),
            [one] if lead == 0 => one,
            _ => Shape::vector(all),
        };
        if !sample.is_reasonable() {
            return Err(unreasonable(&inputs[0]).into());
        }
        let mut network = PartialNetwork::new(model, sample);
        network.leads = lead > 0;
        network.batch = batch_of(model, inputs);
        let mut first = lead;
        for ((input, name), shape) in inputs.iter().zip(model.inputs().map(name_of)).zip(shapes) {
            let id = if inputs.len() == 1 && lead == 0 {
                NodeId::INPUT
            } else {
                let part = Op::Tensor(TensorOp::Part { first, shape });
                network
                    .builder
                    .add(format!("input.{name}"), part, &[NodeId::INPUT])?
            };
            first += shape.elements();
            let numbers = NumberType::from(input.data_type);
            let value = Activation::floats(id, layout(&input.dims, shape)).typed(numbers);
            network.values.insert(name, value.into());
        }
        Ok(network)
    }

    /// Returns whether each output is one row after another of all samples.
    pub(super) fn answers_by_row(&self) -> bool {
        let by_row = |name: &&str| {
            self.batch
                .as_ref()
                .is_some_and(|batch| batch.is_by_row(name))
        };
        self.outputs.iter().all(by_row)
    }

    /// Makes the outputs of the file the answer of the network: a single output as it is, several
    /// outputs one after another.
    pub(super) fn answer(&mut self) -> Result<Vec<OnnxTensor>, OnnxError> {
        let outputs: Vec<&ValueInfoProto> = self.model.graph.output.iter().collect();
        let mut ids = Vec::new();
        let mut answers = Vec::new();
        for output in outputs {
            let name = name_of(output);
            let missing = || OnnxError::from(not_computed(name));
            let value = match self.value(name)? {
                Value::Unknown => return Err(missing()),
                value => value,
            };
            let node = self.model.ends();
            let value = self.operand(node, &value).map_err(|_| missing())?;
            ids.push(self.answered(&value).map_err(|_| missing())?);
            let written = data_type(type_of(output).0);
            answers.push(OnnxTensor {
                name: name.to_owned(),
                data_type: written.unwrap_or(value.numbers.into()),
                dims: value.dims().to_vec(),
            });
        }
        let joined = self.joined(&ids);
        joined.map_err(|_| not_computed(&self.outputs.join("`, `")))?;
        Ok(answers)
    }

    /// Returns a value in the order of the file, or as an image.
    fn answered(&mut self, value: &Activation) -> Result<NodeId, Refusal> {
        let node = self.model.ends();
        let is_image = matches!(self.shape(value.id), Shape::Image { .. });
        let four = value.dims().len() == 4;
        let is_last = four && value.layout.lies_as(&[2, 3, 1]);
        if is_last
            && (is_image || !value.layout.order().is_sorted())
            && let Some(image) = self.imaged(node, value)?
        {
            return Ok(image.id);
        }
        let mut axes = value.layout.order().to_vec();
        axes.sort_unstable();
        self.stored(node, value, &axes)
    }

    /// Makes `ids` the last value of the network.
    fn joined(&mut self, ids: &[NodeId]) -> Result<(), Refusal> {
        let node = self.model.ends();
        match *ids {
            [one] if one == self.builder.last() && one != NodeId::INPUT => {}
            [one] => {
                let shape = self.shape(one);
                let view = Op::Tensor(TensorOp::View { shape });
                self.layer(node, view, &[one], Vec::new())?;
            }
            _ => {
                self.layer(node, Op::Tensor(TensorOp::Row), ids, Vec::new())?;
            }
        }
        Ok(())
    }
}
