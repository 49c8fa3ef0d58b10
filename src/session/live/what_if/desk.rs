//! A thread that computes the figures of cases, one after another. It has the usual priority: an
//! operator of a busy machine waits for the answers.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use divisi_runtime::lock::Leaf;

use crate::WhatIf;

use super::figures::{CaseWork, Figures};

/// A case: a question, or the running setup.
type CaseSubject = Option<WhatIf>;

/// The most cases that wait. The oldest is dropped, and computed if it is asked for again.
const MOST_WAITING: usize = 32;

/// The cases of one set of facts, and the thread.
#[derive(Default)]
pub(super) struct Desk {
    shared: Arc<DeskShared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct DeskShared {
    state: Leaf<DeskState>,
    stop: Arc<AtomicBool>,
}

#[derive(Default)]
struct DeskState {
    /// The number of the facts behind these cases.
    facts: u64,
    waiting: VecDeque<(CaseSubject, CaseWork)>,
    computing: Option<(u64, CaseSubject)>,
    known: Vec<(CaseSubject, Figures)>,
    /// Whether the thread takes more cases.
    is_running: bool,
}

impl Desk {
    /// Returns whether cases wait or are being computed.
    pub(super) fn is_busy(&self) -> bool {
        let state = self.shared.state.lock();
        state.computing.is_some() || !state.waiting.is_empty()
    }

    /// Returns `Some(figures)` of a known case under these facts, `Some(None)` if they are being
    /// computed, or `None` if they have to be begun. Cases of other facts are dropped.
    pub(super) fn known(&self, facts: u64, about: Option<&WhatIf>) -> Option<Option<Figures>> {
        let mut state = self.shared.state.lock();
        if state.facts != facts {
            state.facts = facts;
            state.waiting.clear();
            state.known.clear();
        }
        let is_about = |subject: &CaseSubject| subject.as_ref() == about;
        let known = state.known.iter().find(|(subject, _)| is_about(subject));
        if let Some((_, figures)) = known {
            return Some(Some(figures.clone()));
        }
        let current = state.computing.as_ref();
        let is_current = current.is_some_and(|(of, subject)| *of == facts && is_about(subject));
        let waits = state.waiting.iter().any(|(subject, _)| is_about(subject));
        (is_current || waits).then_some(None)
    }

    /// Begins to compute a case.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(super) fn begin(&mut self, about: CaseSubject, work: CaseWork) -> io::Result<()> {
        let mut state = self.shared.state.lock();
        if state.waiting.len() >= MOST_WAITING {
            state.waiting.pop_front();
        }
        state.waiting.push_back((about, work));
        if state.is_running {
            return Ok(());
        }
        state.is_running = true;
        drop(state);
        self.start().inspect_err(|_| {
            let mut state = self.shared.state.lock();
            state.is_running = false;
            state.waiting.clear();
        })
    }

    fn start(&mut self) -> io::Result<()> {
        self.join();
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new()
            .name("what-if".into())
            .spawn(move || while shared.compute_next() {});
        self.thread = Some(thread?);
        Ok(())
    }

    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            // Its results are in the shared state.
            let _ = thread.join();
        }
    }
}

impl DeskShared {
    /// Computes the next case. Returns `false` if none waits.
    fn compute_next(&self) -> bool {
        let Some((facts, subject, work)) = self.take() else {
            return false;
        };
        let figures = work.figures(&self.stop);
        let mut state = self.state.lock();
        state.computing = None;
        if state.facts == facts {
            state.known.push((subject, figures));
        }
        true
    }

    fn take(&self) -> Option<(u64, CaseSubject, CaseWork)> {
        let mut state = self.state.lock();
        let next = state.waiting.pop_front();
        let next = next.filter(|_| !self.stop.load(Ordering::Acquire));
        let Some((subject, work)) = next else {
            state.is_running = false;
            return None;
        };
        state.computing = Some((state.facts, subject.clone()));
        Some((state.facts, subject, work))
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.join();
    }
}
