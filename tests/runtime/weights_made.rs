//! Files of weights made for tests.

use divisi_runtime::network::{Graph, Weights, WeightsError};
use half::{bf16, f16};
use serde_json::{Map, Value, json};

use crate::folder::Folder;

/// A tensor as a file has it.
#[derive(Clone, Debug)]
pub struct Tensor {
    pub name: String,
    pub dtype: &'static str,
    pub shape: Vec<usize>,
    pub bytes: Vec<u8>,
}

impl Tensor {
    /// Values of a type that stands for numbers with a point.
    pub fn new(name: &str, dtype: &'static str, shape: &[usize], values: &[f32]) -> Self {
        Tensor {
            name: name.into(),
            dtype,
            shape: shape.to_vec(),
            bytes: encoded(dtype, values),
        }
    }

    /// A batch norm's counter.
    pub fn counter(name: &str) -> Self {
        Tensor {
            name: name.into(),
            dtype: "I64",
            shape: vec![],
            bytes: 7i64.to_le_bytes().to_vec(),
        }
    }
}

/// Values as a type's bytes.
pub fn encoded(dtype: &str, values: &[f32]) -> Vec<u8> {
    let values = values.iter().copied();
    match dtype {
        "F64" => values.flat_map(|v| f64::from(v).to_le_bytes()).collect(),
        "F16" => values
            .flat_map(|v| f16::from_f32(v).to_le_bytes())
            .collect(),
        "BF16" => values
            .flat_map(|v| bf16::from_f32(v).to_le_bytes())
            .collect(),
        _ => values.flat_map(f32::to_le_bytes).collect(),
    }
}

/// A file of these tensors.
pub fn safetensors(tensors: &[Tensor]) -> Vec<u8> {
    let (mut header, mut data) = (Map::new(), Vec::<u8>::new());
    for tensor in tensors {
        let begin = data.len();
        data.extend(&tensor.bytes);
        let entry = json!({"dtype": tensor.dtype, "shape": tensor.shape,
            "data_offsets": [begin, data.len()]});
        header.insert(tensor.name.clone(), entry);
    }
    let header = Value::Object(header).to_string();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    bytes.extend(data);
    bytes
}

/// A network's weights as tensors of one type, each called what `name` makes of its name.
pub fn of(
    graph: &Graph,
    weights: &Weights,
    dtype: &'static str,
    name: impl Fn(&str) -> String,
) -> Vec<Tensor> {
    let parameters = graph.parameters();
    let tensors = parameters.iter().map(|p| {
        let values = weights.get(&p.name);
        Tensor::new(&name(&p.name), dtype, &p.shape, values)
    });
    tensors.collect()
}

/// Writes tensors to `a.safetensors` and `b.safetensors` by turns; returns the index.
pub fn shards(folder: &Folder, tensors: &[Tensor]) -> String {
    let (mut files, mut map) = ([Vec::new(), Vec::new()], Map::new());
    for (i, tensor) in tensors.iter().enumerate() {
        files[i % 2].push(tensor.clone());
        let file = ["a.safetensors", "b.safetensors"][i % 2];
        map.insert(tensor.name.clone(), file.into());
    }
    folder.write("a.safetensors", &safetensors(&files[0]));
    folder.write("b.safetensors", &safetensors(&files[1]));
    json!({"metadata": {"total_size": 1}, "weight_map": map}).to_string()
}

/// Returns the notes on what was done to the file's tensors.
pub fn notes(weights: &Weights) -> Vec<String> {
    weights.notes().iter().map(ToString::to_string).collect()
}

/// Why weights were refused.
pub fn refused(weights: Result<Weights, WeightsError>) -> String {
    weights.expect_err("it should be refused").to_string()
}
