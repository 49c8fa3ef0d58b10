//! Puts the separate windows of an image back, and sums their overlaps: `Col2Im`.

use super::inputs::{Added, Inputs, unsupported};
use crate::network::Binary;
use crate::onnx::activation::{Activation, Value};
use crate::onnx::error::NodeFault;
use crate::onnx::node::Node;
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::shapes::sizes;
use crate::onnx::tensor::{Constant, Values};

/// The most positions of a window; the values of each position are moved separately.
const MOST_TAPS: usize = 64;

/// Adds the images `[1, channels, height, width]` of columns
/// `[1, channels * window, windows]`.
pub(super) fn image<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let x = network.input(node, inputs, 0)?;
    let columns = ImageColumns::read(node, [pair(inputs, 1)?, pair(inputs, 2)?])?;
    let taps: usize = columns.window.iter().product();
    let [height, width] = columns.size;
    let wrong = || {
        let why = format!("columns of {:?} do not fit {columns:?}", x.dims());
        Refusal::Fault(NodeFault::Shapes(why))
    };
    let &[1, rows, windows] = x.dims() else {
        return Err(wrong());
    };
    if taps > MOST_TAPS {
        return unsupported(format!("windows of more than {MOST_TAPS} positions"));
    }
    if rows % taps != 0 || columns.windows().and_then(|[a, b]| a.checked_mul(b)) != Some(windows) {
        return Err(wrong());
    }
    let channels = rows / taps;
    network
        .fold_budget
        .spend(height.saturating_mul(width).saturating_mul(taps))?;
    let each = network.reshaped(node, &x, &[channels, taps, windows])?;
    let nothing = Constant {
        dims: vec![channels, 1],
        values: Values::Floats(vec![0.0; channels].into()),
    };
    let nothing = network.operand(node, &Value::Constant(nothing))?;
    let mut sum: Option<Activation> = None;
    for tap in 0..taps {
        let own = network.slice(node, &each, 1, tap, 1, 1)?;
        let own = network.reshaped(node, &own, &[channels, windows])?;
        let own = network.join(node, &[own, nothing.clone()], 1)?;
        let from = columns.windows_of(tap).map(|n| n.unwrap_or(windows) as i64);
        let own = network.take(node, &own, 1, &Constant::integers(from.collect()))?;
        sum = Some(match sum {
            Some(sum) => network.pair(node, Binary::Add, &sum, &own)?,
            None => own,
        });
    }
    let sum = sum.ok_or_else(wrong)?;
    network.reshaped(node, &sum, &[1, channels, height, width])
}

/// Returns a height and a width that the file holds.
fn pair(inputs: &Inputs<'_>, n: usize) -> Result<[usize; 2], Refusal> {
    let given = sizes(inputs.constant(n)?.ok_or(NodeFault::NoInput(n))?)?;
    match given[..] {
        [height, width] if [height, width].iter().all(|s| (1..1 << 24).contains(s)) => {
            Ok([height, width])
        }
        _ => unsupported(format!("expected a height and a width, found {given:?}")),
    }
}

/// The places of windows in an image.
#[derive(Debug)]
struct ImageColumns {
    size: [usize; 2],
    window: [usize; 2],
    strides: [usize; 2],
    dilations: [usize; 2],
    /// At the top, left, bottom and right.
    pads: [usize; 4],
}

impl ImageColumns {
    fn read(node: Node<'_>, [size, window]: [[usize; 2]; 2]) -> Result<Self, Refusal> {
        Ok(ImageColumns {
            size,
            window,
            strides: node.sizes("strides", 1, 1)?,
            dilations: node.sizes("dilations", 1, 1)?,
            pads: node.sizes("pads", 0, 0)?,
        })
    }

    /// Returns how many windows there are along each axis, or `None` if the first does not fit.
    fn windows(&self) -> Option<[usize; 2]> {
        let along = |axis: usize| {
            let reach = (self.window[axis] - 1).checked_mul(self.dilations[axis])? + 1;
            let padded = self.size[axis] + self.pads[axis] + self.pads[axis + 2];
            Some(padded.checked_sub(reach)? / self.strides[axis] + 1)
        };
        Some([along(0)?, along(1)?])
    }

    /// Returns for each pixel the window that has it at position `tap`, or `None` if no window
    /// does.
    fn windows_of(&self, tap: usize) -> impl Iterator<Item = Option<usize>> {
        let taps = [tap / self.window[1], tap % self.window[1]];
        let counts = self.windows().unwrap_or([0; 2]);
        let along = move |axis: usize, pixel: usize| {
            let start = (pixel + self.pads[axis]).checked_sub(taps[axis] * self.dilations[axis])?;
            let window = start / self.strides[axis];
            (start % self.strides[axis] == 0 && window < counts[axis]).then_some(window)
        };
        (0..self.size[0]).flat_map(move |line| {
            let row = along(0, line);
            (0..self.size[1]).map(move |pixel| Some(row? * counts[1] + along(1, pixel)?))
        })
    }
}
