//! Searches in the background.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::{LogLevel, Refusal, SearchState, SearchView, SessionRefusal};
use divisi_engine::search::{
    Algorithm, Cache, Control, Method, Occasion, PredictionBasis, SearchError, SearchJob,
    SearchOutcome, SearchProgress, SearchResult,
};
use divisi_engine::serving::{Engine, LogTarget, PredictorFactory, Reservation};
use divisi_model::catalogue::Demand;
use divisi_model::profile::Costs;
use divisi_model::wall_clock::unix_seconds;
use divisi_runtime::device::{Devices, ThreadPriority, set_current_thread_priority};
use divisi_runtime::lock::Leaf;

use super::log::Log;

/// The last search and the running one.
pub(super) struct Searches {
    engine: Arc<Engine>,
    factory: Arc<dyn PredictorFactory>,
    cache: Option<Cache>,
    log: Arc<Log>,
    current: Option<Running>,
}

struct Running {
    method: Method,
    evaluator: &'static str,
    max_iter: usize,
    control: Arc<Control>,
    end: Arc<Leaf<Option<End>>>,
    thread: Option<JoinHandle<()>>,
}

/// The result of a search and its duration.
#[derive(Clone)]
struct End {
    state: SearchState,
    elapsed: Duration,
    cached: bool,
    occasion: Option<Occasion>,
    shortfall: Option<String>,
}

impl End {
    /// Returns the occasion of a cached result, or of one that other programs disturbed.
    fn occasion_in_words(&self) -> Option<String> {
        let is_notable = |occasion: &Occasion| self.cached || occasion.disturbed == Some(true);
        let occasion = self.occasion.filter(is_notable)?;
        Some(occasion.in_words(unix_seconds()))
    }
}

impl Searches {
    /// Creates the searches of a session without starting one.
    pub(super) fn new(
        engine: Arc<Engine>,
        factory: Arc<dyn PredictorFactory>,
        cache: Option<Cache>,
        log: Arc<Log>,
    ) -> Self {
        Searches {
            engine,
            factory,
            cache,
            log,
            current: None,
        }
    }

    /// Returns the cache of results and profiles.
    pub(super) fn cache(&self) -> Option<Cache> {
        self.cache.clone()
    }

    /// Starts a search for the demand. A quiet search uses `known` if there is no cached profile.
    pub(super) fn start(
        &mut self,
        method: Method,
        demand: Demand,
        known: Option<(Arc<Costs>, PredictionBasis)>,
    ) -> Result<(), Refusal> {
        let checked = method.check();
        checked.map_err(SessionRefusal::Search)?;
        if self.running().is_ok() {
            return Err(SessionRefusal::SearchRunning.into());
        }
        self.end();
        let matrix = self.engine.matrix();
        let engine = &self.engine;
        let devices = engine.devices().without_memory_of(&engine.faults().lost());
        let control = Arc::<Control>::default();
        // Assumes measuring until the search reports its state: profiles may have to be measured
        // first.
        let measures = !devices.all_simulated() && !method.quiet;
        let (reservation, measured_on) = self.room(measures, &devices, &control)?;
        let job = SearchJob {
            demand: demand.with_policy(
                self.engine.settings().policy(),
                self.engine.settings().segment_size(),
            ),
            measured_on,
            devices: devices.clone(),
            frame: Arc::clone(matrix.frame()),
            factory: Arc::clone(&self.factory),
            method,
            cache: self.cache.clone(),
            known,
        };
        let end = Arc::default();
        control.update(|p: &mut SearchProgress| p.measuring = measures);
        let evaluator = method.evaluator_on(&devices);
        let work = {
            let (control, end) = (Arc::clone(&control), Arc::clone(&end));
            let (engine, log) = (Arc::clone(&self.engine), Arc::clone(&self.log));
            move || {
                if method.quiet {
                    set_current_thread_priority(ThreadPriority::Lowest);
                }
                let result = job.run(&control);
                // The memory must be free by the time the search shows as ended.
                drop(reservation);
                tell(&result, &control, &end, &engine, &log);
            }
        };
        let thread = thread::Builder::new().name("search".into()).spawn(work);
        self.current = Some(Running {
            method,
            evaluator,
            max_iter: match method.algorithm {
                Algorithm::Greedy => method.bounds.iterations(&matrix),
                _ => 0,
            },
            control,
            end,
            thread: Some(thread.map_err(SessionRefusal::Thread)?),
        });
        Ok(())
    }

    /// Reserves memory for measurements if the search measures.
    fn room(
        &self,
        measures: bool,
        devices: &Devices,
        control: &Arc<Control>,
    ) -> Result<(Option<Reservation>, Devices), Refusal> {
        if !measures {
            let booked = self.engine.ledger(&self.engine.matrix());
            let booked = booked.map_err(SessionRefusal::DoesNotFit)?;
            return Ok((None, devices.minus_booked(&booked)));
        }
        let control = Arc::clone(control);
        let reserved = self.engine.reserve_rest(move || control.cancel());
        let reserved = reserved?;
        let free = reserved.free().clone();
        Ok((Some(reserved), free))
    }

