//! Steps on tensors in host memory: each kernel's definition, value by value.

use divisi_runtime::compute::gpu::{
    AttentionWork, Axes, LookupWork, MapFunction, OperandSource, Precision, ScanWork, ShareGuard,
    StepArrays, Strided, TensorOperand, TensorWork,
};
use divisi_runtime::compute::reference::{of_one, of_two};
use divisi_runtime::network::{MAX_RANK, Reduction};

use super::{Emulated, EmulatedArena, softmax_row};

/// The memory that the operands of a step are read from.
struct RowOperands<'a> {
    of: &'a Emulated,
    arrays: &'a StepArrays,
    arena: &'a EmulatedArena,
    row: usize,
}

impl RowOperands<'_> {
    /// Returns the value of an operand `far` values after the first value of its row.
    fn read(&self, from: &TensorOperand, far: usize) -> f32 {
        let at = self.row * from.row + far;
        match from.source {
            OperandSource::Value(place) => self.arena.place(place)[at],
            OperandSource::Parameters => {
                let first = self.arrays.values.unwrap_or(0);
                self.of.number(first, at, Precision::F32)
            }
        }
    }

    fn value(&self, from: &TensorOperand, index: &[usize]) -> f32 {
        self.read(from, far(&from.at, index))
    }

    fn table(&self, index: usize) -> f32 {
        let first = self.arrays.filters.unwrap_or(0);
        self.of.number(first, index, self.of.plan.precision)
    }

    fn scale(&self) -> f32 {
        let first = self.arrays.scale.unwrap_or(0);
        self.of.number(first, 0, Precision::F32)
    }
}

/// Returns how many values before a position there are.
fn far(of: &Strided, index: &[usize]) -> usize {
    let steps = index.iter().enumerate();
    of.offset + steps.map(|(axis, i)| i * of.stride(axis)).sum::<usize>()
}

/// Returns the distance of a position along the given strides.
fn along(strides: &[usize], index: &[usize]) -> usize {
    strides
        .iter()
        .zip(index)
        .map(|(stride, i)| stride * i)
        .sum()
}

/// Returns position number `number` of some sizes, the last axis fastest.
fn position(sizes: &[usize], mut number: usize) -> Vec<usize> {
    let mut index = vec![0; sizes.len()];
    for (axis, size) in sizes.iter().enumerate().rev() {
        (index[axis], number) = (number % size, number / size);
    }
    index
}

/// Iterates over all positions of some sizes.
fn positions(sizes: &[usize]) -> impl Iterator<Item = Vec<usize>> + '_ {
    let count = sizes.iter().product::<usize>();
    (0..count).map(move |number| position(sizes, number))
}

/// Values with the places that they are written to, from the first one of the row on.
type RowAnswer = Vec<(usize, f32)>;

impl Emulated {
    pub(super) fn run_tensor(
        &self,
        work: &TensorWork,
        arrays: &StepArrays,
        arena: &mut EmulatedArena,
    ) {
        let to = *work.output();
        for row in 0..arena.rows {
            let operands = RowOperands {
                of: self,
                arrays,
                arena,
                row,
            };
            let made = made(&operands, work);
            if let OperandSource::Value(place) = to.source {
                let buffer = arena.place_mut(place);
                for (at, value) in made {
                    buffer[row * to.row + at] = self.rounded(value, to.wide);
                }
            }
        }
    }
}

/// Returns the answer of a step for one row.
fn made(operands: &RowOperands<'_>, work: &TensorWork) -> RowAnswer {
    match work {
        TensorWork::Map { function, from, to } => {
            let tensors: Vec<Strided> = from.iter().chain([to]).map(|o| o.at).collect();
            let axes = Axes::merged(&tensors, to.at.rank(), MAX_RANK);
            let all: Vec<_> = (0..axes.positions())
                .map(|n| position(&axes.sizes, n))
                .collect();
            let far = |of: &TensorOperand, n: usize, index: &[usize]| {
                of.at.offset + along(&axes.strides[n], index)
            };
            let operand = |(n, of): (usize, &TensorOperand)| -> Vec<f32> {
                let each = all.iter().map(|index| operands.read(of, far(of, n, index)));
                each.collect()
            };
            let values: Vec<Vec<f32>> = from.iter().enumerate().map(operand).collect();
            let answers = mapped(*function, &values, all.len());
            let places = all.iter().map(|index| far(to, from.len(), index));
            places.zip(answers).collect()
        }
        TensorWork::Reduce {
            kind,
            from,
            along,
            to,
        } => {
            let each = positions(&to.at.dims).map(|index| {
                let first = far(&from.at, &index);
                let all = positions(&along.dims);
                let all = all.map(|i| operands.read(from, first + far(along, &i) - along.offset));
                (
                    far(&to.at, &index),
                    reduced(*kind, &all.collect::<Vec<_>>()),
                )
            });
            each.collect()
        }
        TensorWork::Scan(scan) => scanned(operands, scan),
        TensorWork::Lookup(lookup) => looked_up(operands, lookup),
        TensorWork::Product { left, right, to } => {
            let rank = to.at.rank();
            let each = positions(&to.at.dims).map(|index| {
                let (mut l, mut r) = (index.clone(), index.clone());
                let sum = (0..left.at.dims[rank - 1]).map(|k| {
                    (l[rank - 1], r[rank - 2]) = (k, k);
                    operands.value(left, &l) * operands.value(right, &r)
                });
                (far(&to.at, &index), sum.sum::<f32>())
            });
            each.collect()
        }
        TensorWork::Attention(attention) => attended(operands, attention),
    }
}

