//! ONNX files as tests write them, field by field of the published interface.

/// A message while it is written.
#[derive(Clone, Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(mut self, mut value: u64) -> Self {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }

    fn number(self, field: u64, value: u64) -> Self {
        self.varint(field << 3).varint(value)
    }

    fn float(self, field: u64, value: f32) -> Self {
        let mut message = self.varint(field << 3 | 5);
        message.0.extend(value.to_le_bytes());
        message
    }

    fn bytes(self, field: u64, bytes: &[u8]) -> Self {
        let mut message = self.varint(field << 3 | 2).varint(bytes.len() as u64);
        message.0.extend(bytes);
        message
    }

    fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    fn texts(self, field: u64, all: &[&str]) -> Self {
        all.iter()
            .fold(self, |message, text| message.text(field, text))
    }

    fn message(self, field: u64, inner: Message) -> Self {
        self.bytes(field, &inner.0)
    }
}

/// Element types of `TensorProto.DataType`.
pub(super) const FLOAT: u64 = 1;
pub(super) const UINT8: u64 = 2;
pub(super) const INT8: u64 = 3;
pub(super) const INT32: u64 = 6;
pub(super) const INT64: u64 = 7;
pub(super) const BOOL: u64 = 9;
pub(super) const FLOAT16: u64 = 10;
pub(super) const BFLOAT16: u64 = 16;

/// The version of the operators where none is asked for.
const OPSET: u64 = 17;

/// A model whose input is `x` and whose answer is `y`, with a batch first.
#[derive(Default)]
pub(super) struct MadeModel {
    nodes: Message,
    constants: Message,
    opset: Option<u64>,
}

/// An attribute of a node.
#[derive(Clone, Copy)]
pub(super) enum Attribute<'a> {
    Integer(i64),
    Float(f32),
    Text(&'a str),
    Integers(&'a [i64]),
}

impl Attribute<'_> {
    fn named(self, name: &str) -> Message {
        let attribute = Message::default().text(1, name);
        match self {
            Attribute::Float(value) => attribute.float(2, value).number(20, 1),
            Attribute::Integer(value) => attribute.number(3, value.cast_unsigned()).number(20, 2),
            Attribute::Text(value) => attribute.text(4, value).number(20, 3),
            Attribute::Integers(values) => {
                let each = values.iter();
                let attribute = each.fold(attribute, |a, v| a.number(8, v.cast_unsigned()));
                attribute.number(20, 7)
            }
        }
    }
}

impl MadeModel {
    /// Adds a node without attributes.
    pub(super) fn node(self, kind: &str, inputs: &[&str], outputs: &[&str]) -> Self {
        self.node_with(kind, inputs, outputs, &[])
    }

    /// Adds a node with attributes.
    pub(super) fn node_with(
        mut self,
        kind: &str,
        inputs: &[&str],
        outputs: &[&str],
        attributes: &[(&str, Attribute<'_>)],
    ) -> Self {
        let node = Message::default().texts(1, inputs).texts(2, outputs);
        let node = with_attributes(node.text(4, kind), attributes);
        self.nodes = self.nodes.message(1, node);
        self
    }

    /// Adds a node of ONNX Runtime's own operators.
    pub(super) fn contrib(
        mut self,
        kind: &str,
        inputs: &[&str],
        outputs: &[&str],
        attributes: &[(&str, Attribute<'_>)],
    ) -> Self {
        let node = Message::default().texts(1, inputs).texts(2, outputs);
        let node = with_attributes(node.text(4, kind), attributes);
        self.nodes = self.nodes.message(1, node.text(7, "com.microsoft"));
        self
    }

    /// Adds a conversion to floats.
    pub(super) fn cast(self, input: &str, output: &str) -> Self {
        self.cast_to(FLOAT, input, output)
    }

    /// Adds a conversion to an element type.
    pub(super) fn cast_to(self, kind: u64, input: &str, output: &str) -> Self {
        let to = Attribute::Integer(kind.cast_signed());
        self.node_with("Cast", &[input], &[output], &[("to", to)])
    }

    /// Asks for a version of the operators.
    pub(super) fn opset(self, version: u64) -> Self {
        MadeModel {
            opset: Some(version),
            ..self
        }
    }

    /// Adds a tensor by its bytes.
    pub(super) fn constant(mut self, name: &str, kind: u64, dims: &[usize], raw: &[u8]) -> Self {
        let sizes = dims.iter();
        let tensor = sizes.fold(Message::default(), |t, size| t.number(1, *size as u64));
        let tensor = tensor.number(2, kind).text(8, name).bytes(9, raw);
        self.constants = self.constants.message(5, tensor);
        self
    }

    pub(super) fn floats(self, name: &str, dims: &[usize], values: &[f32]) -> Self {
        let raw: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.constant(name, FLOAT, dims, &raw)
    }

    /// Adds integers of 64 bits.
    pub(super) fn longs(self, name: &str, dims: &[usize], values: &[i64]) -> Self {
        let raw: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.constant(name, INT64, dims, &raw)
    }

    pub(super) fn booleans(self, name: &str, dims: &[usize], values: &[bool]) -> Self {
        let raw: Vec<u8> = values.iter().map(|v| u8::from(*v)).collect();
        self.constant(name, BOOL, dims, &raw)
    }

    /// Adds bytes of type `kind`, with a sign or without.
    pub(super) fn integers(self, name: &str, kind: u64, dims: &[usize], values: &[i32]) -> Self {
        let raw: Vec<u8> = values.iter().map(|v| *v as u8).collect();
        self.constant(name, kind, dims, &raw)
    }

    /// Returns the file, for samples and answers of these dimensions.
    pub(super) fn file(self, sample: &[usize], answer: &[usize]) -> Vec<u8> {
        self.file_of((FLOAT, sample), (FLOAT, answer))
    }

    /// The same for samples and answers of other element types.
    pub(super) fn file_of(self, sample: (u64, &[usize]), answer: (u64, &[usize])) -> Vec<u8> {
        let graph = Message(self.nodes.0).text(2, "made");
        let graph = Message([graph.0, self.constants.0].concat());
        let graph = graph
            .message(11, value("x", sample))
            .message(12, value("y", answer));
        let opset = Message::default()
            .text(1, "")
            .number(2, self.opset.unwrap_or(OPSET));
        let model = Message::default().number(1, 8).message(7, graph);
        model.message(8, opset).0
    }
}

fn with_attributes(node: Message, attributes: &[(&str, Attribute<'_>)]) -> Message {
    let each = attributes.iter();
    each.fold(node, |node, (name, value)| {
        node.message(5, value.named(name))
    })
}

/// A value with a batch of any size.
fn value(name: &str, (kind, dims): (u64, &[usize])) -> Message {
    let sizes = dims
        .iter()
        .map(|size| Message::default().number(1, *size as u64));
    let any = Message::default().text(2, "N");
    let all = std::iter::once(any).chain(sizes);
    let shape = all.fold(Message::default(), |shape, dim| shape.message(1, dim));
    let tensor = Message::default().number(1, kind).message(2, shape);
    Message::default()
        .text(1, name)
        .message(2, Message::default().message(1, tensor))
}
