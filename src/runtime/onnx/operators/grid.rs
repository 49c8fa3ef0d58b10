//! Values of images at computed places: `GridSample`.

use super::gather::gathered;
use super::inputs::{Added, Inputs, unsupported};
use super::select::exact_positions;
use crate::network::{Binary, Unary};
use crate::onnx::activation::Activation;
use crate::onnx::error::NodeFault;
use crate::onnx::node::Node;
use crate::onnx::partial::{PartialNetwork, Refusal};
use crate::onnx::tensor::Constant;

/// Adds the values of images `[n, channels, height, width]` at the places
/// `[n, lines, columns, 2]`, which are from -1 to 1 along the width and the height.
pub(super) fn sample<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    inputs: &Inputs<'_>,
) -> Added {
    let how = Sampling::new(node)?;
    let x = network.input(node, inputs, 0)?;
    let grid = network.input(node, inputs, 1)?;
    let why = || format!("places of {:?} do not fit {:?}", grid.dims(), x.dims());
    let (&[n, channels, height, width], &[same, lines, columns, 2]) = (x.dims(), grid.dims())
    else {
        return unsupported(why());
    };
    if n != same {
        return Err(NodeFault::Shapes(why()).into());
    }
    exact_positions(n.saturating_mul(height).saturating_mul(width))?;
    let across = how.taps(network, node, &grid, 0, width)?;
    let down = how.taps(network, node, &grid, 1, height)?;
    let pixels = x.transposed(&[0, 2, 3, 1]);
    let pixels = network.reshaped(node, &pixels, &[n * height * width, channels])?;
    let pixels = network.in_order(node, &pixels, &[0, 1])?;
    let mut starts = Constant::integers((0..n).map(|i| (i * height * width) as i64).collect());
    starts.dims = vec![n, 1, 1, 1];
    let places = n * lines * columns;
    let mut sum: Option<Activation> = None;
    for row in &down {
        let row_at = network.with_number(node, Binary::Mul, &row.at, width as f32, false)?;
        let row_at = network.with(node, Binary::Add, &row_at, &starts, false)?;
        for column in &across {
            let at = network.pair(node, Binary::Add, &row_at, &column.at)?;
            let at = network.reshaped(node, &at, &[places])?;
            let values = gathered(network, node, &pixels, &at, 0)?;
            let values = shared(network, node, values, [row, column])?;
            sum = Some(match sum {
                Some(sum) => network.pair(node, Binary::Add, &sum, &values)?,
                None => values,
            });
        }
    }
    let sum = sum.map_or_else(|| unsupported("no values"), Ok)?;
    let made = network.reshaped(node, &sum, &[n, lines, columns, channels])?;
    Ok(made.transposed(&[0, 3, 1, 2]))
}

/// How values between pixels, and outside the image, are made.
struct Sampling {
    is_linear: bool,
    /// Outside is the nearest pixel of the border, else 0.
    by_border: bool,
    /// -1 and 1 are the centres of the outermost pixels, else their outer edges.
    align_corners: bool,
}

/// A pixel along one axis for each place.
struct GridPixel {
    /// Positions within the axis.
    at: Activation,
    /// The share of the pixel, or `None` if it counts wholly.
    weight: Option<Activation>,
    /// Whether the pixel lies inside the image, or `None` if it always does.
    inside: Option<Activation>,
}

/// Returns the product of two optional values, or the one that exists.
fn product_of_present<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    [a, b]: [Option<&Activation>; 2],
) -> Result<Option<Activation>, Refusal> {
    match (a, b) {
        (Some(a), Some(b)) => network.pair(node, Binary::Mul, a, b).map(Some),
        (a, b) => Ok(a.or(b).cloned()),
    }
}

