//! The computation of host steps, row by row.

use divisi_runtime::compute::resize_planes;

use super::condition::position_of_largest;
use super::host::HostStep;

impl HostStep {
    /// Computes a row of its result from rows of its inputs. An input is `None` if its row does not
    /// exist, which a combination and `first` allow. `dims` are the dimensions of the first input.
    pub(super) fn compute(&self, inputs: &[Option<&[f32]>], dims: &[usize], out: &mut [f32]) {
        let present = || inputs.iter().copied().flatten();
        let Some(first) = present().next() else {
            return out.fill(f32::NAN);
        };
        match self {
            HostStep::Mean => mean(present().map(|row| (1.0, row)), out),
            HostStep::WeightedMean { weights } => {
                let weighted = weights.iter().zip(inputs);
                mean(weighted.filter_map(|(w, row)| Some((*w, (*row)?))), out);
            }
            HostStep::Vote => {
                out.fill(0.0);
                let share = 1.0 / present().count() as f32;
                present().for_each(|row| out[position_of_largest(row)] += share);
            }
            HostStep::First => out.copy_from_slice(first),
            HostStep::Concat => {
                let mut rest = out;
                for row in present() {
                    let (here, later) = rest.split_at_mut(row.len());
                    here.copy_from_slice(row);
                    rest = later;
                }
            }
            HostStep::Softmax => {
                let last = dims.last().copied().unwrap_or(first.len()).max(1);
                out.copy_from_slice(first);
                out.chunks_mut(last).for_each(softmax);
            }
            HostStep::Sigmoid => map(first, out, |v| 1.0 / (1.0 + (-v).exp())),
            HostStep::ArgMax => out[0] = position_of_largest(first) as f32,
            HostStep::TopK { k } => top(first, *k, out),
            HostStep::Threshold { at } => map(first, out, |v| f32::from(u8::from(v >= *at))),
            HostStep::Normalise { scale, mean, std } => {
                let channels = mean.len().max(std.len());
                let plane = first.len() / channels.max(1);
                let at = |each: &[f32], channel: usize| each[channel.min(each.len() - 1)];
                for (channel, (from, to)) in first
                    .chunks(plane.max(1))
                    .zip(out.chunks_mut(plane.max(1)))
                    .enumerate()
                {
                    let (mean, std) = (at(mean, channel), at(std, channel));
                    map(from, to, |v| (v * scale - mean) / std);
                }
            }
            HostStep::Resize { height, width } => {
                if let [_, rows, columns] = dims {
                    resize_planes((*rows, *columns), (*height, *width), first, out);
                }
            }
        }
    }
}

fn map(from: &[f32], to: &mut [f32], of: impl Fn(f32) -> f32) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = of(*from);
    }
}

/// The weighted mean of rows, in float64 so that their order does not matter.
fn mean<'a>(rows: impl Iterator<Item = (f32, &'a [f32])> + Clone, out: &mut [f32]) {
    let total: f64 = rows.clone().map(|(weight, _)| f64::from(weight)).sum();
    for (at, out) in out.iter_mut().enumerate() {
        let values = rows
            .clone()
            .map(|(w, row)| f64::from(w) * f64::from(row[at]));
        *out = (values.sum::<f64>() / total) as f32;
    }
}

fn softmax(row: &mut [f32]) {
    let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for value in row.iter_mut() {
        *value = (*value - most).exp();
        sum += *value;
    }
    row.iter_mut().for_each(|value| *value /= sum);
}

/// Writes the `k` largest values in descending order, then their positions. Equal values keep their
/// order.
fn top(row: &[f32], k: usize, out: &mut [f32]) {
    let mut order: Vec<usize> = (0..row.len()).collect();
    order.sort_by(|a, b| row[*b].total_cmp(&row[*a]).then(a.cmp(b)));
    let (values, positions) = out.split_at_mut(k);
    for ((value, position), at) in values.iter_mut().zip(positions).zip(order) {
        (*value, *position) = (row[at], at as f32);
    }
}
