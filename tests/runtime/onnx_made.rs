//! Quantised ONNX files with any scales and zero points, made without a library of ONNX. The fuzz
//! targets read this file, too.

/// The side of images, and their channels.
const SIDE: i64 = 3;
const CHANNELS: i64 = 16;

/// The scales of a tensor and its zero points: one of each, or one for each position of an axis.
#[derive(Clone, Debug)]
pub struct Steps {
    pub scales: Vec<f32>,
    pub zeros: Vec<i32>,
}

impl Steps {
    /// One scale and one zero point.
    pub fn one(scale: f32, zero: i32) -> Self {
        Steps {
            scales: vec![scale],
            zeros: vec![zero],
        }
    }
}

/// Two convolutions over values of 8 bits.
#[derive(Clone, Debug)]
pub struct QuantisedFile {
    /// Whether convolutions are `QLinearConv`, in place of `Conv` between pairs of QuantizeLinear and
    /// DequantizeLinear.
    pub operators: bool,
    pub input: Steps,
    pub weights: Steps,
    /// The axis of the weights' steps.
    pub axis: i64,
    /// Their element type, and that of their zero points.
    pub element: u64,
    /// The number of biases of the first convolution, unless it has none.
    pub biases: Option<usize>,
    pub output: Steps,
}

impl QuantisedFile {
    /// A file as quantisers write them.
    pub fn usual(operators: bool) -> Self {
        QuantisedFile {
            operators,
            input: Steps::one(0.02, 128),
            weights: Steps {
                scales: vec![0.01; CHANNELS as usize],
                zeros: vec![0; CHANNELS as usize],
            },
            axis: 0,
            element: INT8,
            biases: None,
            output: Steps::one(0.03, 120),
        }
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut graph = Vec::new();
        for node in if self.operators {
            self.operators()
        } else {
            self.pairs()
        } {
            field(&mut graph, 1, &node);
        }
        let weights: Vec<i32> = (0..CHANNELS * CHANNELS)
            .map(|n| (n * 37 % 255) as i32 - 127)
            .collect();
        field(
            &mut graph,
            5,
            &tensor("w", self.element, &[CHANNELS, CHANNELS, 1, 1], &weights),
        );
        for (name, steps, integer) in [
            ("x", &self.input, UINT8),
            ("w", &self.weights, self.element),
            ("y", &self.output, UINT8),
        ] {
            field(
                &mut graph,
                5,
                &floats(&format!("{name}_scale"), &steps.scales),
            );
            let dims = dims(steps.zeros.len());
            field(
                &mut graph,
                5,
                &tensor(&format!("{name}_zero"), integer, &dims, &steps.zeros),
            );
        }
        if let Some(count) = self.biases {
            let bias = match self.operators {
                true => tensor("bias", INT32, &[count as i64], &vec![1; count]),
                false => floats("bias", &vec![1.0; count]),
            };
            field(&mut graph, 5, &bias);
        }
        field(&mut graph, 11, &value("x"));
        field(&mut graph, 12, &value("answer"));
        let mut file = Vec::new();
        number(&mut file, 1, 8);
        field(&mut file, 7, &graph);
        let mut operators = Vec::new();
        number(&mut operators, 2, 13);
        field(&mut file, 8, &operators);
        file
    }

