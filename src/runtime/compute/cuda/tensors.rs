//! Steps on tensors of any rank as launches of our kernels.

use crate::compute::gpu::{
    AttentionWork, Axes, LookupWork, MOST_MASKS, MapFunction, OperandSource, ScanWork, StepArrays,
    TensorOperand, TensorWork, reduction_code,
};
use crate::compute::tensors::{ShareGuard, Strided};
use crate::network::Reduction;

use super::kernels::{KernelName, Kernels, Launch, Params};
use super::params::{
    AXES, AttentionParams, LookupParams, MapParams, MatrixProductParams, ReduceParams, ScanParams,
    TensorParams,
};
use super::work::{LaneMemory, int};

/// Threads of a block.
const BLOCK: usize = 256;

/// Lines and columns of the tiles of products and attention.
const TILE: usize = 64;

/// The number of reduced values above which a block shares the work.
const TOGETHER: usize = 64;

/// Returns the kernels' number for the treatment of queries without shares.
const fn guard_code(guard: ShareGuard) -> i32 {
    match guard {
        ShareGuard::Nowhere => 0,
        ShareGuard::AnyNan => 1,
        ShareGuard::Masked => 2,
    }
}

/// The axes of the lines and columns of matrices.
const MATRIX: [usize; 2] = [AXES - 2, AXES - 1];

/// A step on tensors for `rows` rows.
pub(super) struct TensorLaunch<'a> {
    pub kernels: &'a Kernels,
    pub memory: &'a LaneMemory,
    pub arrays: &'a StepArrays,
    pub rows: usize,
}

