//! A recording, played as if it were happening.
//!
//! Time is that of a clock that is handed in. Going back begins another epoch: the console forgets
//! its timeline and receives the spans of the five minutes before.

use std::path::Path;
use std::time::{Duration, Instant};

use divisi_model::trace::Span;

use super::playback::Playhead;
use super::record::{Decoded, Record, RecordingReader, Records};
use super::wire::{WireError, checked};
use super::{
    Audience, Command, EditPreview, LogEntry, LogLevel, Play, Playback, Refusal, Session,
    SessionRefusal, Setup, Snapshot,
};

/// Spans of so much time before a place are shown there.
const LOOK_BACK: Duration = Duration::from_secs(300);

/// Spans that wait to be taken: as many as the file can hold of its own, and no fewer than
/// these.
const LEAST_SPANS: u64 = 100_000;
/// Bytes of a file that a span takes at least, on the average.
const SPAN: u64 = 4;

/// Time since anything; playing follows it.
pub type Clock = Box<dyn Fn() -> Duration + Send>;

/// Plays a recording. Nothing can be changed, but the way it is played.
pub struct ReplaySession {
    reader: RecordingReader,
    clock: Clock,
    head: Playhead,
    epoch: u64,
    shown: Snapshot,
    /// The block being played and what is left of it.
    block: usize,
    left: Records,
    spans: Vec<Span>,
    lost: u64,
    /// Spans that nobody took in time.
    forgotten: u64,
    /// Blocks that could not be read.
    damaged: u64,
}

impl ReplaySession {
    /// Plays the recording at `path` from its start.
    ///
    /// # Errors
    /// It cannot be read, is no recording, or nothing of it is whole.
    pub fn open(path: &Path) -> Result<Self, WireError> {
        let started = Instant::now();
        ReplaySession::with_clock(
            RecordingReader::open(path)?,
            Box::new(move || started.elapsed()),
        )
    }

    /// The same by another clock.
    ///
    /// # Errors
    /// Nothing of it is whole.
    pub fn with_clock(mut reader: RecordingReader, clock: Clock) -> Result<Self, WireError> {
        let mut damaged = 0;
        let mut block = 0;
        let (shown, left) = loop {
            if block == reader.blocks() {
                return Err(WireError::Damaged("it has no whole block".into()));
            }
            match opening(&mut reader, block) {
                Ok(found) => break found,
                Err(_) => damaged += 1,
            }
            block += 1;
        };
        let head = Playhead::new(clock(), reader.until().saturating_sub(reader.from()));
        Ok(ReplaySession {
            reader,
            clock,
            head,
            epoch: 0,
            shown,
            block,
            left,
            spans: Vec::new(),
            lost: 0,
            forgotten: 0,
            damaged,
        })
    }

    /// How much of the recording was decoded so far.
    pub fn decoded(&self) -> Decoded {
        let mut decoded = self.reader.decoded();
        decoded.records += self.left.read();
        decoded
    }

    /// To the end of the recording, and held there.
    pub fn to_end(&mut self) {
        let end = self.head.length();
        self.seek(end);
    }

    fn place(&mut self) -> Duration {
        self.reader.from() + self.head.position((self.clock)())
    }

    /// Takes in all that was recorded up to now.
    fn advance(&mut self) {
        let now = self.place();
        loop {
            while let Some(record) = self.next_by(now) {
                self.take(record);
            }
            let next = self.block + 1;
            let due = next < self.reader.blocks() && self.reader.times(next).0 <= now;
            if !self.left.is_over() || !due {
                return;
            }
            self.enter(next);
        }
    }

    fn next_by(&mut self, now: Duration) -> Option<Record> {
        self.left.next_by(now).unwrap_or_else(|_| {
            self.damaged += 1;
            None
        })
    }

    fn enter(&mut self, block: usize) {
        self.block = block;
        self.leave();
        match opening(&mut self.reader, block) {
            Ok((shown, left)) => (self.shown, self.left) = (shown, left),
            Err(_) => self.damaged += 1,
        }
    }

    /// Nothing more comes of the block being played.
    fn leave(&mut self) {
        self.reader.count(&self.left);
        self.left = Records::default();
    }

    fn take(&mut self, record: Record) {
        let taken = match record {
            Record::Whole(shown) => checked(*shown).map(|shown| self.shown = shown),
            Record::Change(delta) => {
                let mut shown = self.shown.clone();
                let applied = delta.apply(&mut shown);
                applied.map(|()| self.shown = shown)
            }
            Record::Spans(_, batch) => {
                self.lost = batch.lost;
                let taken = batch.unpack(&mut self.spans);
                self.forget_oldest();
                taken
            }
        };
        if taken.is_err() {
            self.leave();
            self.damaged += 1;
        }
    }