    /// The input of a convolution.
    fn bias(&self) -> &'static str {
        match self.biases {
            Some(_) => " bias",
            None => "",
        }
    }

    fn pairs(&self) -> Vec<Vec<u8>> {
        let axis = [("axis", self.axis)];
        vec![
            node("QuantizeLinear", "x x_scale x_zero", "x_bytes", &[]),
            node("DequantizeLinear", "x_bytes x_scale x_zero", "x_held", &[]),
            node("DequantizeLinear", "w w_scale w_zero", "w_held", &axis),
            node("Conv", &format!("x_held w_held{}", self.bias()), "y", &[]),
            node("QuantizeLinear", "y y_scale y_zero", "y_bytes", &[]),
            node("DequantizeLinear", "y_bytes y_scale y_zero", "y_held", &[]),
            node("Conv", "y_held w_held", "answer", &[]),
        ]
    }

    fn operators(&self) -> Vec<Vec<u8>> {
        let by = "w w_scale w_zero y_scale y_zero";
        vec![
            node("QuantizeLinear", "x x_scale x_zero", "x_bytes", &[]),
            node(
                "QLinearConv",
                &format!("x_bytes x_scale x_zero {by}{}", self.bias()),
                "y_bytes",
                &[],
            ),
            node(
                "QLinearConv",
                &format!("y_bytes y_scale y_zero {by}"),
                "z_bytes",
                &[],
            ),
            node("DequantizeLinear", "z_bytes y_scale y_zero", "answer", &[]),
        ]
    }
}

/// Element types of tensors.
const FLOAT: u64 = 1;
const UINT8: u64 = 2;
const INT8: u64 = 3;
const INT32: u64 = 6;

fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 128 {
        to.push(value as u8 | 128);
        value >>= 7;
    }
    to.push(value as u8);
}

fn number(to: &mut Vec<u8>, tag: u64, value: u64) {
    varint(to, tag << 3);
    varint(to, value);
}

fn field(to: &mut Vec<u8>, tag: u64, bytes: &[u8]) {
    varint(to, tag << 3 | 2);
    varint(to, bytes.len() as u64);
    to.extend(bytes);
}

fn node(operator: &str, inputs: &str, output: &str, attributes: &[(&str, i64)]) -> Vec<u8> {
    let mut node = Vec::new();
    inputs
        .split(' ')
        .for_each(|input| field(&mut node, 1, input.as_bytes()));
    field(&mut node, 2, output.as_bytes());
    field(&mut node, 3, output.as_bytes());
    field(&mut node, 4, operator.as_bytes());
    for (name, value) in attributes {
        let mut attribute = Vec::new();
        field(&mut attribute, 1, name.as_bytes());
        number(&mut attribute, 3, *value as u64);
        number(&mut attribute, 20, 2);
        field(&mut node, 5, &attribute);
    }
    node
}

/// A scalar for one value.
fn dims(count: usize) -> Vec<i64> {
    if count == 1 {
        Vec::new()
    } else {
        vec![count as i64]
    }
}

fn head(name: &str, element: u64, dims: &[i64]) -> Vec<u8> {
    let mut tensor = Vec::new();
    dims.iter()
        .for_each(|dim| number(&mut tensor, 1, *dim as u64));
    number(&mut tensor, 2, element);
    field(&mut tensor, 8, name.as_bytes());
    tensor
}

fn floats(name: &str, values: &[f32]) -> Vec<u8> {
    let mut tensor = head(name, FLOAT, &dims(values.len()));
    let raw: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    field(&mut tensor, 9, &raw);
    tensor
}

/// Integers in the field that small ones have, where they may be beyond their type.
fn tensor(name: &str, element: u64, dims: &[i64], values: &[i32]) -> Vec<u8> {
    let mut tensor = head(name, element, dims);
    let mut packed = Vec::new();
    values
        .iter()
        .for_each(|value| varint(&mut packed, i64::from(*value) as u64));
    field(&mut tensor, 5, &packed);
    tensor
}

/// An image of floats.
fn value(name: &str) -> Vec<u8> {
    let mut shape = Vec::new();
    for side in [1, CHANNELS, SIDE, SIDE] {
        let mut dim = Vec::new();
        number(&mut dim, 1, side as u64);
        field(&mut shape, 1, &dim);
    }
    let mut tensor = Vec::new();
    number(&mut tensor, 1, FLOAT);
    field(&mut tensor, 2, &shape);
    let mut kind = Vec::new();
    field(&mut kind, 1, &tensor);
    let mut value = Vec::new();
    field(&mut value, 1, name.as_bytes());
    field(&mut value, 2, &kind);
    value
}
