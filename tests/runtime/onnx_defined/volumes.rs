//! Convolutions over volumes.

use super::{check, network};
use crate::made_onnx::Attribute::{Integer, Integers};
use crate::made_onnx::MadeModel;

/// Weights of a convolution over volumes, `[4, of a group, …]`.
fn kernel(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i % 7) as f32 - 3.0).collect()
}

/// Returns a convolution over a volume `[channels, depth, height, width]`, by its definition.
fn convolved(x: &[f32], sizes: [usize; 4], by: &VolumeKernel) -> Vec<f32> {
    let [channels, d, h, w] = sizes;
    let own = channels / by.groups;
    let side = |axis: usize| {
        let padded = [d, h, w][axis] + 2 * by.pads[axis];
        (padded - by.window[axis]) / by.strides[axis] + 1
    };
    let mut all = Vec::new();
    for out in 0..VolumeKernel::CHANNELS {
        let group = out / (VolumeKernel::CHANNELS / by.groups);
        for place in 0..side(0) * side(1) * side(2) {
            let at = [
                place / side(2) / side(1),
                place / side(2) % side(1),
                place % side(2),
            ];
            let mut sum = out as f32;
            for tap in 0..own * by.window.iter().product::<usize>() {
                let [_, kh, kw] = by.window;
                let taps = [tap / kw / kh % by.window[0], tap / kw % kh, tap % kw];
                let from = |axis: usize| {
                    let at =
                        (at[axis] * by.strides[axis] + taps[axis]).checked_sub(by.pads[axis])?;
                    (at < [d, h, w][axis]).then_some(at)
                };
                if let (Some(z), Some(y), Some(q)) = (from(0), from(1), from(2)) {
                    let channel = group * own + tap / kw / kh / by.window[0];
                    let weights = own * by.window.iter().product::<usize>();
                    sum += x[((channel * d + z) * h + y) * w + q] * kernel(64)[out * weights + tap];
                }
            }
            all.push(sum);
        }
    }
    all
}

struct VolumeKernel {
    window: [usize; 3],
    strides: [usize; 3],
    pads: [usize; 3],
    groups: usize,
}

impl VolumeKernel {
    const CHANNELS: usize = 4;

    fn file(&self, sizes: [usize; 4], answer: [usize; 4]) -> Vec<u8> {
        let longs = |of: &[usize]| of.iter().map(|v| *v as i64).collect::<Vec<_>>();
        let dims = [&[Self::CHANNELS, sizes[0] / self.groups], &self.window[..]].concat();
        let pads = [self.pads, self.pads].concat();
        let how = [
            ("strides", Integers(&longs(&self.strides))),
            ("pads", Integers(&longs(&pads))),
            ("group", Integer(self.groups as i64)),
        ];
        MadeModel::default()
            .floats("weights", &dims, &kernel(dims.iter().product()))
            .floats("bias", &[4], &[0.0, 1.0, 2.0, 3.0])
            .node_with("Conv", &["x", "weights", "bias"], &["y"], &how)
            .file(&sizes, &answer)
    }
}

#[test]
fn a_window_of_one_position_along_two_axes_of_a_volume_keeps_its_weights() {
    let sizes = [2, 3, 4, 5];
    let x: Vec<f32> = (0..120).map(|i| ((i * 31) % 17) as f32 - 8.0).collect();
    for window in [[1, 1, 1], [3, 1, 1], [1, 3, 1], [1, 1, 3]] {
        for (strides, pads) in [
            ([1, 1, 1], [0, 0, 0]),
            ([2, 1, 2], [1, 0, 1]),
            ([1, 2, 1], [1, 1, 1]),
        ] {
            for groups in [1, 2] {
                let by = VolumeKernel {
                    window,
                    strides,
                    pads,
                    groups,
                };
                let side = |axis: usize| {
                    (sizes[axis + 1] + 2 * pads[axis] - window[axis]) / strides[axis] + 1
                };
                let file = by.file(sizes, [4, side(0), side(1), side(2)]);
                let weights = 4 * 2 / groups * window.iter().product::<usize>() + 4;
                let made = network(file.clone());
                assert_eq!(made.graph.parameter_count(), weights as u64, "{window:?}");
                let name = format!("{window:?} {strides:?} {pads:?} in {groups}");
                check(&name, file, &x, &convolved(&x, sizes, &by));
            }
        }
    }
}

#[test]
fn a_stack_of_points_over_a_volume_is_not_refused_for_its_copies() {
    let side = 64;
    let weights = vec![0.5; 128 * 128];
    let dims = [128, 128, 1, 1, 1];
    let names: Vec<String> = (0..9).map(|n| format!("v{n}")).collect();
    let mut made = MadeModel::default().node("Neg", &["x"], &["v0"]);
    for n in 0..8 {
        let own = format!("w{n}");
        made = made.floats(&own, &dims, &weights);
        made = made.node("Conv", &[&names[n], &own], &[&names[n + 1]]);
    }
    let sample = [128, 2, side, side];
    let made = made.node("Neg", &["v8"], &["y"]).file(&sample, &sample);
    let count = network(made).graph.parameter_count();
    assert_eq!(count, 8 * 128 * 128);
}
