//! The load generator: a thread that sends samples by a pattern and counts right answers if labels
//! are known.
//!
//! Latencies of open patterns count from the due time of a request, not from its sending. Otherwise
//! a generator that falls behind would hide the wait of its clients (coordinated omission).
//! Latencies of a closed loop count from the sending, because a client sends only after its last
//! answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::serving::{Engine, Outcome, PipelineIndex, Refused, Request};
use divisi_model::ensemble::{Ensemble, Samples};

use super::arrivals::{Arrivals, LoadError};
use super::asked::{EntryOrder, LoadSamples};
use super::chooser::ChosenEntry;
use super::pattern::LoadPattern;
use super::tally::{LoadTally, SentSamples};

/// A running generator. Dropping it stops it.
pub struct Generator {
    stop: Arc<AtomicBool>,
    tally: Arc<LoadTally>,
    thread: Option<JoinHandle<()>>,
}

/// The wait before a refused request is sent again.
const RETRY: Duration = Duration::from_millis(5);

/// The longest wait for answers before the thread checks the stop flag.
const PATIENCE: Duration = Duration::from_millis(100);

impl Generator {
    /// Sends `samples`, repeated, to their entries by `pattern` until it is stopped. With a limit
    /// it ends after this number of samples, when all their requests are over.
    ///
    /// # Errors
    /// A recording cannot be read, or the thread cannot be started.
    pub fn start(
        engine: Arc<Engine>,
        samples: impl Into<LoadSamples>,
        pattern: LoadPattern,
        seed: u64,
        limit: Option<usize>,
    ) -> Result<Self, LoadError> {
        Generator::go_on(engine, samples, pattern, seed, limit, Arc::default())
    }

    /// Starts like [`Generator::start`], and continues the counters of `tally`.
    ///
    /// # Errors
    /// See [`Generator::start`].
    pub fn go_on(
        engine: Arc<Engine>,
        samples: impl Into<LoadSamples>,
        pattern: LoadPattern,
        seed: u64,
        limit: Option<usize>,
        tally: Arc<LoadTally>,
    ) -> Result<Self, LoadError> {
        let arrivals = Arrivals::new(&pattern, seed)?;
        let stop = Arc::new(AtomicBool::new(false));
        let samples = samples.into();
        let sender = SenderLoop {
            // A chooser provides the engines, so this one need not stay alive.
            engine: samples.chooser().is_none().then_some(engine),
            order: EntryOrder::for_pattern(&pattern, samples.mix(), seed),
            next: vec![0; samples.mix().entries()],
            samples,
            stop: Arc::clone(&stop),
            tally: Arc::clone(&tally),
            left: limit,
        };
        let thread = thread::Builder::new()
            .name("load".into())
            .spawn(move || sender.run(arrivals, &pattern))
            .map_err(|e| LoadError::Thread(e.to_string()))?;
        Ok(Generator {
            stop,
            tally,
            thread: Some(thread),
        })
    }

    /// Returns the counters.
    pub fn tally(&self) -> &Arc<LoadTally> {
        &self.tally
    }

    /// Returns whether the generator has ended.
    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Stops the generator without waiting for its end.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The number of retries for a request whose engine was replaced.
const AGAIN: usize = 3;

/// The reason why a request was not sent.
enum NotSent {
    /// The chosen engine was replaced by another one.
    Followed(Refused),
    /// The request was refused.
    Refused(Refused),
}

/// The target entry of a request, and its engine.
struct AskedEntry {
    engine: Arc<Engine>,
    /// The entry's number in the engine's catalogue.
    entry: usize,
    samples: Arc<Samples>,
    priority: u64,
    /// The time until the answer is due.
    due: Option<Duration>,
    /// Called with the latency of the request if a chooser chose the entry.
    answered: Option<Box<dyn FnOnce(Duration) + Send>>,
}

/// The thread of a generator.
struct SenderLoop {
    /// The engine for all requests, or `None` if a chooser provides it.
    engine: Option<Arc<Engine>>,
    samples: LoadSamples,
    order: EntryOrder,
    stop: Arc<AtomicBool>,
    tally: Arc<LoadTally>,
    /// The next sample of each entry.
    next: Vec<usize>,
    /// The samples still to send, if there is a limit.
    left: Option<usize>,
}

impl SenderLoop {
    fn run(mut self, arrivals: Option<Arrivals>, pattern: &LoadPattern) {
        let (done, answers) = channel();
        match (arrivals, pattern) {
            (Some(arrivals), _) => self.run_open(arrivals, &done, &answers),
            (None, LoadPattern::Closed { clients, samples }) => {
                self.run_closed(clients.count(), samples.count(), &done, &answers);
            }
            (None, _) => {}
        }
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Acquire) || self.left == Some(0)
    }