    fn running(&self) -> Result<&Running, SessionRefusal> {
        self.current
            .as_ref()
            .filter(|r| r.end.lock().is_none())
            .ok_or(SessionRefusal::SearchNotRunning)
    }

    pub(super) fn pause(&self, paused: bool) -> Result<(), Refusal> {
        self.running()?.control.pause(paused);
        Ok(())
    }

    pub(super) fn cancel(&self) -> Result<(), Refusal> {
        self.running()?.control.cancel();
        Ok(())
    }

    /// Returns whether a search occupies the devices.
    pub(super) fn is_measuring(&self) -> bool {
        self.running().is_ok_and(|r| r.control.is_measuring())
    }

    /// Returns a function that reports whether the search occupies the devices, and `None` once it
    /// has ended.
    pub(super) fn watcher(&self) -> Option<impl Fn() -> Option<bool> + Send + 'static> {
        let running = self.running().ok()?;
        let (control, end) = (Arc::clone(&running.control), Arc::clone(&running.end));
        Some(move || {
            let measures = !control.is_waiting() && control.progress().measuring;
            end.lock().is_none().then_some(measures)
        })
    }

    /// Returns the state of the last search, or `None` before the first.
    pub(super) fn view(&self) -> Option<SearchView> {
        let running = self.current.as_ref()?;
        let progress = running.control.progress();
        let end = running.end.lock().clone();
        let state = match &end {
            Some(end) => end.state.clone(),
            None if running.control.is_paused() => SearchState::Paused,
            None => SearchState::Running,
        };
        let elapsed = end
            .as_ref()
            .map_or_else(|| running.control.elapsed(), |e| e.elapsed);
        let left = end.is_none().then(|| running.control.left()).flatten();
        Some(SearchView {
            algorithm: running.method.algorithm.name().to_owned(),
            evaluator: running.evaluator.to_owned(),
            cached: end.as_ref().is_some_and(|end| end.cached),
            occasion: end.as_ref().and_then(End::occasion_in_words),
            scored_by: running.method.evaluator,
            goal: (!running.method.goal.is_plain()).then(|| running.method.goal.to_string()),
            shortfall: end.as_ref().and_then(|e| e.shortfall.clone()),
            state,
            max_iter: running.max_iter,
            progress,
            elapsed,
            left,
        })
    }

    /// Cancels the running search and waits for its end.
    pub(super) fn end(&mut self) {
        if let Some(mut running) = self.current.take() {
            running.control.cancel();
            if let Some(thread) = running.thread.take() {
                // The result is no longer needed.
                let _ = thread.join();
            }
        }
    }
}

fn tell(
    result: &Result<SearchOutcome, SearchError>,
    control: &Control,
    end: &Leaf<Option<End>>,
    engine: &Engine,
    log: &Log,
) {
    let elapsed = control.elapsed();
    let (state, level, text) = describe(result);
    let cached = result.as_ref().is_ok_and(|o| o.cached);
    let shortfall = result.as_ref().ok().and_then(|o| o.found.shortfall.clone());
    let occasion = result.as_ref().ok().and_then(|o| o.found.occasion);
    let line = log.add(engine.telemetry().now(), LogTarget::Search, level, text);
    *end.lock() = Some(End {
        state,
        elapsed,
        cached,
        occasion,
        shortfall,
    });
    line.trace();
}

fn describe(result: &Result<SearchOutcome, SearchError>) -> (SearchState, LogLevel, String) {
    match result {
        Ok(outcome) => {
            let found = &outcome.found;
            let occasion = found.occasion.filter(|_| outcome.cached);
            let occasion = occasion.map(|occasion| occasion.in_words(unix_seconds()));
            let source = match outcome.cached {
                true => format!(" (from the cache, {})", occasion.unwrap_or_default()),
                false => String::new(),
            };
            let text = format!("search finished{source}: {}", in_words(found));
            if let Some(lack) = &found.shortfall {
                let text = format!("{text}; no matrix meets the goal: {lack}");
                return (SearchState::Finished, LogLevel::Warn, text);
            }
            match &outcome.cache_error {
                None => (SearchState::Finished, LogLevel::Info, text),
                Some(why) => {
                    let text = format!("{text}; the result was not cached: {why}");
                    (SearchState::Finished, LogLevel::Warn, text)
                }
            }
        }
        Err(SearchError::Stopped(_)) => (
            SearchState::Cancelled,
            LogLevel::Info,
            "search cancelled".into(),
        ),
        Err(error) => (
            SearchState::Failed(error.to_string()),
            LogLevel::Error,
            format!("search failed: {error}"),
        ),
    }
}

/// Returns a score with its uncertainty, and its gain over the start.
fn in_words(found: &SearchResult) -> String {
    let score = format!("{:.0} samples/s ({})", found.score, found.doubt);
    match found.gain {
        Some(gain) if found.score == found.start_score && !gain.is_better() => {
            format!("no better matrix found: {score}; the best candidate does {gain}")
        }
        Some(gain) => format!("{score}, {gain} over the start"),
        None => {
            let gain = 100.0 * (found.score / found.start_score.max(1e-9) - 1.0);
            format!("{score}, {gain:+.0} % over the start, which was not measured")
        }
    }
}
