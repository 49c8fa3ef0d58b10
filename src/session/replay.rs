//! Plays a recording as if it were live.
//!
//! Time comes from an injected clock. Seeking backwards begins a new epoch: the console clears its
//! timeline and receives the spans of the previous five minutes.

use std::path::Path;
use std::time::{Duration, Instant};

use divisi_model::trace::Span;

use super::playback::Playhead;
use super::record::{Decoded, Record, RecordingReader, Records};
use super::wire::{WireError, checked};
use super::{
    Audience, Command, EditPreview, FigureHistory, FigureRecord, LogEntry, LogLevel, Play,
    Playback, Refusal, Session, SessionRefusal, Setup, Snapshot, WhatIf, WhatIfReply,
};

/// The time before a position whose spans are shown.
const LOOK_BACK: Duration = Duration::from_secs(300);

/// The least number of spans that may wait to be taken; more if the file can hold more.
const LEAST_SPANS: u64 = 100_000;
/// The average bytes of a span in a file, at least.
const SPAN: u64 = 4;

/// Returns the time that playback follows, from any origin.
pub type Clock = Box<dyn Fn() -> Duration + Send>;

/// Plays a recording. Commands other than those of playback are refused.
pub struct ReplaySession {
    reader: RecordingReader,
    clock: Clock,
    head: Playhead,
    epoch: u64,
    shown: Snapshot,
    /// The block being played and its remaining records.
    block: usize,
    left: Records,
    spans: Vec<Span>,
    lost: u64,
    /// The spans that were not taken in time.
    forgotten: u64,
    /// The number of unreadable blocks.
    damaged: u64,
    /// The figures of the played records.
    figures: FigureHistory,
    /// Whether the figures are complete from the start of the recording.
    has_figures: bool,
}

impl ReplaySession {
    /// Plays the recording at `path` from its start.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is not a recording, or has no complete block.
    pub fn open(path: &Path) -> Result<Self, WireError> {
        let started = Instant::now();
        ReplaySession::with_clock(
            RecordingReader::open(path)?,
            Box::new(move || started.elapsed()),
        )
    }

    /// Plays a recording with another clock.
    ///
    /// # Errors
    /// Returns an error if it has no complete block.
    pub fn with_clock(mut reader: RecordingReader, clock: Clock) -> Result<Self, WireError> {
        let mut damaged = 0;
        let mut block = 0;
        let (shown, left) = loop {
            if block == reader.blocks() {
                return Err(WireError::Damaged("no complete block".into()));
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
            figures: FigureHistory::default(),
            has_figures: false,
        })
    }

    /// Returns the amount of the recording decoded so far.
    pub fn decoded(&self) -> Decoded {
        let mut decoded = self.reader.decoded();
        decoded.records += self.left.read();
        decoded
    }

    /// Seeks to the end of the recording and stops there.
    pub fn to_end(&mut self) {
        let end = self.head.length();
        self.seek(end);
    }

    fn place(&mut self) -> Duration {
        self.reader.from() + self.head.position((self.clock)())
    }

    /// Plays the records up to now.
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
            Ok((shown, left)) => {
                self.left = left;
                self.show(shown);
            }
            Err(_) => self.damaged += 1,
        }
    }

    /// Ends the block being played.
    fn leave(&mut self) {
        self.reader.count(&self.left);
        self.left = Records::default();
    }

    fn take(&mut self, record: Record) {
        let taken = match record {
            Record::State(shown) => checked(*shown).map(|shown| self.show(shown)),
            Record::Seconds(seconds) => {
                self.add_seconds(seconds);
                Ok(())
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

    /// Shows a state. Its last second belongs to the figures.
    fn show(&mut self, shown: Snapshot) {
        self.add_seconds(shown.second.clone());
        self.shown = shown;
    }

    fn add_seconds(&mut self, seconds: impl IntoIterator<Item = FigureRecord>) {
        let seconds = seconds.into_iter();
        seconds.for_each(|second| self.figures.push(second));
    }

    /// Reads the figures of earlier blocks that were skipped.
    fn read_figures(&mut self) {
        if std::mem::replace(&mut self.has_figures, true) {
            return;
        }
        let played = std::mem::take(&mut self.figures);
        for block in 0..=self.block {
            let seconds = self.seconds_before(block);
            self.add_seconds(seconds);
        }
        self.add_seconds(played.records().cloned());
    }

    /// Returns the figures of the seconds before a block; none if it is damaged.
    fn seconds_before(&mut self, block: usize) -> Vec<FigureRecord> {
        let records = opening(&mut self.reader, block).map(|(_, records)| records);
        match records.and_then(|mut records| records.next()) {
            Ok(Some(Record::Seconds(seconds))) => seconds,
            _ => Vec::new(),
        }
    }

    /// Keeps as many spans as a file of this size can have.
    fn forget_oldest(&mut self) {
        let most = (self.reader.length() / SPAN).max(LEAST_SPANS);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let more = self.spans.len().saturating_sub(most);
        self.spans.drain(..more);
        self.forgotten += more as u64;
    }

    /// Seeks to `position`. Seeking backwards begins a new epoch, which discards the state shown
    /// after it.
    fn seek(&mut self, position: Duration) {
        let before = self.place();
        self.advance();
        self.head.seek((self.clock)(), position);
        let now = self.place();
        let mut from = now.saturating_sub(LOOK_BACK);
        if now < before {
            self.epoch += 1;
            self.spans.clear();
            self.figures = FigureHistory::default();
        } else if self.reader.block_at(now) == self.block {
            return self.advance();
        } else {
            from = from.max(before);
            // Skips the rest of the block being played.
            self.take_spans_left();
        }
        self.has_figures = false;
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

    /// Takes only the spans of records.
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

    /// Takes only the spans of a block.
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
                "{damaged} damaged {parts} of the recording skipped"
            ));
        }
        if !self.reader.is_whole() {
            remarks.push("the recording is incomplete: its end is missing".to_owned());
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

    fn history(&mut self) -> Result<FigureHistory, Refusal> {
        self.advance();
        self.read_figures();
        Ok(self.figures.clone())
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

    fn what_if(&mut self, _: &WhatIf) -> Result<WhatIfReply, Refusal> {
        Err(is_recording())
    }
}

fn is_recording() -> Refusal {
    SessionRefusal::IsRecording.into()
}

/// Returns the state at the start of a block, and its remaining records.
fn opening(reader: &mut RecordingReader, block: usize) -> Result<(Snapshot, Records), WireError> {
    let mut records = reader.read(block)?;
    match records.next()? {
        Some(Record::State(shown)) => Ok((checked(*shown)?, records)),
        _ => Err(WireError::Damaged("a block without a state".into())),
    }
}