fn scanned(operands: &RowOperands<'_>, work: &ScanWork) -> RowAnswer {
    let ScanWork {
        from,
        to,
        count,
        steps,
        exclusive,
        reverse,
        product,
    } = work;
    let mut made = Vec::new();
    for index in positions(&to.at.dims) {
        let mut all = if *product { 1.0 } else { 0.0 };
        for i in 0..*count {
            let place = if *reverse { count - 1 - i } else { i };
            let value = operands.read(from, far(&from.at, &index) + place * steps[0]);
            let before = all;
            all = if *product { all * value } else { all + value };
            let at = far(&to.at, &index) + place * steps[1];
            made.push((at, if *exclusive { before } else { all }));
        }
    }
    made
}

fn looked_up(operands: &RowOperands<'_>, work: &LookupWork) -> RowAnswer {
    let LookupWork {
        table,
        indices,
        to,
        before,
        count,
        after,
    } = work;
    let listed = indices.at.dims.elements();
    let sizes = [*before, listed, *after];
    let each = positions(&sizes).enumerate();
    let each = each.map(|(at, index)| {
        let found = operands.read(indices, indices.at.offset + index[1]);
        let found = if found < 0.0 {
            found + *count as f32
        } else {
            found
        };
        let value = match found >= 0.0 && found < *count as f32 {
            false => f32::NAN,
            true => {
                let from = (index[0] * count + found as usize) * after + index[2];
                match table {
                    Some(table) => operands.read(table, table.at.offset + from),
                    None => operands.table(from),
                }
            }
        };
        (to.at.offset + at, value)
    });
    each.collect()
}

fn attended(operands: &RowOperands<'_>, work: &AttentionWork) -> RowAnswer {
    let AttentionWork {
        query,
        key,
        value,
        to,
        masks,
        guard,
    } = work;
    let rank = to.at.rank();
    let (keys, depth) = (key.at.dims[rank - 1], key.at.dims[rank - 2]);
    let at = |before: &[usize], line, column| [before, &[line, column]].concat();
    let mut made = Vec::new();
    for index in positions(&to.at.dims[..rank - 1]) {
        let (before, q) = (&index[..rank - 2], index[rank - 2]);
        let score = |k: usize| {
            let products = (0..depth).map(|d| {
                operands.value(query, &at(before, q, d)) * operands.value(key, &at(before, d, k))
            });
            let score = products.sum::<f32>() * operands.scale();
            masks.iter().fold(score, |score, mask| {
                score + operands.value(mask, &at(before, q, k))
            })
        };
        let mut shares: Vec<f32> = (0..keys).map(score).collect();
        let masked = shares.iter().all(|&s| s == f32::NEG_INFINITY);
        match masked && *guard == ShareGuard::Masked {
            true => shares.fill(0.0),
            false => softmax_row(&mut shares),
        }
        let hidden = *guard == ShareGuard::AnyNan && shares.iter().any(|s| s.is_nan());
        for feature in 0..to.at.dims[rank - 1] {
            let parts =
                (0..keys).map(|k| shares[k] * operands.value(value, &at(before, k, feature)));
            let sum = if hidden { 0.0 } else { parts.sum::<f32>() };
            made.push((far(&to.at, &at(before, q, feature)), sum));
        }
    }
    made
}

/// Returns a function of each position's operands.
fn mapped(function: MapFunction, values: &[Vec<f32>], count: usize) -> Vec<f32> {
    let answer = match function {
        MapFunction::Fill(value) => Some(vec![value; count]),
        MapFunction::Copy => Some(values[0].clone()),
        MapFunction::One(kind) => of_one(kind, &values[0]),
        MapFunction::Two(kind) => of_two(kind, &values[0], &values[1]),
        MapFunction::Choice => {
            let each = (0..count).map(|i| values[if values[0][i] == 0.0 { 2 } else { 1 }][i]);
            Some(each.collect())
        }
    };
    answer.unwrap_or_else(|| vec![f32::NAN; count])
}

/// Returns the lesser or the greater of two values, or NaN if one is NaN.
fn extreme(a: f32, b: f32, takes_second: bool) -> f32 {
    if takes_second || b.is_nan() { b } else { a }
}

fn reduced(kind: Reduction, values: &[f32]) -> f32 {
    let sum = |f: fn(f32) -> f32| values.iter().map(|&v| f(v)).sum::<f32>();
    let best = |better: fn(f32, f32) -> bool| {
        let best = (1..values.len()).fold(0, |best, i| match better(values[i], values[best]) {
            true => i,
            false => best,
        });
        best as f32
    };
    match kind {
        Reduction::Sum => sum(|v| v),
        Reduction::Mean => sum(|v| v) / values.len() as f32,
        Reduction::Max => values
            .iter()
            .fold(f32::NEG_INFINITY, |a, &b| extreme(a, b, b > a)),
        Reduction::Min => values
            .iter()
            .fold(f32::INFINITY, |a, &b| extreme(a, b, b < a)),
        Reduction::Product => values.iter().product(),
        Reduction::L1 => sum(f32::abs),
        Reduction::L2 => sum(|v| v * v).sqrt(),
        Reduction::SumOfSquares => sum(|v| v * v),
        Reduction::ArgMax => best(|a, b| a > b),
        Reduction::ArgMin => best(|a, b| a < b),
    }
}
