//! The programs of the software GPU: the members' own networks, by the processor's kernels.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use candle_core::Tensor;
use divisi_engine::serving::{BuildError, NetworkFactory, PredictorFactory, Programs};
use divisi_model::ensemble::{BatchSize, ComputedMember, Ensemble};
use divisi_runtime::compute::gpu::{LaneProgram, Program};
use divisi_runtime::compute::{ComputeError, Predictor, host_rows, read_rows, write_rows};
use divisi_runtime::device::MemberIndex;
use divisi_runtime::device::ThreadTeam;
use divisi_runtime::device::gpu::{DeviceSlice, Gpu, GpuError, GpuInfo, Stream};

use super::soft::{SoftGpu, SoftStream, lock};

/// Bytes of a program's weights on the software GPU.
pub const WEIGHTS: usize = 4096;

/// Networks on partitions and on software GPUs.
pub struct SoftFactory {
    pub ensemble: Arc<Ensemble>,
    pub networks: Arc<NetworkFactory>,
    /// The GPUs by number, as they are opened next.
    pub gpus: Mutex<Vec<Arc<SoftGpu>>>,
    pub programs: Programs,
    /// Programs made so far.
    pub made: AtomicUsize,
    /// The next batch of this member fails: an error, or a panic.
    pub trouble: Arc<Mutex<Option<(MemberIndex, bool)>>>,
}

impl SoftFactory {
    pub fn new(ensemble: &Arc<Ensemble>, gpus: &[GpuInfo]) -> Arc<Self> {
        Arc::new(SoftFactory {
            ensemble: Arc::clone(ensemble),
            networks: Arc::new(NetworkFactory::new(Arc::clone(ensemble))),
            gpus: Mutex::new(gpus.iter().cloned().map(SoftGpu::new).collect()),
            programs: Programs::default(),
            made: AtomicUsize::new(0),
            trouble: Arc::default(),
        })
    }

    pub fn soft(&self, index: usize) -> Arc<SoftGpu> {
        Arc::clone(&lock(&self.gpus)[index])
    }
}

impl PredictorFactory for SoftFactory {
    fn build(
        &self,
        network: ComputedMember,
        size: BatchSize,
        pool: Option<Arc<ThreadTeam>>,
    ) -> Result<Box<dyn Predictor>, BuildError> {
        self.networks.build(network, size, pool)
    }

    fn gpu(&self, info: &GpuInfo) -> Result<Arc<dyn Gpu>, BuildError> {
        Ok(self.soft(info.index))
    }

    fn program(
        &self,
        network: ComputedMember,
        gpu: &Arc<dyn Gpu>,
    ) -> Result<Arc<dyn Program>, BuildError> {
        let member = network.member;
        let precision = network
            .precision
            .on_gpu(gpu.info(), self.ensemble.precision);
        self.programs.get(member, precision, gpu, || {
            self.made.fetch_add(1, Ordering::AcqRel);
            let weights = gpu.allocate(WEIGHTS).map_err(ComputeError::Gpu)?;
            Ok(Arc::new(SoftProgram {
                network,
                gpu: Arc::clone(gpu),
                networks: Arc::clone(&self.networks),
                weights: DeviceSlice::whole(weights),
                inputs: self.ensemble.members[member].input.shape.elements(),
                outputs: self.ensemble.answer_width(),
                trouble: Arc::clone(&self.trouble),
            }))
        })
    }
}

struct SoftProgram {
    network: ComputedMember,
    gpu: Arc<dyn Gpu>,
    networks: Arc<NetworkFactory>,
    weights: DeviceSlice,
    inputs: usize,
    outputs: usize,
    trouble: Arc<Mutex<Option<(MemberIndex, bool)>>>,
}

impl Program for SoftProgram {
    fn lane(&self, rows: usize) -> Result<Box<dyn LaneProgram>, ComputeError> {
        let size = BatchSize::new(rows as u32).expect("above 0");
        let predictor = self.networks.build(self.network, size, None);
        Ok(Box::new(SoftLane {
            stream: self.gpu.stream()?,
            answers: DeviceSlice::whole(self.gpu.allocate(rows * self.outputs * 4)?),
            weights: self.weights.clone(),
            runner: Arc::new(Mutex::new(Runner {
                predictor: predictor.expect("built"),
                input: host_rows(rows, self.inputs)?,
                output: host_rows(rows, self.outputs)?,
            })),
            inputs: self.inputs,
            outputs: self.outputs,
            rows,
            member: self.network.member,
            trouble: Arc::clone(&self.trouble),
        }))
    }

    fn weight_bytes(&self) -> u64 {
        WEIGHTS as u64
    }
}

struct Runner {
    predictor: Box<dyn Predictor>,
    input: Tensor,
    output: Tensor,
}

impl Runner {
    fn run(&mut self, rows: usize, samples: &[f32]) -> Vec<f32> {
        write_rows(&self.input, |to| {
            to[..samples.len()].copy_from_slice(samples)
        })
        .expect("rows");
        let ran = self.predictor.predict(rows, &self.input, &self.output);
        ran.expect("runs");
        let mut answers = Vec::new();
        read_rows(&self.output, |from| answers.extend_from_slice(from)).expect("rows");
        answers
    }
}

struct SoftLane {
    stream: Arc<dyn Stream>,
    answers: DeviceSlice,
    /// Kept as long as the lane is.
    #[allow(dead_code, reason = "kept as long as the lane is")]
    weights: DeviceSlice,
    runner: Arc<Mutex<Runner>>,
    inputs: usize,
    outputs: usize,
    rows: usize,
    member: MemberIndex,
    trouble: Arc<Mutex<Option<(MemberIndex, bool)>>>,
}

impl LaneProgram for SoftLane {
    fn stream(&self) -> &Arc<dyn Stream> {
        &self.stream
    }

    fn launch(&mut self, rows: usize, samples: &[DeviceSlice]) -> Result<(), ComputeError> {
        assert!(
            rows <= self.rows && !samples.is_empty(),
            "a batch that fits"
        );
        let trouble = lock(&self.trouble).take_if(|(member, _)| *member == self.member);
        if let Some((_, panics)) = trouble {
            assert!(!panics, "it panics");
            return Err(GpuError::Other("it does not like this".into()).into());
        }
        let (samples, to) = (samples.to_vec(), self.answers(rows));
        let (runner, inputs, outputs) = (Arc::clone(&self.runner), self.inputs, self.outputs);
        let stream = self.stream.as_any().downcast_ref::<SoftStream>();
        let stream = stream.expect("a software stream");
        stream.compute(Box::new(move |state| {
            let mut values = Vec::new();
            samples.iter().for_each(|s| values.extend(state.read(s)));
            assert!(values.iter().all(|v| v.is_finite()), "samples are there");
            let last = values[values.len() - inputs..].to_vec();
            while values.len() < rows * inputs {
                values.extend(&last);
            }
            let answers = lock(&runner).run(rows, &values);
            state.write(&to, &answers[..rows * outputs]);
            Ok(())
        }));
        Ok(())
    }

    fn answers(&self, rows: usize) -> DeviceSlice {
        self.answers.part(0, rows * self.outputs * 4)
    }
}
