//! A lane: a stream, memory for its largest batch, and batches ready to be queued.

use std::sync::Arc;

use crate::compute::ComputeError;
use crate::compute::gpu::{GpuPlan, GpuStep, LaneLayout, LaneProgram, TensorWork, WeightLayout};
use crate::device::cuda::{CudaGpu, GpuStream, gpu_error};
use crate::device::gpu::{DeviceMemory, DeviceSlice, Gpu, GpuError, Stream};

use super::choices::{Choices, kind_of};
use super::dense::Dense;
#[cfg(feature = "cudnn")]
use super::dnn::Dnn;
use super::gemm::Blas;
use super::graph::Replay;
use super::kernels::{KernelName, Kernels, Params};
use super::params::{PLACED, PlaceParams};
use super::products::BatchedProduct;
use super::steps;
use super::work::{LaneMemory, Queue, QueuedWork, int};

/// The kernels, handles and choices that all networks on one GPU share.
pub(super) struct Library {
    pub kernels: Kernels,
    pub blas: Arc<Blas>,
    pub choices: Choices,
}

/// A network on a GPU: its plan, its weights on the GPU, and the state shared by its lanes.
pub(super) struct CudaNetwork {
    pub gpu: Arc<CudaGpu>,
    pub library: Arc<Library>,
    pub plan: GpuPlan,
    pub arrays: WeightLayout,
    pub weights: Arc<dyn DeviceMemory>,
}

impl Library {
    pub(super) fn new(gpu: &CudaGpu) -> Result<Self, ComputeError> {
        Ok(Library {
            kernels: Kernels::load(gpu.context(), gpu.info().multiprocessors)?,
            blas: Arc::new(Blas::new()?),
            choices: Choices::default(),
        })
    }
}

impl CudaNetwork {
    /// Returns the memory of the weights.
    pub(super) fn weights(&self) -> DeviceSlice {
        DeviceSlice::whole(Arc::clone(&self.weights))
    }
}

/// A lane of one network on one GPU.
pub(super) struct CudaLane {
    // Dropped in this order: graphs and handles before the stream, the stream before memory.
    batches: Vec<ReadyBatch>,
    queue: Queue,
    stream: Arc<GpuStream>,
    /// The same stream, for other users.
    shown: Arc<dyn Stream>,
    memory: LaneMemory,
    rows: usize,
    network: Arc<CudaNetwork>,
}

/// A batch of one number of rows.
struct ReadyBatch {
    rows: usize,
    works: Vec<QueuedWork>,
    replay: Replay,
}

/// The most batches kept ready; the least recently used one is dropped.
const KEPT: usize = 48;

impl CudaLane {
    /// Creates a lane for batches of up to `rows`, and chooses the methods of its
    /// convolutions.
    pub(super) fn new(network: Arc<CudaNetwork>, rows: usize) -> Result<Self, ComputeError> {
        let gpu = &network.gpu;
        let layout = LaneLayout::new(&network.plan, rows);
        let lane = DeviceSlice::whole(gpu.allocate(layout.bytes)?);
        let stream = gpu.gpu_stream()?;
        let memory = LaneMemory {
            weights: network.weights(),
            precision: network.plan.precision,
            lane,
            layout,
        };
        let queue = Queue {
            stream: Arc::clone(stream.raw()),
            blas: Arc::clone(&network.library.blas),
            #[cfg(feature = "cudnn")]
            dnn: Dnn::new(stream.raw())?,
            workspace: memory.part(&memory.layout.workspace),
        };
        let mut made = CudaLane {
            batches: Vec::new(),
            queue,
            shown: Arc::<GpuStream>::clone(&stream) as Arc<dyn Stream>,
            stream,
            memory,
            rows,
            network,
        };
        made.choose()?;
        Ok(made)
    }

    /// Chooses methods for every measured number of rows, so that serving never measures.
    fn choose(&mut self) -> Result<(), ComputeError> {
        let mut rows = 1;
        loop {
            let kind = kind_of(rows, self.rows);
            self.works(kind)?;
            if kind >= self.rows {
                return Ok(self.stream.synchronize()?);
            }
            rows = kind + 1;
        }
    }

