//! Convolutions in int8, plainly in integers: what the kernels must answer to the bit.

use divisi_runtime::network::{Conv2d, Graph, NodeId, Op, Shape, Sides, Weights};

use super::Net;

/// Values as bytes from 0 to 127, with their scale and zero point.
struct Bytes {
    scale: f32,
    zero_point: i32,
    values: Vec<i32>,
}

impl Bytes {
    fn of(values: &[f32]) -> Self {
        let low = values.iter().fold(0.0f32, |a, &b| a.min(b));
        let high = values.iter().fold(0.0f32, |a, &b| a.max(b));
        let stray = values.iter().any(|v| !v.is_finite());
        let scale = high / 127.0 - low / 127.0;
        let inverse = 1.0 / scale;
        if stray || !inverse.is_finite() {
            return Bytes {
                scale: if stray { f32::NAN } else { 0.0 },
                zero_point: 0,
                values: vec![0; values.len()],
            };
        }
        let round = |v: f32| (v * inverse).round_ties_even() as i32;
        let zero_point = round(-low).min(127);
        Bytes {
            scale,
            zero_point,
            values: values
                .iter()
                .map(|&v| (round(v) + zero_point).min(127))
                .collect(),
        }
    }
}

/// Weights of one output channel as bytes from -127 to 127, with their scale.
fn weight_bytes(values: &[f32]) -> (f32, Vec<i32>) {
    let most = values.iter().fold(0.0f32, |a, b| a.max(b.abs()));
    if values.iter().any(|v| !v.is_finite()) {
        return (f32::NAN, vec![0; values.len()]);
    }
    let scale = most / 127.0;
    let byte = |v: &f32| match scale > 0.0 {
        true => (v / scale).round_ties_even() as i32,
        false => 0,
    };
    (scale, values.iter().map(byte).collect())
}

/// A convolution, what is fused into it, and images that it reads.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub channels: usize,
    pub image: Sides,
    pub conv: Conv2d,
    /// A factor of the answer, which is folded into weights and bias.
    pub by: f32,
    pub residual: bool,
    pub relu: bool,
}

impl Case {
    pub(super) fn new(channels: usize, image: impl Into<Sides>, conv: Conv2d) -> Self {
        Case {
            channels,
            image: image.into(),
            conv,
            by: 1.0,
            residual: false,
            relu: false,
        }
    }

    pub(super) fn input(&self) -> Shape {
        Shape::image(self.channels, self.image.height, self.image.width)
    }

    /// The network; none where the kernel does not fit into the image.
    pub(super) fn graph(&self) -> Option<Graph> {
        let mut net = Net::new(self.input());
        let mut x = net.try_add(Op::Conv2d(self.conv), &[NodeId::INPUT])?;
        if self.by != 1.0 {
            x = net.add(Op::Scale { by: self.by }, &[x]);
        }
        if self.adds_input(&net, x) {
            x = net.add(Op::Add, &[x, NodeId::INPUT]);
        }
        if self.relu {
            net.add(Op::Relu, &[x]);
        }
        Some(net.build())
    }

    fn adds_input(&self, net: &Net, x: NodeId) -> bool {
        self.residual && net.0.shape(x) == self.input()
    }

    /// Whether each pixel has a scale of its own.
    fn is_pixelwise(&self) -> bool {
        self.conv.kernel.area() == 1 && self.conv.padding == Sides::square(0)
    }

    /// The input pixel of an output pixel under a tap, or none outside of the image.
    fn pixel(&self, [y, x]: [usize; 2], [ky, kx]: [usize; 2]) -> Option<usize> {
        let Conv2d {
            stride,
            dilation,
            padding,
            ..
        } = self.conv;
        let row = (y * stride + ky * dilation).checked_sub(padding.height)?;
        let column = (x * stride + kx * dilation).checked_sub(padding.width)?;
        let inside = row < self.image.height && column < self.image.width;
        inside.then_some(row * self.image.width + column)
    }

    /// Answers one sample, channels slowest, as its input is.
    pub(super) fn answer(&self, graph: &Graph, weights: &Weights, sample: &[f32]) -> Vec<f32> {
        let Shape::Image { height, width, .. } = graph.nodes()[0].shape else {
            unreachable!("a convolution makes images")
        };
        let raw = graph.values_of(0, "weight", weights);
        let bias = graph.values_of(0, "bias", weights);
        let area = self.image.area();
        let pixel =
            |p: usize| -> Vec<f32> { (0..self.channels).map(|c| sample[c * area + p]).collect() };
        let whole = Bytes::of(sample);
        let alone: Vec<Bytes> = (0..area).map(|p| Bytes::of(&pixel(p))).collect();
        let taps = self.conv.kernel.area();
        let mut answers = Vec::new();
        for filter in raw.chunks_exact(self.channels * taps) {
            let out = answers.len() / (height * width);
            let scaled: Vec<f32> = filter.iter().map(|w| w * self.by).collect();
            let (weight_scale, bytes) = weight_bytes(&scaled);
            for at in 0..height * width {
                let mut sum = 0i32;
                let mut scale = whole.scale;
                for tap in 0..taps {
                    let kernel = [tap / self.conv.kernel.width, tap % self.conv.kernel.width];
                    let Some(p) = self.pixel([at / width, at % width], kernel) else {
                        continue;
                    };
                    for c in 0..self.channels {
                        let (value, zero) = match self.is_pixelwise() {
                            true => (alone[p].values[c], alone[p].zero_point),
                            false => (whole.values[c * area + p], whole.zero_point),
                        };
                        sum += (value - zero) * bytes[c * taps + tap];
                    }
                    if self.is_pixelwise() {
                        scale = alone[p].scale;
                    }
                }
                let bias = bias.get(out).map_or(0.0, |b| b * self.by);
                answers.push(sum as f32 * weight_scale * scale + bias);
            }
        }
        if self.residual && answers.len() == sample.len() && graph.nodes()[0].shape == self.input()
        {
            answers.iter_mut().zip(sample).for_each(|(a, v)| *a += v);
        }
        if self.relu {
            answers
                .iter_mut()
                .for_each(|a| *a = if *a < 0.0 { 0.0 } else { *a });
        }
        answers
    }
}
