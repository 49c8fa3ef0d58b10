//! ONNX files of one node, for rows of float32 whose length they leave open.

/// A field of Protocol Buffers that holds bytes.
fn field(number: u8, parts: &[&[u8]]) -> Vec<u8> {
    let held = parts.concat();
    let mut bytes = vec![number << 3 | 2];
    let mut length = held.len();
    while length > 127 {
        bytes.push((length & 127) as u8 | 128);
        length >>= 7;
    }
    bytes.push(length as u8);
    [bytes, held].concat()
}

/// A tensor of float32 with two dimensions: `N` rows, and a number or a name.
fn tensor(name: &str, columns: &[u8]) -> Vec<u8> {
    let rows = field(1, &[&field(2, &[b"N"])]);
    let shape = field(2, &[&rows, &field(1, &[columns])]);
    let kind = field(2, &[&field(1, &[&[1 << 3, 1], &shape])]);
    [field(1, &[name.as_bytes()]), kind].concat()
}

/// A file of the node `op` from `inputs` to `y`, whose rows have `columns`.
fn file(op: &str, inputs: &[&str], attributes: &[u8], columns: &[u8]) -> Vec<u8> {
    let read = inputs.iter().map(|name| field(1, &[name.as_bytes()]));
    let read: Vec<u8> = read.flatten().collect();
    let made = [field(2, &[b"y"]), field(4, &[op.as_bytes()])].concat();
    let node = field(1, &[&read, &made, attributes]);
    let open = field(2, &[b"L"]);
    let taken = inputs.iter().map(|name| field(11, &[&tensor(name, &open)]));
    let taken: Vec<u8> = taken.flatten().collect();
    let tensors = [taken, field(12, &[&tensor("y", columns)])].concat();
    let graph = field(7, &[&node, &field(2, &[b"g"]), &tensors]);
    [vec![1 << 3, 8], graph, field(8, &[&[2 << 3, 13]])].concat()
}

/// Negates the rows `x`.
pub fn negated() -> Vec<u8> {
    file("Neg", &["x"], &[], &field(2, &[b"L"]))
}

/// Adds the rows `a` and `b`.
pub fn added() -> Vec<u8> {
    file("Add", &["a", "b"], &[], &field(2, &[b"L"]))
}

/// Takes the mean of each of the rows `x`.
pub fn mean() -> Vec<u8> {
    let axes = field(5, &[&field(1, &[b"axes"]), &[8 << 3, 1, 0xA0, 1, 7]]);
    file("ReduceMean", &["x"], &axes, &[1 << 3, 1])
}