impl TensorLaunch<'_> {
    /// Returns the launch of `work`.
    pub(super) fn launch(&self, work: &TensorWork) -> Launch {
        let (name, threads, params) = match work {
            TensorWork::Map { function, from, to } => self.map(*function, from, to),
            TensorWork::Reduce {
                kind,
                from,
                along,
                to,
            } => self.reduce(*kind, from, along, to),
            TensorWork::Scan(scan) => self.scan(scan),
            TensorWork::Lookup(lookup) => self.lookup(lookup),
            TensorWork::Product { left, right, to } => self.product(left, right, to),
            TensorWork::Attention(attention) => self.attention(attention),
        };
        let precision = self.memory.precision;
        self.kernels.launch(name, precision, threads as u64, params)
    }

    /// Returns the address of an operand's source, with the bytes of a value.
    fn source(&self, operand: &TensorOperand) -> (u64, usize) {
        let bytes = match operand.wide {
            true => size_of::<f32>(),
            false => self.memory.precision.bytes(),
        };
        let address = match operand.source {
            OperandSource::Parameters => self.memory.array(self.arrays.values),
            OperandSource::Value(place) => self.memory.place(place),
        };
        (address, bytes)
    }

    /// Returns the address of an operand's first value.
    fn address(&self, operand: &TensorOperand) -> u64 {
        let (source, bytes) = self.source(operand);
        source + (operand.at.offset * bytes) as u64
    }

    fn tensor(&self, operand: &TensorOperand, strides: [i32; AXES]) -> TensorParams {
        TensorParams {
            at: self.address(operand),
            row: operand.row as i64,
            strides,
            wide: i32::from(operand.wide),
            unused: 0,
        }
    }

    /// Returns a matrix of each position of the axes before.
    fn matrix(&self, operand: &TensorOperand, mut strides: [i32; AXES]) -> TensorParams {
        let rank = operand.at.rank();
        for (back, axis) in MATRIX.into_iter().rev().enumerate() {
            strides[axis] = int(operand.at.stride(rank - 1 - back));
        }
        self.tensor(operand, strides)
    }

    fn map(
        &self,
        function: MapFunction,
        from: &[TensorOperand],
        to: &TensorOperand,
    ) -> (KernelName, usize, Params) {
        let all: Vec<Strided> = from.iter().chain([to]).map(|o| o.at).collect();
        let axes = KernelAxes::of(&all, to.at.rank(), AXES);
        let operand = |at: usize| {
            let tensor = |of| self.tensor(of, axes.strides[at]);
            from.get(at).map(tensor).unwrap_or_default()
        };
        let number = match function {
            MapFunction::Fill(value) => value,
            _ => 0.0,
        };
        let params = MapParams {
            first: operand(0),
            second: operand(1),
            third: operand(2),
            to: self.tensor(to, axes.strides[from.len()]),
            sizes: axes.sizes,
            rows: self.rows as i64,
            values: int(axes.values),
            function: function.code().map_or(0, int),
            number,
            unused: 0,
        };
        let threads = self.rows * axes.values;
        (KernelName::Map, threads, Params::Map(Box::new(params)))
    }

    fn reduce(
        &self,
        kind: Reduction,
        from: &TensorOperand,
        along: &Strided,
        to: &TensorOperand,
    ) -> (KernelName, usize, Params) {
        let axes = KernelAxes::of(&[from.at, to.at], to.at.rank(), AXES);
        let reduced = KernelAxes::of(&[*along], along.rank(), AXES);
        let positions = matches!(kind, Reduction::ArgMax | Reduction::ArgMin);
        // Adjacent threads read neighbouring values if the last axis stays.
        let neighbours = reduced.strides[0].contains(&1);
        let together = reduced.values >= TOGETHER && neighbours && !positions;
        let params = ReduceParams {
            from: self.tensor(from, axes.strides[0]),
            to: self.tensor(to, axes.strides[1]),
            sizes: axes.sizes,
            along: reduced.sizes,
            steps: reduced.strides[0],
            rows: self.rows as i64,
            values: int(axes.values),
            count: int(reduced.values),
            reduction: reduction_code(kind).map_or(0, int),
            together: i32::from(together),
        };
        let threads = self.rows * axes.values * if together { BLOCK } else { 1 };
        let params = Params::Reduce(Box::new(params));
        (KernelName::Reduce, threads, params)
    }

    fn scan(&self, work: &ScanWork) -> (KernelName, usize, Params) {
        let ScanWork {
            from,
            to,
            count,
            steps,
            exclusive,
            reverse,
            product,
        } = work;
        let axes = KernelAxes::of(&[from.at, to.at], to.at.rank(), AXES);
        let params = ScanParams {
            from: self.tensor(from, axes.strides[0]),
            to: self.tensor(to, axes.strides[1]),
            sizes: axes.sizes,
            rows: self.rows as i64,
            values: int(axes.values),
            count: int(*count),
            from_step: int(steps[0]),
            to_step: int(steps[1]),
            exclusive: i32::from(*exclusive),
            reverse: i32::from(*reverse),
            product: i32::from(*product),
            unused: 0,
        };
        let threads = self.rows * axes.values;
        (KernelName::Scan, threads, Params::Scan(Box::new(params)))
    }

    fn lookup(&self, work: &LookupWork) -> (KernelName, usize, Params) {
        let LookupWork {
            table,
            indices,
            to,
            before,
            count,
            after,
        } = work;
        let listed = indices.at.dims.elements();
        let filters = self.memory.array(self.arrays.filters);
        let params = LookupParams {
            table: table.as_ref().map_or(filters, |t| self.address(t)),
            indices: self.address(indices),
            to: self.address(to),
            table_row: table.as_ref().map_or(0, |t| t.row as i64),
            indices_row: indices.row as i64,
            to_row: to.row as i64,
            rows: self.rows as i64,
            before: int(*before),
            count: int(*count),
            after: int(*after),
            listed: int(listed),
            wide_table: i32::from(table.as_ref().is_some_and(|t| t.wide)),
            wide_indices: i32::from(indices.wide),
            wide_to: i32::from(to.wide),
            unused: 0,
        };
        let threads = self.rows * before * listed * after;
        (KernelName::Lookup, threads, Params::Lookup(params))
    }

    fn product(
        &self,
        left: &TensorOperand,
        right: &TensorOperand,
        to: &TensorOperand,
    ) -> (KernelName, usize, Params) {
        let rank = to.at.rank();
        let axes = KernelAxes::of(&[left.at, right.at, to.at], rank - 2, MATRIX[0]);
        let [lines, columns] = [to.at.dims[rank - 2], to.at.dims[rank - 1]];
        let params = MatrixProductParams {
            left: self.matrix(left, axes.strides[0]),
            right: self.matrix(right, axes.strides[1]),
            to: self.matrix(to, axes.strides[2]),
            sizes: axes.sizes,
            rows: self.rows as i64,
            matrices: int(axes.values),
            lines: int(lines),
            depth: int(left.at.dims[rank - 1]),
            columns: int(columns),
        };
        let tiles = lines.div_ceil(TILE) * columns.div_ceil(TILE);
        let threads = self.rows * axes.values * tiles * BLOCK;
        let params = Params::MatrixProduct(Box::new(params));
        (KernelName::MatrixProduct, threads, params)
    }

    fn attention(&self, work: &AttentionWork) -> (KernelName, usize, Params) {
        let AttentionWork {
            query,
            key,
            value,
            to,
            masks,
            guard,
        } = work;
        let rank = to.at.rank();
        let all = [query, key, value, to].into_iter().chain(masks);
        let all: Vec<Strided> = all.map(|o| o.at).collect();
        let axes = KernelAxes::of(&all, rank - 2, MATRIX[0]);
        let (queries, features) = (to.at.dims[rank - 2], to.at.dims[rank - 1]);
        let mut placed = [TensorParams::default(); MOST_MASKS];
        for ((to, mask), strides) in placed.iter_mut().zip(masks).zip(&axes.strides[4..]) {
            *to = self.matrix(mask, *strides);
        }
        let params = AttentionParams {
            query: self.matrix(query, axes.strides[0]),
            key: self.matrix(key, axes.strides[1]),
            value: self.matrix(value, axes.strides[2]),
            to: self.matrix(to, axes.strides[3]),
            masks: placed,
            scale: self.memory.array(self.arrays.scale),
            sizes: axes.sizes,
            rows: self.rows as i64,
            heads: int(axes.values),
            queries: int(queries),
            keys: int(key.at.dims[rank - 1]),
            depth: int(key.at.dims[rank - 2]),
            features: int(features),
            mask_count: int(masks.len()),
            guarded: guard_code(*guard),
            unused: 0,
        };
        let tiles = queries.div_ceil(TILE) * features.div_ceil(TILE);
        let threads = self.rows * axes.values * tiles * BLOCK;
        let params = Params::Attention(Box::new(params));
        (KernelName::Attention, threads, params)
    }
}

/// Axes in the kernels' type, with the number of positions.
struct KernelAxes {
    sizes: [i32; AXES],
    strides: Vec<[i32; AXES]>,
    values: usize,
}

impl KernelAxes {
    fn of(tensors: &[Strided], rank: usize, end: usize) -> Self {
        let axes = Axes::merged(tensors, rank, end);
        KernelAxes {
            sizes: axes.sizes.map(int),
            values: axes.positions(),
            strides: axes.strides.iter().map(|s| s.map(int)).collect(),
        }
    }
}
