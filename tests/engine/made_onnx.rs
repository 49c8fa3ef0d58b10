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

/// A model whose input is `x` and whose answer is `y`, with a batch first.
#[derive(Default)]
pub(super) struct MadeModel {
    nodes: Message,
    constants: Message,
}

impl MadeModel {
    /// Adds a node; `to` is its only attribute, where it has one.
    pub(super) fn node(mut self, kind: &str, inputs: &[&str], outputs: &[&str]) -> Self {
        let node = Message::default().texts(1, inputs).texts(2, outputs);
        self.nodes = self.nodes.message(1, node.text(4, kind));
        self
    }

    /// Adds a conversion to floats.
    pub(super) fn cast(mut self, input: &str, output: &str) -> Self {
        let node = Message::default().text(1, input).text(2, output);
        let to = Message::default()
            .text(1, "to")
            .number(3, FLOAT)
            .number(20, 2);
        self.nodes = self.nodes.message(1, node.text(4, "Cast").message(5, to));
        self
    }

    fn constant(mut self, name: &str, kind: u64, dims: &[usize], raw: &[u8]) -> Self {
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

    /// Adds bytes of type `kind`, with a sign or without.
    pub(super) fn integers(self, name: &str, kind: u64, dims: &[usize], values: &[i32]) -> Self {
        let raw: Vec<u8> = values.iter().map(|v| *v as u8).collect();
        self.constant(name, kind, dims, &raw)
    }

    /// Returns the file, for samples and answers of these dimensions.
    pub(super) fn file(self, sample: &[usize], answer: &[usize]) -> Vec<u8> {
        let graph = Message(self.nodes.0).text(2, "made");
        let graph = Message([graph.0, self.constants.0].concat());
        let graph = graph
            .message(11, value("x", sample))
            .message(12, value("y", answer));
        let opset = Message::default().text(1, "").number(2, 17);
        let model = Message::default().number(1, 8).message(7, graph);
        model.message(8, opset).0
    }
}

/// A value of floats with a batch of any size.
fn value(name: &str, dims: &[usize]) -> Message {
    let sizes = dims
        .iter()
        .map(|size| Message::default().number(1, *size as u64));
    let any = Message::default().text(2, "N");
    let all = std::iter::once(any).chain(sizes);
    let shape = all.fold(Message::default(), |shape, dim| shape.message(1, dim));
    let tensor = Message::default().number(1, FLOAT).message(2, shape);
    Message::default()
        .text(1, name)
        .message(2, Message::default().message(1, tensor))
}