/// Adds the shares of values `[places, channels]` of pixels. Pixels without a share or outside of
/// the image count 0, whatever value their place holds.
fn shared<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    values: Activation,
    [row, column]: [&GridPixel; 2],
) -> Added {
    let places = values.dims()[0];
    let mut made = values;
    let weight = product_of_present(
        network,
        node,
        [&row.weight, &column.weight].map(Option::as_ref),
    )?;
    if let Some(weight) = weight {
        let weight = network.reshaped(node, &weight, &[places, 1])?;
        let product = network.pair(node, Binary::Mul, &made, &weight)?;
        made = network.where_else(node, &weight, &product, 0.0)?;
    }
    match product_of_present(
        network,
        node,
        [&row.inside, &column.inside].map(Option::as_ref),
    )? {
        Some(inside) => {
            let inside = network.reshaped(node, &inside, &[places, 1])?;
            network.where_else(node, &inside, &made, 0.0)
        }
        None => Ok(made),
    }
}

impl Sampling {
    fn new(node: Node<'_>) -> Result<Self, Refusal> {
        let text = |name, default| node.text(name).unwrap_or(default);
        let is_linear = match text("mode", b"linear") {
            b"linear" | b"bilinear" => true,
            b"nearest" => false,
            other => {
                let other = String::from_utf8_lossy(other);
                return unsupported(format!("interpolation mode {other}"));
            }
        };
        let by_border = match text("padding_mode", b"zeros") {
            b"zeros" => false,
            b"border" => true,
            other => {
                let other = String::from_utf8_lossy(other);
                return unsupported(format!("padding mode {other}"));
            }
        };
        Ok(Sampling {
            is_linear,
            by_border,
            align_corners: node.integer("align_corners") == Some(1),
        })
    }

    /// Adds the pixels that count along one axis, of `size` pixels, whose places are the
    /// coordinate `number` of the grid.
    fn taps<'a>(
        &self,
        network: &mut PartialNetwork<'a>,
        node: Node<'a>,
        grid: &Activation,
        number: usize,
        size: usize,
    ) -> Result<Vec<GridPixel>, Refusal> {
        let place = network.slice(node, grid, 3, number, 1, 1)?;
        let place = self.pixels(network, node, &place, size)?;
        if !self.is_linear {
            let nearest = network.unary(node, Unary::Round, &place)?;
            return Ok(vec![self.tap(network, node, nearest, None, size)?]);
        }
        let low = network.unary(node, Unary::Floor, &place)?;
        let more = network.pair(node, Binary::Sub, &place, &low)?;
        let less = network.with_number(node, Binary::Sub, &more, 1.0, true)?;
        let high = network.with_number(node, Binary::Add, &low, 1.0, false)?;
        Ok(vec![
            self.tap(network, node, low, Some(less), size)?,
            self.tap(network, node, high, Some(more), size)?,
        ])
    }

    /// Adds places in pixels, the first pixel's centre at 0.
    fn pixels<'a>(
        &self,
        network: &mut PartialNetwork<'a>,
        node: Node<'a>,
        place: &Activation,
        size: usize,
    ) -> Added {
        let (reach, back) = match self.align_corners {
            true => (size as f32 - 1.0, 0.0),
            false => (size as f32, 0.5),
        };
        let place = network.with_number(node, Binary::Add, place, 1.0, false)?;
        let place = network.with_number(node, Binary::Mul, &place, reach / 2.0, false)?;
        let place = network.with_number(node, Binary::Sub, &place, back, false)?;
        match self.by_border {
            true => clamped(network, node, &place, size),
            false => Ok(place),
        }
    }

    fn tap<'a>(
        &self,
        network: &mut PartialNetwork<'a>,
        node: Node<'a>,
        at: Activation,
        weight: Option<Activation>,
        size: usize,
    ) -> Result<GridPixel, Refusal> {
        let near = clamped(network, node, &at, size)?;
        let inside = match self.by_border {
            true => None,
            false => Some(network.pair(node, Binary::Equal, &near, &at)?),
        };
        Ok(GridPixel {
            at: near,
            weight,
            inside,
        })
    }
}

/// Adds the nearest positions within an axis of `size`.
fn clamped<'a>(
    network: &mut PartialNetwork<'a>,
    node: Node<'a>,
    at: &Activation,
    size: usize,
) -> Added {
    let at = network.with_number(node, Binary::Max, at, 0.0, false)?;
    network.with_number(node, Binary::Min, &at, size as f32 - 1.0, false)
}
