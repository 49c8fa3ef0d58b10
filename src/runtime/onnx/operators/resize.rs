//! Images and other tensors in another size: nearest values, or sums of some neighbours along one axis
//! after the other.

use super::dense::Dense;
use super::inputs::{Added, Inputs, image, pixels, unsupported};
use crate::network::{Binary, Op};
use crate::onnx::activation::Activation;
use crate::onnx::error::NodeFault;
use crate::onnx::node::{Node, axis};
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::shapes::bounded;
use crate::onnx::tensor::{Constant, Values};

/// The size of an axis in the answer, and how many positions of it are one of the input.
#[derive(Clone, Copy, PartialEq)]
struct AxisSize {
    size: usize,
    scale: f64,
}

/// `Resize`, and `Upsample` before opset 10.
pub(super) fn resize<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let targets = targets(node, inputs, x.dims())?;
    let attributes = Attributes::new(node)?;
    let whole = |t: &AxisSize, size: usize| t.size as f64 == size as f64 * t.scale;
    let exact = targets
        .iter()
        .zip(x.dims())
        .all(|(t, size)| whole(t, *size));
    if let (&[1, c, ..], [_, of_channels, h, w]) = (x.dims(), targets.as_slice())
        && attributes.is_bilinear()
        && [h, w].iter().all(|t| t.size > 1)
        && exact
        && of_channels.size == c
        && x.dims().len() == 4
    {
        let (picture, _) = pixels(network, node, &x)?;
        let op = Op::Upscale {
            height: h.size,
            width: w.size,
        };
        return image(network, node, &picture, op, Vec::new());
    }
    let mut all = x.clone();
    for (axis, target) in targets.iter().enumerate() {
        let size = x.dims()[axis];
        if *target == (AxisSize { size, scale: 1.0 }) {
            continue;
        }
        all = match attributes.filter {
            Filter::Nearest => {
                let at = attributes.nearest(size, *target)?;
                network.take(node, &all, axis, &Constant::integers(at))?
            }
            _ => {
                let values = size.saturating_mul(target.size);
                network.fold_budget.spend(values)?;
                let weights = attributes.weights(size, *target)?;
                match Neighbours::from_weights(&weights, size) {
                    Some(near) => summed(network, node, &all, axis, near)?,
                    None => mixed(network, node, &all, axis, weights, target.size)?,
                }
            }
        };
    }
    Ok(all)
}

/// The most neighbours summed for one position. For more, the weights of all positions form a
/// product.
const MOST_NEIGHBOURS: usize = 16;

/// For each position of the answer, positions of the input and their weights: the first neighbour
/// of all positions, then the second, and so on.
struct Neighbours(Vec<(Vec<i64>, Vec<f32>)>);

impl Neighbours {
    /// Returns the neighbours that count by weights `[answer, input]`, or `None` if they are too many.
    /// Leaves out positions of weight 0: 0 times an infinity would be NaN.
    fn from_weights(weights: &[f32], size: usize) -> Option<Self> {
        let each = weights.chunks_exact(size).map(|row| {
            let counting = row.iter().enumerate().filter(|(_, weight)| **weight != 0.0);
            counting.map(|(at, weight)| (at as i64, *weight)).collect()
        });
        let mut each: Vec<Vec<(i64, f32)>> = each.collect();
        let most = each.iter().map(Vec::len).max().unwrap_or(0);
        if !(1..=MOST_NEIGHBOURS).contains(&most) {
            return None;
        }
        each.iter_mut().for_each(|row| halve_up_to(row, most));
        let nth = |n: usize| {
            each.iter()
                .filter_map(move |row| row.get(n).copied())
                .unzip()
        };
        Some(Neighbours((0..most).map(nth).collect()))
    }
}

/// Divides the last neighbour until there are `count`, which changes no sum.
fn halve_up_to(row: &mut Vec<(i64, f32)>, count: usize) {
    while row.len() < count {
        let (at, weight) = row.pop().unwrap_or((0, 0.0));
        row.extend([(at, weight / 2.0); 2]);
    }
}

/// Adds sums of neighbours along an axis.
fn summed<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
    along: usize,
    Neighbours(each): Neighbours,
) -> Added {
    let mut sum: Option<Activation> = None;
    for (positions, weights) in each {
        let own = network.take(node, x, along, &Constant::integers(positions))?;
        let mut dims = vec![1; x.dims().len()];
        dims[along] = weights.len();
        let values = Values::Floats(weights.into());
        let own = network.with(node, Binary::Mul, &own, &Constant { dims, values }, false)?;
        sum = Some(match sum {
            Some(sum) => network.pair(node, Binary::Add, &sum, &own)?,
            None => own,
        });
    }
    sum.map_or_else(|| unsupported("no values"), Ok)
}

