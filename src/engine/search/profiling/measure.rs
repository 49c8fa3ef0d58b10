//! Measures batches. Every partition of a kind runs the same batches at the same time, as it will
//! while serving, so that their contention (memory bandwidth, shared caches, a core's turbo) is
//! part of the figures. A GPU is measured alone: a lane of the batch size, from samples in host
//! memory to answers in host memory.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use candle_core::Tensor;

use crate::search::error::{EvaluationError, SearchError, Stopped};
use crate::serving::{BuildError, GpuRunner};
use divisi_model::ensemble::BatchSize;
use divisi_model::metrics::stats::median;
use divisi_runtime::compute::{ComputeError, Predictor, host_rows, write_rows};
use divisi_runtime::device::gpu::GpuInfo;
use divisi_runtime::device::{
    Computation, DeviceIndex, MemberIndex, pin_current_thread, thread_team,
};

use super::Profiler;

/// The least total time of batches of one size. Shorter measurements are dominated by the clock and
/// by interruptions.
const LEAST_TIME: Duration = Duration::from_millis(6);
/// The fewest runs of short batches, so that one interruption does not count.
const LEAST_RUNS: usize = 3;
/// A size whose time per row exceeds another's by this factor is measured again, and the lower time
/// counts. The size may be slower, or another program may have used the core.
const STANDS_OUT: f64 = 1.05;
/// A longer batch is run once, because it averages over interruptions by itself.
const LONG: Duration = Duration::from_millis(8);
/// Two rounds agree if the times of no size differ by more than this factor.
const AGREES: f64 = 1.1;
/// The most rounds of all sizes.
const MOST_ROUNDS: usize = 6;
/// Sizes with a longer batch are not repeated, because a second round would take too long.
const LONGEST_REPEATED: f64 = 0.25;

/// The times of batches, as measured.
pub(super) struct MeasuredBatches {
    /// Numbers of rows with seconds.
    pub(super) points: Vec<(usize, f64)>,
    /// Whether two rounds agreed.
    pub(super) agreed: bool,
}

/// Seconds by size, and whether two rounds agreed.
type RoundTimes = (Vec<f64>, bool);

/// Returns the times of batches of `member` at each of `sizes`, largest first, as the mean over all
/// `devices`, which are busy at the same time.
pub(super) fn measure(
    profiler: &Profiler<'_>,
    member: MemberIndex,
    devices: &[DeviceIndex],
    sizes: &[usize],
) -> Result<MeasuredBatches, SearchError> {
    let still_measuring = AtomicUsize::new(devices.len());
    let times = on_each(devices, |device| {
        on_device(profiler, member, device, sizes, &still_measuring)
    })?;
    let mean = |i: usize| times.iter().map(|(t, _)| t[i]).sum::<f64>() / times.len() as f64;
    let points = sizes.iter().enumerate();
    Ok(MeasuredBatches {
        points: points.map(|(i, rows)| (*rows, mean(i))).collect(),
        agreed: times.iter().all(|(_, agreed)| *agreed),
    })
}

/// Runs `work` on all of `devices` at the same time, each in its own thread, because a worker pins
/// its thread.
pub(super) fn on_each<T: Send>(
    devices: &[DeviceIndex],
    work: impl Fn(DeviceIndex) -> Result<T, SearchError> + Sync,
) -> Result<Vec<T>, SearchError> {
    thread::scope(|scope| {
        let work = &work;
        let running = devices
            .iter()
            .map(|&device| scope.spawn(move || work(device)));
        let running: Vec<_> = running.collect();
        let joined = running.into_iter().map(|thread| {
            let broken = |_| Err(EvaluationError::Panicked("a network").into());
            thread.join().unwrap_or_else(broken)
        });
        joined.collect()
    })
}