    fn run_open(&mut self, mut arrivals: Arrivals, done: &Sender<()>, answers: &Receiver<()>) {
        let mut due = Instant::now();
        let mut under_way = 0;
        while !self.is_over() {
            due += arrivals.next_gap();
            while let Some(left) = due.checked_duration_since(Instant::now()) {
                if self.stop.load(Ordering::Acquire) {
                    return;
                }
                thread::park_timeout(left);
            }
            let late = Instant::now().saturating_duration_since(due);
            let micros = u64::try_from(late.as_micros()).unwrap_or(u64::MAX);
            self.tally.behind.store(micros, Ordering::Relaxed);
            let sent = self.send(1, late, done);
            self.count_down(1);
            under_way += usize::from(sent.is_ok());
            if sent.is_err() {
                // The request is lost, and the next one may go to another entry.
                self.order.sent(1);
            }
            under_way -= answers.try_iter().count();
        }
        self.await_rest(under_way, answers);
    }

    fn run_closed(
        &mut self,
        clients: usize,
        samples: usize,
        done: &Sender<()>,
        answers: &Receiver<()>,
    ) {
        let mut idle = clients;
        while !self.is_over() {
            while idle > 0 && !self.is_over() {
                let count = self.left.map_or(samples, |left| samples.min(left));
                match self.send(count, Duration::ZERO, done) {
                    Ok(()) => {
                        self.count_down(count);
                        idle -= 1;
                    }
                    Err(Refused::Full { .. } | Refused::QueueFull { .. }) => break,
                    // With a limit, retrying is pointless.
                    Err(_) if self.left.is_some() => {
                        self.left = Some(0);
                    }
                    Err(_) => {
                        // One entry may be closed while others are not.
                        self.order.sent(count);
                        break;
                    }
                }
            }
            idle += collect(answers, if idle > 0 { RETRY } else { PATIENCE });
        }
        self.await_rest(clients - idle, answers);
    }

    fn count_down(&mut self, sent: usize) {
        self.left = self.left.map(|left| left.saturating_sub(sent));
    }

    /// Waits for the last request, if there is a limit.
    fn await_rest(&self, mut under_way: usize, answers: &Receiver<()>) {
        while self.left.is_some() && under_way > 0 && !self.stop.load(Ordering::Acquire) {
            under_way -= collect(answers, PATIENCE);
        }
    }