/// Adds the product of an axis with weights `[features, positions]`.
fn mixed<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    x: &Activation,
    along: usize,
    values: Vec<f32>,
    features: usize,
) -> Added {
    let mut order: Vec<usize> = (0..x.dims().len()).filter(|a| *a != along).collect();
    order.push(along);
    let dense = Dense {
        values: values.into(),
        bias: None,
        inputs: x.dims()[along],
        features,
    };
    let made = dense.add(network, node, &x.transposed(&order))?;
    Ok(made.transposed_back(&order))
}

/// Reads scales or sizes.
fn targets(node: Node<'_>, inputs: &Inputs<'_>, dims: &[usize]) -> Result<Vec<AxisSize>, Refusal> {
    let (at_scales, at_sizes) = match node.operator() == Some("Upsample") || node.opset < 11 {
        true => (1, usize::MAX),
        false => (2, 3),
    };
    let axes: Vec<usize> = match node.integers("axes") {
        Some(axes) => axes
            .iter()
            .map(|a| axis(*a, dims.len()))
            .collect::<Result<_, _>>()?,
        None => (0..dims.len()).collect(),
    };
    let wrong = || NodeFault::Shapes("expected one scale or size for each axis".into());
    let attribute = node.attribute("scales").map(|a| a.floats.clone());
    let scales = match attribute {
        Some(scales) => Some(scales),
        None if inputs.has(at_scales) => inputs.constant(at_scales)?.map(Constant::to_floats),
        None => None,
    };
    let mut targets: Vec<AxisSize> = dims
        .iter()
        .map(|&size| AxisSize { size, scale: 1.0 })
        .collect();
    if let Some(scales) = scales.filter(|s| !s.is_empty()) {
        if scales.len() != axes.len() || !scales.iter().all(|s| s.is_finite() && *s > 0.0) {
            return Err(wrong().into());
        }
        for (&axis, &scale) in axes.iter().zip(&scales) {
            let scale = f64::from(scale);
            let size = (dims[axis] as f64 * scale).floor() as usize;
            targets[axis] = AxisSize { size, scale };
        }
    } else {
        let sizes = inputs
            .integers(at_sizes)?
            .ok_or(NodeFault::NoInput(at_sizes))?;
        if sizes.len() != axes.len() || !sizes.iter().all(|s| (1..1 << 24).contains(s)) {
            return Err(wrong().into());
        }
        let ratio = |(&axis, &size): (&usize, &i64)| size as f64 / dims[axis] as f64;
        let ratios: Vec<f64> = axes.iter().zip(sizes).map(ratio).collect();
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let most = ratios.iter().copied().fold(0.0, f64::max);
        let common = match node.text("keep_aspect_ratio_policy") {
            Some(b"not_larger") => Some(least),
            Some(b"not_smaller") => Some(most),
            _ => None,
        };
        for ((&axis, &size), &ratio) in axes.iter().zip(sizes).zip(&ratios) {
            targets[axis] = match common {
                None => AxisSize {
                    size: size as usize,
                    scale: ratio,
                },
                Some(scale) => AxisSize {
                    size: (dims[axis] as f64 * scale).round() as usize,
                    scale,
                },
            };
        }
    }
    // Checked before the positions are computed, because there may be as many of them.
    let mut sizes = targets.iter().map(|t| t.size);
    sizes.try_fold(1, |all, size| bounded(all, size).map(|()| all * size))?;
    match targets.iter().all(|t| (1..1 << 24).contains(&t.size)) {
        true => Ok(targets),
        false => unsupported("its answer is empty or too large"),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Filter {
    Nearest,
    Linear,
    Cubic,
}

/// How positions and values are found.
struct Attributes<'a> {
    filter: Filter,
    coordinates: &'a [u8],
    rounding: &'a [u8],
    cubic: f64,
    outside: bool,
    antialias: bool,
}

impl<'a> Attributes<'a> {
    fn new(node: Node<'a>) -> Result<Self, Refusal> {
        let old = node.operator() == Some("Upsample") || node.opset < 11;
        let filter = match node.text("mode").unwrap_or(b"nearest") {
            b"nearest" => Filter::Nearest,
            b"linear" | b"bilinear" => Filter::Linear,
            b"cubic" => Filter::Cubic,
            other => return unsupported(format!("mode {}", String::from_utf8_lossy(other))),
        };
        let coordinates: &[u8] = match old {
            true => b"asymmetric",
            false => node
                .text("coordinate_transformation_mode")
                .unwrap_or(b"half_pixel"),
        };
        let rounding: &[u8] = match old {
            true => b"floor",
            false => node.text("nearest_mode").unwrap_or(b"round_prefer_floor"),
        };
        Ok(Attributes {
            filter,
            coordinates,
            rounding,
            cubic: f64::from(node.float("cubic_coeff_a").unwrap_or(-0.75)),
            outside: node.integer("exclude_outside") != Some(1),
            antialias: node.integer("antialias") == Some(1),
        })
    }

    fn is_bilinear(&self) -> bool {
        let half = matches!(self.coordinates, b"half_pixel" | b"pytorch_half_pixel");
        self.filter == Filter::Linear && half && !self.antialias
    }

    /// Returns the position in the input of each one of the answer. They are computed in float32
    /// as ONNX Runtime's, since rounding decides which value is nearest.
    fn places(&self, from: usize, to: AxisSize) -> Result<Vec<f64>, Refusal> {
        let (inside, size, scale) = (from as f32, to.size as f32, to.scale as f32);
        let place = |i: usize| {
            let i = i as f32;
            Some(match self.coordinates {
                b"half_pixel" => (i + 0.5) / scale - 0.5,
                b"pytorch_half_pixel" if to.size == 1 => 0.0,
                b"pytorch_half_pixel" => (i + 0.5) / scale - 0.5,
                b"half_pixel_symmetric" => {
                    let adjustment = size / (scale * inside);
                    inside / 2.0 * (1.0 - adjustment) + (i + 0.5) / scale - 0.5
                }
                b"asymmetric" => i / scale,
                b"align_corners" if to.size == 1 => 0.0,
                b"align_corners" => i * (inside - 1.0) / (size - 1.0),
                _ => return None,
            })
        };
        let places = (0..to.size).map(|i| place(i).map(f64::from));
        let places: Option<Vec<f64>> = places.collect();
        let mode = String::from_utf8_lossy(self.coordinates);
        places.map_or_else(
            || unsupported(format!("coordinate_transformation_mode {mode}")),
            Ok,
        )
    }

    fn nearest(&self, from: usize, to: AxisSize) -> Result<Vec<i64>, Refusal> {
        let round = |x: f64| match self.rounding {
            b"floor" => x.floor(),
            b"ceil" => x.ceil(),
            b"round_prefer_ceil" => x.round(),
            _ => (x - 0.5).ceil(),
        };
        let places = self.places(from, to)?.into_iter();
        let last = from as f64 - 1.0;
        Ok(places.map(|x| round(x).clamp(0.0, last) as i64).collect())
    }

    /// Returns how much each position counts for each one of the answer, `[answer, input]`.
    fn weights(&self, from: usize, to: AxisSize) -> Result<Vec<f32>, Refusal> {
        let mut all = vec![0.0f32; from * to.size];
        let narrow = match self.antialias {
            true => to.scale.min(1.0),
            false => 1.0,
        };
        let reach = if self.filter == Filter::Cubic {
            2.0
        } else {
            1.0
        } / narrow;
        for (x, row) in self
            .places(from, to)?
            .into_iter()
            .zip(all.chunks_exact_mut(from))
        {
            let taps = (x - reach).floor() as i64 + 1..=(x + reach).ceil() as i64 - 1;
            let counts = |i: &i64| self.outside || (0..from as i64).contains(i);
            let weight = |i: i64| (i, self.share((i as f64 - x) * narrow));
            let mut taps: Vec<(i64, f64)> = taps.filter(counts).map(weight).collect();
            if taps.is_empty() {
                taps.push((x.round() as i64, 1.0));
            }
            let sum: f64 = taps.iter().map(|t| t.1).sum();
            for (i, weight) in taps {
                let at = i.clamp(0, from as i64 - 1) as usize;
                row[at] += (weight / sum) as f32;
            }
        }
        Ok(all)
    }

    /// Returns how much a position counts at a distance.
    fn share(&self, distance: f64) -> f64 {
        let (d, a) = (distance.abs(), self.cubic);
        match self.filter {
            Filter::Cubic if d <= 1.0 => ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0,
            Filter::Cubic if d < 2.0 => (((d - 5.0) * d + 8.0) * d - 4.0) * a,
            Filter::Cubic => 0.0,
            _ => (1.0 - d).max(0.0),
        }
    }
}