/// Returns the seconds at each of `sizes` on one device, then keeps the device busy until all are
/// done.
fn on_device(
    profiler: &Profiler<'_>,
    member: MemberIndex,
    device: DeviceIndex,
    sizes: &[usize],
    still_measuring: &AtomicUsize,
) -> Result<RoundTimes, SearchError> {
    let measured = catch_unwind(AssertUnwindSafe(|| {
        let mut runner = ProfiledWorker::new(profiler, member, device, sizes[0])?;
        let times = runner.rounds(profiler, sizes)?;
        Ok::<_, SearchError>((runner, times))
    }));
    still_measuring.fetch_sub(1, Ordering::AcqRel);
    let broken = |_| Err(EvaluationError::Panicked("a network").into());
    let (mut runner, times) = measured.unwrap_or_else(broken)?;
    let smallest = sizes[sizes.len() - 1];
    while still_measuring.load(Ordering::Acquire) > 0 && !profiler.control.is_cancelled() {
        runner.run(smallest)?;
    }
    Ok(times)
}

/// A worker without an engine.
pub(super) enum ProfiledWorker {
    Partition(Partition),
    Gpu(Box<GpuRunner>),
}

/// A worker on a CPU partition.
pub(super) struct Partition {
    predictor: Box<dyn Predictor>,
    input: Tensor,
    output: Tensor,
}

impl ProfiledWorker {
    pub(super) fn new(
        profiler: &Profiler<'_>,
        member: MemberIndex,
        device: DeviceIndex,
        largest: usize,
    ) -> Result<Self, SearchError> {
        match profiler.devices.get(device).kind.computation() {
            Computation::Gpu(info) => on_gpu(profiler, member, info, largest)
                .map(|runner| ProfiledWorker::Gpu(Box::new(runner)))
                .map_err(SearchError::from),
            Computation::Kernels(cores) => {
                Partition::new(profiler, member, cores, largest).map(ProfiledWorker::Partition)
            }
            Computation::Law(profile) => {
                Err(EvaluationError::FollowsLaw(profile.name.clone()).into())
            }
        }
    }

    pub(super) fn run(&mut self, rows: usize) -> Result<Duration, SearchError> {
        let took = match self {
            ProfiledWorker::Partition(partition) => partition.run(rows),
            ProfiledWorker::Gpu(gpu) => gpu.run(rows),
        };
        Ok(took?)
    }

    /// Measures rounds until two agree. The lowest time of each size counts, because disturbances
    /// only add time.
    fn rounds(
        &mut self,
        profiler: &Profiler<'_>,
        sizes: &[usize],
    ) -> Result<RoundTimes, SearchError> {
        let mut lowest = self.times(profiler, sizes)?;
        for _ in 1..MOST_ROUNDS {
            let short = lowest.iter().take_while(|time| **time > LONGEST_REPEATED);
            let short = short.count();
            if short == sizes.len() {
                return Ok((lowest, true));
            }
            let again = self.times(profiler, &sizes[short..])?;
            let agrees = agree(&lowest[short..], &again);
            for (time, again) in lowest[short..].iter_mut().zip(again) {
                *time = time.min(again);
            }
            if agrees {
                return Ok((lowest, true));
            }
        }
        Ok((lowest, false))
    }

    fn times(&mut self, profiler: &Profiler<'_>, sizes: &[usize]) -> Result<Vec<f64>, SearchError> {
        // Not counted, because it warms up the memory and wakes the core.
        self.run(sizes[sizes.len() - 1])?;
        let mut times = Vec::new();
        for &rows in sizes {
            if let ProfiledWorker::Gpu(_) = self {
                // The first run of a shape also selects its kernels.
                self.run(rows)?;
            }
            times.push(self.time(rows)?);
            if profiler.control.is_cancelled() {
                return Err(Stopped.into());
            }
        }
        let a_row = |(time, rows): (&f64, &usize)| time / *rows as f64;
        let least = times.iter().zip(sizes).map(a_row).fold(f64::MAX, f64::min);
        for (time, &rows) in times.iter_mut().zip(sizes) {
            if *time > STANDS_OUT * least * rows as f64 {
                *time = time.min(self.time(rows)?);
            }
        }
        Ok(times)
    }

