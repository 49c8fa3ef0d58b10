//! Products of integers with constant weights that are scaled back to numbers, as ONNX Runtime's
//! `quantize_dynamic` writes them: `Cast(MatMulInteger(q, w, zero, zeros)) · (scale · scales)`.

use std::ops::RangeInclusive;

use crate::onnx::activation::{Activation, Value};
use crate::onnx::ends::FLOAT;
use crate::onnx::node::Node;
use crate::onnx::operators::dense::Dense;
use crate::onnx::operators::inputs::Inputs;
use crate::onnx::partial::PartialNetwork;
use crate::onnx::scaled::ScaledProduct;
use crate::onnx::tensor::{Constant, Values};

/// The most readers of one value to examine.
const MOST_READERS: usize = 64;

/// The largest difference of two bytes.
const MOST_APART: f32 = 255.0;

impl<'a> PartialNetwork<'a> {
    /// Turns a node's integers of `x` and the nodes after them into products of numbers. This needs
    /// that only products with constant weights read the integers, and that all of them scale back.
    pub(super) fn take_scaled_products(&mut self, node: Node<'a>, x: &Activation) -> bool {
        let found = self.scaled_products(node).filter(|_| !x.dims().is_empty());
        let Some(found) = found else {
            return false;
        };
        for (name, product) in found {
            self.absorbed.extend(product.absorbed);
            self.scaled_products.insert(name, product);
        }
        true
    }

    /// Returns all readers of a node's integers by the names of their answers, or `None` if a
    /// reader is not such a product.
    fn scaled_products(&self, node: Node<'a>) -> Option<Vec<(&'a str, ScaledProduct<'a>)>> {
        let [integers, scale, _] = node.outputs() else {
            return None;
        };
        let few = |name: &str| {
            let count = self.readers.get(name).map_or(0, Vec::len);
            (1..=MOST_READERS).contains(&count)
        };
        if self.outputs.contains(&integers.as_str()) || !few(integers) || !few(scale) {
            return None;
        }
        let readers = self.readers_of(integers);
        let each = readers.map(|reader| {
            let answer = reader.outputs().first()?;
            Some((answer.as_str(), self.scaled_product(node, reader)?))
        });
        each.collect()
    }

    fn scaled_product(&self, node: Node<'a>, product: Node<'a>) -> Option<ScaledProduct<'a>> {
        let ([integers, scale, zero], [x, weights, by, rest @ ..]) =
            (node.outputs(), product.inputs())
        else {
            return None;
        };
        let reads = x == integers && by == zero && weights != integers;
        if product.operator() != Some("MatMulInteger") || !reads {
            return None;
        }
        let (cast_at, cast) = self.follower(product, "Cast")?;
        if cast.integer("to") != Some(FLOAT.into()) {
            return None;
        }
        let (last_at, last) = self.follower(cast, "Mul")?;
        let scales = other(last, cast.outputs().first()?)?;
        let (scales_at, scales) = self.product_of_scales(scale, scales, last_at)?;
        let zeros = match rest {
            [] => None,
            [zeros] => Some(self.constant_of(zeros)?),
            _ => return None,
        };
        let matrix = numbers(&self.constant_of(weights)?, zeros.as_ref(), &scales)?;
        Some(ScaledProduct {
            matrix,
            cast,
            last,
            absorbed: [cast_at, last_at, scales_at],
        })
    }

    /// Returns the node of `operator` that alone reads the answer of another one, and its position.
    fn follower(&self, node: Node<'a>, operator: &str) -> Option<(usize, Node<'a>)> {
        let name = node.outputs().first()?;
        let (at, next) = self.only_reader(name)?;
        let is_answer = self.outputs.contains(&name.as_str());
        (next.operator() == Some(operator) && !is_answer).then_some((at, next))
    }

    /// Returns the position of the node that multiplies `scale` with constants to make `name`, which the
    /// node at `reader` alone reads, and the constants.
    fn product_of_scales(
        &self,
        scale: &str,
        name: &str,
        reader: usize,
    ) -> Option<(usize, Constant)> {
        let is_alone = self.readers.get(name).is_some_and(|all| *all == [reader]);
        if !is_alone || self.outputs.contains(&name) {
            return None;
        }
        let places = self.readers.get(scale)?.iter();
        let mut nodes = places.filter_map(|&at| Some((at, self.model.nodes().nth(at)?)));
        let makes = |node: &Node<'_>| node.outputs().iter().any(|output| output == name);
        let (at, node) = nodes.find(|(_, node)| makes(node))?;
        let is_product = node.operator() == Some("Mul");
        let constant = self.constant_of(other(node, scale).filter(|_| is_product)?)?;
        Some((at, constant))
    }

    fn constant_of(&self, name: &str) -> Option<Constant> {
        match self.value(name).ok()? {
            Value::Constant(constant) => Some(constant),
            _ => None,
        }
    }
}

/// Returns the other one of a node's two inputs.
fn other<'a>(node: Node<'a>, name: &str) -> Option<&'a str> {
    match node.inputs() {
        [a, b] if a == name && b != name => Some(b),
        [a, b] if b == name && a != name => Some(a),
        _ => None,
    }
}

/// Returns `(integer − zero) · scale` of a matrix of bytes. Zeros and scales are single numbers or
/// one for each column. Returns `None` if the bytes cannot be recovered exactly from the results.
fn numbers(matrix: &Constant, zeros: Option<&Constant>, scales: &Constant) -> Option<Constant> {
    let &[_, columns] = matrix.dims.as_slice() else {
        return None;
    };
    let each = |of: &Constant| {
        let fits = of.values.len() == 1 && of.dims.len() <= 1 || of.dims == [columns];
        fits.then(|| of.to_floats())
    };
    let scales = each(scales)?;
    let zeros = zeros.map_or_else(|| Some(vec![0.0]), each)?;
    let integers = matrix.to_floats();
    let are_usual = scales.iter().all(|&scale| is_usual(scale));
    if !are_usual || !are_bytes(&integers, &zeros) {
        return None;
    }
    let of = |all: &[f32], column: usize| all[if all.len() == 1 { 0 } else { column }];
    let values = integers.into_iter().enumerate().map(|(n, integer)| {
        let column = n % columns;
        (integer - of(&zeros, column)) * of(&scales, column)
    });
    Some(Constant {
        dims: matrix.dims.clone(),
        values: Values::Floats(values.collect()),
    })
}

/// Returns the layer of integers that the second factor of `MatMulInteger` less its zeros is, if both are
/// constant.
pub(super) fn layer_of(inputs: &Inputs<'_>) -> Option<Dense> {
    let weights = inputs.constant(1).ok()??;
    let one = Constant {
        dims: Vec::new(),
        values: Values::Floats(vec![1.0].into()),
    };
    let matrix = numbers(weights, inputs.constant(3).ok()?, &one)?;
    Dense::new(&matrix, false, 1.0)
}

/// Returns whether a scale can be recovered from its multiples.
fn is_usual(scale: f32) -> bool {
    scale.is_normal() && scale.recip().is_normal() && (2.0 * MOST_APART * scale).is_finite()
}

/// Returns whether whole numbers and their zeros are bytes of one kind, signed or unsigned.
fn are_bytes(values: &[f32], zeros: &[f32]) -> bool {
    let all = |range: RangeInclusive<f32>| values.iter().chain(zeros).all(|v| range.contains(v));
    all(-128.0..=127.0) || all(0.0..=255.0)
}