    /// Keeps as many spans as a file of this size has.
    fn forget_oldest(&mut self) {
        let most = (self.reader.length() / SPAN).max(LEAST_SPANS);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let more = self.spans.len().saturating_sub(most);
        self.spans.drain(..more);
        self.forgotten += more as u64;
    }

    /// Goes to `position`. Going back begins another epoch: what was shown after it has
    /// not happened yet.
    fn seek(&mut self, position: Duration) {
        let before = self.place();
        self.advance();
        self.head.seek((self.clock)(), position);
        let now = self.place();
        let mut from = now.saturating_sub(LOOK_BACK);
        if now < before {
            self.epoch += 1;
            self.spans.clear();
        } else if self.reader.block_at(now) == self.block {
            return self.advance();
        } else {
            from = from.max(before);
            // The rest of the block being played goes by.
            self.take_spans_left();
        }
        let target = self.reader.block_at(now);
        let first = match now < before {
            true => self.reader.block_at(from),
            false => self.reader.block_at(from).max(self.block + 1),
        };
        for block in first..target {
            self.skim(block);
        }
        self.enter(target);
        self.advance();
    }

    fn take_spans_left(&mut self) {
        let left = std::mem::take(&mut self.left);
        self.take_spans(left);
    }

    /// The spans alone.
    fn take_spans(&mut self, mut records: Records) {
        loop {
            match records.next() {
                Ok(Some(record @ Record::Spans(..))) => self.take(record),
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => {
                    self.damaged += 1;
                    break;
                }
            }
        }
        self.reader.count(&records);
    }

    /// A block's spans alone.
    fn skim(&mut self, block: usize) {
        match self.reader.read(block) {
            Ok(records) => self.take_spans(records),
            Err(_) => self.damaged += 1,
        }
    }

    /// Returns warnings about the file: damaged parts, or an early end.
    fn remarks(&self) -> Vec<LogEntry> {
        let mut remarks = Vec::new();
        let damaged = self.damaged.saturating_add(self.reader.torn());
        if damaged > 0 {
            let parts = if damaged == 1 { "part" } else { "parts" };
            remarks.push(format!(
                "{damaged} damaged {parts} of the recording left out"
            ));
        }
        if !self.reader.is_whole() {
            remarks.push("the recording ends early: it was cut off".to_owned());
        }
        let remark = |text| LogEntry {
            at: self.reader.from(),
            level: LogLevel::Warn,
            text,
        };
        remarks.into_iter().map(remark).collect()
    }
}

impl Session for ReplaySession {
    fn snapshot(&mut self) -> Snapshot {
        self.advance();
        let now = self.place();
        let position = now.saturating_sub(self.reader.from());
        let mut shown = self.shown.clone();
        shown.now = now;
        shown.log.splice(0..0, self.remarks());
        shown.audience = Audience {
            you_edit: false,
            ..Audience::default()
        };
        shown.playback = Some(Playback {
            path: self.reader.path().to_owned(),
            position,
            length: self.head.length(),
            speed: self.head.speed(),
            paused: self.head.is_paused(),
            epoch: self.epoch,
        });
        shown
    }

    fn now(&mut self) -> Duration {
        self.place()
    }

    fn drain_spans(&mut self, into: &mut Vec<Span>) -> u64 {
        self.advance();
        into.append(&mut self.spans);
        self.lost.saturating_add(self.forgotten)
    }

    fn command(&mut self, command: Command) -> Result<(), Refusal> {
        let Command::Play(play) = command else {
            return Err(is_recording());
        };
        let now = (self.clock)();
        match play {
            Play::Seek(position) => self.seek(position),
            Play::Speed(speed) => self.head.set_speed(now, speed),
            Play::Pause(false) if self.head.is_at_end(now) => {
                self.seek(Duration::ZERO);
                self.head.pause(now, false);
            }
            Play::Pause(paused) => self.head.pause(now, paused),
        }
        Ok(())
    }

    fn preview(&mut self, _: &Setup) -> Result<EditPreview, Refusal> {
        Err(is_recording())
    }
}

fn is_recording() -> Refusal {
    SessionRefusal::IsRecording.into()
}

/// The state that a block begins with, and what follows.
fn opening(reader: &mut RecordingReader, block: usize) -> Result<(Snapshot, Records), WireError> {
    let mut records = reader.read(block)?;
    match records.next()? {
        Some(Record::Whole(shown)) => Ok((checked(*shown)?, records)),
        _ => Err(WireError::Damaged("a block without a state".into())),
    }
}
