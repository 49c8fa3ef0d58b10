//! GPUs that are lost while they serve: what ran there moves to what remains, whether or
//! not a console looks.

use std::io;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::lock::lock;
use crate::serving::{Engine, Loss, ReloadError};
use crate::session::{LogLevel, MarkKind, ProbationState};

use super::change::{self, Order, fallback};
use super::reloads::Inner;

/// Begins to listen where there are GPUs: whatever is lost from now on, or was lost
/// already, is evacuated by a thread that ends once [`stop`] was called.
pub(super) fn listen(inner: &Arc<Inner>) -> Option<JoinHandle<()>> {
    let engine = &inner.engine;
    let mut devices = 0..engine.devices().count();
    if !devices.any(|device| engine.capabilities(device).may_fail) {
        return None;
    }
    let thread = start(inner);
    let failed = thread.map_err(|error| {
        let text = format!("GPUs that are lost will not be evacuated: {error}");
        inner.log.add(inner.engine.now(), LogLevel::Warn, text);
    });
    failed.ok()
}

fn start(inner: &Arc<Inner>) -> io::Result<JoinHandle<()>> {
    let (tell, told) = channel();
    let of_thread = Arc::clone(inner);
    let work = move || run(&of_thread, &told);
    let thread = thread::Builder::new().name("losses".into()).spawn(work)?;
    let tell = Mutex::new(tell);
    inner.engine.on_loss(move |loss| {
        // Nobody listens any more once the session has ended.
        let _ = lock(&tell).send(loss);
    });
    Ok(thread)
}

/// Listens no more; the thread ends.
pub(super) fn stop(engine: &Engine) {
    engine.on_loss(|_| {});
}

fn run(inner: &Inner, told: &Receiver<Loss>) {
    for loss in told {
        let name = inner.engine.devices().get(loss.device).name.clone();
        let text = format!("{name} lost: {}", loss.reason);
        take_turn(inner, &text);
        change::run(inner, Order::new("evacuation".into()), |engine, watch| {
            let over = lock(&inner.state).over;
            let way = |running: &_| match over {
                true => Err("the system is shutting down".into()),
                false => fallback(engine, running),
            };
            let lost = engine.lose_device(loss.device, way, watch);
            lost.map_err(|error| ReloadError::NoRefuge(error.to_string()))
        });
    }
}

/// Waits until no other change is under way, and begins one; what is on probation stays.
fn take_turn(inner: &Inner, text: &str) {
    let state = lock(&inner.state);
    let state = inner.changed.wait_while(state, |s| s.busy);
    let mut state = state.unwrap_or_else(PoisonError::into_inner);
    let now = inner.engine.now();
    if state.end_trial(ProbationState::Kept).is_some() {
        let text = format!("probation ended before its time ({text}): what was on it was kept");
        inner.log.add(now, LogLevel::Info, text);
    }
    state
        .change_log
        .mark(now, MarkKind::Device, text.to_owned());
    state.begin();
}
