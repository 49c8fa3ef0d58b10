//! One node of a file, with its attributes by name.

use super::error::{NodeFault, NodeLabel};
use super::proto::{AttributeProto, NodeProto};
use crate::words::one_line;

/// A node, read under the version of the operators that its file names.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    proto: &'a NodeProto,
    pub(super) opset: i64,
}

impl<'a> Node<'a> {
    pub(super) fn new(proto: &'a NodeProto, opset: i64) -> Self {
        Node { proto, opset }
    }

    /// Returns the node as an operator of version `opset` of its domain.
    pub(super) fn as_of(self, opset: i64) -> Self {
        Node { opset, ..self }
    }

    /// Returns the operator's name, or `None` if it is not one of ONNX's own.
    pub(super) fn operator(&self) -> Option<&'a str> {
        let domain = self.proto.domain.as_deref().unwrap_or_default();
        let own = matches!(domain, "" | "ai.onnx");
        own.then(|| self.proto.op_type.as_deref().unwrap_or_default())
    }

    /// Returns the operator's name if it is one of ONNX Runtime's own.
    pub(super) fn contrib(&self) -> Option<&'a str> {
        let domain = self.proto.domain.as_deref();
        let name = || self.proto.op_type.as_deref().unwrap_or_default();
        (domain == Some("com.microsoft")).then(name)
    }

    /// Returns the names of the inputs, without omitted ones at the end.
    pub(super) fn inputs(&self) -> &'a [String] {
        let all = &self.proto.input;
        let used = all.iter().rposition(|name| !name.is_empty());
        &all[..used.map_or(0, |last| last + 1)]
    }

    /// Returns the names of all values that the node reads, including those in its branches.
    pub(super) fn reads(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = self.inputs().iter().map(String::as_str).collect();
        let branches = self.proto.attribute.iter().filter_map(|a| a.g.as_ref());
        for branch in branches {
            for proto in &branch.node {
                names.extend(Node::new(proto, self.opset).reads());
            }
            let outputs = branch.output.iter().filter_map(|o| o.name.as_deref());
            names.extend(outputs);
        }
        names.retain(|name| !name.is_empty());
        names
    }

    pub(super) fn outputs(&self) -> &'a [String] {
        &self.proto.output
    }

    /// Returns the node's name, or its first output's if it has none.
    pub(super) fn name(&self) -> &'a str {
        let name = self.proto.name.as_deref().filter(|n| !n.is_empty());
        let first = || self.proto.output.first().map(String::as_str);
        name.or_else(first).unwrap_or_default()
    }

    pub(super) fn label(&self) -> NodeLabel {
        let domain = self.proto.domain.as_deref().filter(|d| !d.is_empty());
        let operator = self.proto.op_type.as_deref().unwrap_or_default();
        NodeLabel {
            // The label is printed on one line of a terminal.
            name: one_line(self.name()).into_owned(),
            operator: match domain {
                Some(domain) => format!("{domain}.{operator}"),
                None => operator.to_owned(),
            },
        }
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&'a AttributeProto> {
        let mut all = self.proto.attribute.iter();
        all.find(|a| a.name.as_deref() == Some(name))
    }

    pub(super) fn integer(&self, name: &str) -> Option<i64> {
        self.attribute(name).and_then(|a| a.i)
    }

    pub(super) fn float(&self, name: &str) -> Option<f32> {
        self.attribute(name).and_then(|a| a.f)
    }

    pub(super) fn text(&self, name: &str) -> Option<&'a [u8]> {
        self.attribute(name).and_then(|a| a.s.as_deref())
    }

    pub(super) fn integers(&self, name: &str) -> Option<&'a [i64]> {
        self.attribute(name).map(|a| a.ints.as_slice())
    }

    /// Returns the attribute `name` as `N` numbers of at least `least`, or `default` if the
    /// attribute is missing.
    ///
    /// # Errors
    /// The attribute has more or fewer numbers, or a number is too small.
    pub(super) fn sizes<const N: usize>(
        &self,
        name: &'static str,
        least: i64,
        default: usize,
    ) -> Result<[usize; N], NodeFault> {
        let Some(written) = self.integers(name) else {
            return Ok([default; N]);
        };
        let wrong = || NodeFault::Attribute {
            name,
            expected: format!("{N} whole numbers of at least {least}, found {written:?}"),
        };
        let sizes = <[i64; N]>::try_from(written).map_err(|_| wrong())?;
        match sizes
            .iter()
            .all(|s| (least..=i64::from(u32::MAX)).contains(s))
        {
            true => Ok(sizes.map(|s| s as usize)),
            false => Err(wrong()),
        }
    }
}

/// Returns the position of an axis that may be counted from the end.
///
/// # Errors
/// The axis does not exist among `rank`.
pub(super) fn axis(written: i64, rank: usize) -> Result<usize, NodeFault> {
    let from_start = if written < 0 {
        written.saturating_add(rank as i64)
    } else {
        written
    };
    let axis = usize::try_from(from_start).ok().filter(|a| *a < rank);
    axis.ok_or_else(|| NodeFault::Shapes(format!("axis {written} is outside of {rank} dimensions")))
}

/// Returns a position among `size`; a negative one counts from the end.
///
/// # Errors
/// The position does not exist.
pub(super) fn position(written: i64, size: usize) -> Result<usize, NodeFault> {
    axis(written, size)
        .map_err(|_| NodeFault::Shapes(format!("index {written} is outside of {size} positions")))
}