    /// Returns the work of a batch of `rows` rows.
    fn works(&self, rows: usize) -> Result<Vec<QueuedWork>, ComputeError> {
        let (network, memory) = (&self.network, &self.memory);
        let kernels = &network.library.kernels;
        let mut works = Vec::new();
        for (step, arrays) in network.plan.steps.iter().zip(&network.arrays.steps) {
            if let Some(products) = self.products(step, rows) {
                works.extend(products);
                continue;
            }
            if let Some(launch) = steps::launch(kernels, memory, step, arrays, rows) {
                works.push(QueuedWork::Kernel(launch));
                continue;
            }
            let dense = |rows| Dense {
                kernels,
                queue: &self.queue,
                memory,
                step,
                arrays,
                rows,
            };
            let choices = &network.library.choices;
            let way = choices.way(&dense(kind_of(rows, self.rows)))?;
            // The way of the kind of row count may not work for this exact number of rows.
            let possible = dense(rows).works(way);
            works.extend(match possible {
                Ok(works) => works,
                Err(_) => dense(rows).works(choices.way(&dense(rows))?)?,
            });
        }
        Ok(works)
    }

    /// Returns a product of activations by the matrix library, or `None` if the step is not such a
    /// product or the library refuses it.
    fn products(&self, step: &GpuStep, rows: usize) -> Option<Vec<QueuedWork>> {
        let Some(TensorWork::Product { left, right, to }) = step.tensor.as_deref() else {
            return None;
        };
        let product = BatchedProduct {
            queue: &self.queue,
            memory: &self.memory,
            rows,
            left,
            right,
            to,
        };
        product.works()?.ok()
    }

    /// Returns the batch of `rows` rows, ready, and moves it to the end of the list.
    fn ready(&mut self, rows: usize) -> Result<&mut ReadyBatch, ComputeError> {
        let known = self.batches.iter().position(|b| b.rows == rows);
        let batch = match known {
            Some(at) => self.batches.remove(at),
            None => ReadyBatch {
                rows,
                works: self.works(rows)?,
                replay: Replay::Unknown,
            },
        };
        if self.batches.len() >= KEPT {
            self.batches.remove(0);
        }
        self.batches.push(batch);
        let none = || GpuError::Other("no batch is ready".into()).into();
        self.batches.last_mut().ok_or_else(none)
    }

    /// Queues a write of the samples' addresses to the table, after the work that reads it.
    fn place(&self, rows: usize, samples: &[DeviceSlice]) -> Result<(), ComputeError> {
        let bytes = self.network.plan.inputs * size_of::<f32>();
        let each = samples.iter().flat_map(|slice| {
            let count = slice.bytes / bytes.max(1);
            (0..count).map(move |i| slice.address() + (i * bytes) as u64)
        });
        let mut addresses: Vec<u64> = each.take(rows).collect();
        let Some(&last) = addresses.last() else {
            return Err(GpuError::Other("expected at least one sample, found none".into()).into());
        };
        addresses.resize(rows, last);
        let table = self.memory.part(&self.memory.layout.table).address();
        for (at, addresses) in addresses.chunks(PLACED).enumerate() {
            let to = table + (at * PLACED * size_of::<u64>()) as u64;
            self.carry(to, addresses)?;
        }
        Ok(())
    }

    /// Queues the writing of up to [`PLACED`] addresses.
    fn carry(&self, to: u64, addresses: &[u64]) -> Result<(), ComputeError> {
        let mut place = PlaceParams {
            to,
            count: int(addresses.len()),
            unused: 0,
            addresses: [0; PLACED],
        };
        place.addresses[..addresses.len()].copy_from_slice(addresses);
        let (kernels, params) = (
            &self.network.library.kernels,
            Params::Place(Box::new(place)),
        );
        let precision = self.memory.precision;
        kernels
            .launch(KernelName::Place, precision, 1, params)
            .queue(&self.queue.stream)
    }
}

impl LaneProgram for CudaLane {
    fn stream(&self) -> &Arc<dyn Stream> {
        &self.shown
    }

    fn launch(&mut self, rows: usize, samples: &[DeviceSlice]) -> Result<(), ComputeError> {
        if rows > self.rows {
            return Err(ComputeError::BatchTooLarge {
                found: rows,
                most: self.rows,
            });
        }
        self.queue
            .stream
            .context()
            .bind_to_thread()
            .map_err(gpu_error)?;
        self.place(rows, samples)?;
        self.ready(rows)?;
        let Some(batch) = self.batches.last_mut() else {
            return Ok(());
        };
        batch.replay.run(&self.queue, &batch.works)
    }

    fn answers(&self, rows: usize) -> DeviceSlice {
        let all = self.memory.part(&self.memory.layout.answers);
        all.part(0, rows * self.network.plan.outputs * size_of::<f32>())
    }
}

impl Drop for CudaLane {
    fn drop(&mut self) {
        // Queued work reads the memory that is dropped next. If the GPU is lost, nothing is queued.
        let _ = self.stream.synchronize();
    }
}
