//! A bare loop on the GPU: one thread copies in, computes and copies out, with no system
//! around, in sequence or with the next batch copied while one computes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use divisi_runtime::device::MemberIndex;
use divisi_runtime::device::gpu::{DeviceSlice, Event, PinnedBlock, Stream};

use crate::bed::Bed;
use crate::lane::{Lane, random_block};

pub struct Bare {
    lane: Lane,
    block: PinnedBlock,
    answers: PinnedBlock,
    /// Where batches are copied ahead to, in turn.
    places: [DeviceSlice; 2],
    copying: Arc<dyn Stream>,
    returning: Arc<dyn Stream>,
}

impl Bare {
    pub fn new(bed: &Bed, rows: usize) -> Result<Self> {
        let lane = Lane::new(bed, MemberIndex::new(0), rows)?;
        let block = random_block(bed, rows * bed.width(MemberIndex::new(0)))?;
        let other = DeviceSlice::whole(bed.gpu.allocate(lane.samples.bytes)?);
        Ok(Bare {
            block,
            answers: bed.gpu.pinned(rows * bed.ensemble.answer_width())?,
            places: [lane.samples.clone(), other],
            copying: bed.gpu.stream()?,
            returning: bed.gpu.stream()?,
            lane,
        })
    }

    /// Samples a second, one step after the other.
    pub fn in_sequence(&mut self, time: Duration) -> Result<f64> {
        let (began, mut batches) = (Instant::now(), 0);
        while began.elapsed() < time {
            let stream = Arc::clone(self.lane.program.stream());
            stream.copy_in(&self.whole(), &self.places[0])?;
            self.compute(0)?;
            let answers = self.lane.program.answers(self.lane.rows);
            stream.copy_out(&answers, &self.answers.slice(0, answers.bytes / 4))?;
            stream.record()?.wait()?;
            batches += 1;
        }
        Ok((batches * self.lane.rows) as f64 / began.elapsed().as_secs_f64())
    }

    /// Samples a second, the next batch copied while one computes and answers on a stream
    /// of their own.
    pub fn overlapped(&mut self, time: Duration) -> Result<f64> {
        let (began, mut batches) = (Instant::now(), 0);
        let mut arrived = self.copy_ahead(0)?;
        let mut ended: Option<Arc<dyn Event>> = None;
        while began.elapsed() < time {
            let place = batches % 2;
            self.lane.program.stream().wait(&*arrived)?;
            self.compute(place)?;
            let computed = self.lane.program.stream().record()?;
            // The other place is free once the batch before has been computed, which is
            // before its answers are back.
            if let Some(ended) = ended.take() {
                ended.wait()?;
            }
            arrived = self.copy_ahead(1 - place)?;
            ended = Some(self.copy_back(&*computed)?);
            batches += 1;
        }
        if let Some(ended) = ended {
            ended.wait()?;
        }
        Ok((batches * self.lane.rows) as f64 / began.elapsed().as_secs_f64())
    }

    fn whole(&self) -> divisi_runtime::device::gpu::HostSlice {
        self.block.slice(0, self.block.values().len())
    }

    fn compute(&mut self, place: usize) -> Result<()> {
        let samples = std::slice::from_ref(&self.places[place]);
        Ok(self.lane.program.launch(self.lane.rows, samples)?)
    }

    fn copy_ahead(&self, place: usize) -> Result<Arc<dyn Event>> {
        self.copying.copy_in(&self.whole(), &self.places[place])?;
        Ok(self.copying.record()?)
    }

    /// The next batch's answers come after these have been read, as the lane's stream
    /// waits for them.
    fn copy_back(&self, computed: &dyn Event) -> Result<Arc<dyn Event>> {
        self.returning.wait(computed)?;
        let answers = self.lane.program.answers(self.lane.rows);
        let to = self.answers.slice(0, answers.bytes / 4);
        self.returning.copy_out(&answers, &to)?;
        let ended = self.returning.record()?;
        self.lane.program.stream().wait(&*ended)?;
        Ok(ended)
    }
}