    /// Returns the seconds of one batch: the median, so that an interruption in one of three runs
    /// does not count.
    fn time(&mut self, rows: usize) -> Result<f64, SearchError> {
        let (mut times, mut total) = (Vec::new(), Duration::ZERO);
        loop {
            let took = self.run(rows)?;
            times.push(took.as_secs_f64());
            total += took;
            let steady = total >= LEAST_TIME && times.len() >= LEAST_RUNS;
            if steady || took >= LONG {
                return Ok(median(&times));
            }
        }
    }
}

/// Returns whether two rounds agree on all sizes.
fn agree(a: &[f64], b: &[f64]) -> bool {
    let mut both = a.iter().zip(b);
    both.all(|(a, b)| a.max(*b) <= AGREES * a.min(*b))
}

/// Creates a lane on a GPU, with samples to run.
fn on_gpu(
    profiler: &Profiler<'_>,
    member: MemberIndex,
    info: &GpuInfo,
    largest: usize,
) -> Result<GpuRunner, BuildError> {
    let gpu = profiler.factory.gpu(info)?;
    let program = profiler
        .factory
        .program(profiler.models().network(member), &gpu)?;
    let of = &profiler.models().members[member];
    let (inputs, width) = (of.graph.input().elements(), of.row_width());
    let mut runner = GpuRunner::new(&gpu, program.as_ref(), largest, inputs, width)?;
    fill(profiler, member, runner.samples());
    Ok(runner)
}

/// Fills rows of a member's input. Named tensors come from evenly spaced calibration samples,
/// because arbitrary numbers are not valid ids or lengths, and the time of a network depends on the
/// lengths.
fn fill(profiler: &Profiler<'_>, member: MemberIndex, rows: &mut [f32]) {
    let ensemble = profiler.holder(member);
    let member = &profiler.models().members[member];
    let (Some(_), Some(samples)) = (&ensemble.tensors, &ensemble.calibration) else {
        return mix(rows);
    };
    let width = member.graph.input().elements();
    let (count, all) = (rows.len() / width.max(1), samples.len());
    for (at, row) in rows.chunks_exact_mut(width.max(1)).enumerate() {
        let from = samples.row(if count < all { at * all / count } else { at });
        member.input.convert(ensemble.input.shape, from.into(), row);
    }
}

/// Fills rows with samples that all differ.
fn mix(rows: &mut [f32]) {
    let mixed = |i: usize| (i.wrapping_mul(2_654_435_761) >> 8) % 1000;
    let values = rows.iter_mut().enumerate();
    values.for_each(|(i, value)| *value = mixed(i) as f32 / 1000.0);
}

impl Partition {
    fn new(
        profiler: &Profiler<'_>,
        member: MemberIndex,
        cores: &[usize],
        largest: usize,
    ) -> Result<Self, SearchError> {
        pin_current_thread(cores);
        let team = thread_team(cores, None)?;
        let size = u32::try_from(largest).ok().and_then(BatchSize::new);
        let size = size.unwrap_or(profiler.models().batch_sizes.smallest());
        let network = profiler.models().network(member);
        let built = profiler.factory.build(network, size, team);
        let of = &profiler.models().members[member];
        let inputs = of.graph.input().elements();
        let tensors = host_rows(largest, inputs).and_then(|input| {
            write_rows(&input, |rows| fill(profiler, member, rows))?;
            Ok((input, host_rows(largest, of.row_width())?))
        });
        let (input, output) = tensors?;
        Ok(Partition {
            predictor: built?,
            input,
            output,
        })
    }

    fn run(&mut self, rows: usize) -> Result<Duration, ComputeError> {
        let start = Instant::now();
        self.predictor.predict(rows, &self.input, &self.output)?;
        Ok(start.elapsed())
    }
}