    /// Sends the next `count` samples, `late` after their due time.
    fn send(&mut self, count: usize, late: Duration, done: &Sender<()>) -> Result<(), Refused> {
        let mut sent = self.send_once(count, late, done);
        // The chosen engine may just have been replaced.
        for _ in 0..AGAIN {
            if !matches!(sent, Err(NotSent::Followed(_))) {
                break;
            }
            sent = self.send_once(count, late, done);
        }
        let counter = match sent {
            Ok(()) => &self.tally.sent,
            Err(_) => &self.tally.refused,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        sent.map_err(|(NotSent::Followed(why) | NotSent::Refused(why))| why)
    }

    fn send_once(
        &mut self,
        count: usize,
        late: Duration,
        done: &Sender<()>,
    ) -> Result<(), NotSent> {
        let Some(target) = self.target(count)? else {
            return Ok(());
        };
        let AskedEntry {
            engine,
            entry,
            samples,
            priority,
            due: wanted,
            answered,
        } = target;
        let is_chosen = answered.is_some();
        let of_next = if is_chosen { 0 } else { entry };
        let first = self
            .next
            .get(of_next)
            .map_or(0, |next| next % samples.len());
        let tally = Arc::clone(&self.tally);
        let done = done.clone();
        let ensemble = ensemble(&engine, entry);
        let sent = SentSamples {
            is_compared: self.is_compared(entry, &ensemble),
            ensemble,
            samples: Arc::clone(&samples),
            first,
            graded: Arc::clone(engine.telemetry().graded()),
        };
        let due = Instant::now().checked_sub(late);
        let reply = move |outcome: Outcome| {
            tally.count(&outcome, &sent);
            if let (Some(answered), Ok(_)) = (answered, &outcome) {
                answered(due.map_or(Duration::ZERO, |due| due.elapsed()));
            }
            // The generator may have stopped listening.
            let _ = done.send(());
        };
        let values = samples.rows(first, count);
        let request = Request {
            targets: samples.targets().map(|targets| (targets, first)),
            late,
            priority,
            due: wanted.map(|wanted| wanted.saturating_add(late)),
            ..Request::new(&values).to(PipelineIndex(entry))
        };
        let sent = engine.submit_with(request, Box::new(reply));
        if sent.is_ok() {
            if let Some(next) = self.next.get_mut(of_next) {
                *next = (first + count) % samples.len();
            }
            self.order.sent(count);
        }
        sent.map_err(|why| match why {
            Refused::Closed(_) if is_chosen => NotSent::Followed(why),
            _ => NotSent::Refused(why),
        })
    }

    /// Returns the target of the next request, or `None` if there is nothing to send.
    fn target(&self, samples: usize) -> Result<Option<AskedEntry>, NotSent> {
        let Some(chooser) = self.samples.chooser() else {
            let entry = self.order.next();
            let samples = self.samples.of_entry(entry);
            let asked = self.engine.as_ref().zip(samples);
            return Ok(asked.map(|(engine, samples)| AskedEntry {
                engine: Arc::clone(engine),
                entry,
                samples: Arc::clone(samples),
                priority: 0,
                due: None,
                answered: None,
            }));
        };
        let ChosenEntry {
            engine,
            name,
            priority,
            due,
            answered,
        } = chooser
            .choose(samples)
            .map_err(|why| NotSent::Refused(Refused::Closed(why)))?;
        let entry = engine.catalogue().find(&name, None);
        let gone = || Refused::Closed(format!("`{name}` is no longer served"));
        let entry = entry.ok_or_else(|| NotSent::Followed(gone()))?;
        let samples = engine.catalogue().entries()[entry]
            .ensemble()
            .calibration
            .clone();
        Ok(samples.map(|samples| AskedEntry {
            engine,
            entry,
            samples,
            priority,
            due,
            answered: Some(answered),
        }))
    }

    /// Returns whether the answers of an entry count in the quality figures.
    fn is_compared(&self, entry: usize, asked: &Ensemble) -> bool {
        let first = self.samples.first();
        let is_of_classes = asked.answers.is_of_classes();
        match &self.engine {
            None => is_of_classes,
            Some(_) if entry == first => true,
            Some(engine) => is_of_classes && ensemble(engine, first).answers.is_of_classes(),
        }
    }
}

/// Returns the members and answers of an entry.
fn ensemble(engine: &Engine, entry: usize) -> Arc<Ensemble> {
    let entries = engine.catalogue().entries();
    let entry = entries.get(entry).map(|entry| entry.ensemble());
    Arc::clone(entry.unwrap_or_else(|| engine.ensemble()))
}

/// Waits at most `patience` for a request to finish, and returns the number of finished requests.
fn collect(answers: &Receiver<()>, patience: Duration) -> usize {
    match answers.recv_timeout(patience) {
        Ok(()) => 1 + answers.try_iter().count(),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => 0,
    }
}
