//! Staged changes: a copy of the setup, its history, and the typed digits.

use divisi_model::allocation::{Cell, Matrix};
use divisi_model::ensemble::{BatchSize, MemberPrecision};
use divisi_runtime::device::MemberIndex;
use divisi_session::{EditPreview, Refusal, Setup};

/// A setup being edited. Only valid matrices are staged.
#[derive(Clone, Debug)]
pub struct SetupEdit {
    staged: Setup,
    past: Vec<Setup>,
    future: Vec<Setup>,
    /// The digits typed at the cursor.
    typed: String,
    /// Whether the last step of the history came from `typed`.
    typing: bool,
    /// The reason why the last change was rejected.
    error: Option<String>,
    /// The worker taken for another device.
    mark: Option<TakenWorker>,
    /// The setup of the last requested preview.
    asked: Option<Setup>,
    /// The session's latest preview.
    preview: Option<Result<EditPreview, Refusal>>,
}

/// A worker taken for another device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenWorker {
    /// Its place.
    pub from: Cell,
    /// Its batch size.
    pub size: BatchSize,
    /// Whether it is moved instead of copied.
    pub moves: bool,
}

impl SetupEdit {
    /// Starts from the running setup.
    pub fn new(running: Setup) -> Self {
        SetupEdit {
            staged: running,
            past: Vec::new(),
            future: Vec::new(),
            typed: String::new(),
            typing: false,
            error: None,
            mark: None,
            asked: None,
            preview: None,
        }
    }

    /// Returns the staged matrix.
    pub fn staged(&self) -> &Matrix {
        &self.staged.matrix
    }

    /// Returns the staged setup.
    pub fn setup(&self) -> &Setup {
        &self.staged
    }

    /// The worker taken for another device.
    pub fn mark(&self) -> Option<TakenWorker> {
        self.mark
    }

    /// Takes the worker at `cell`, to copy or move it. Shows an error if there is no worker.
    pub fn take(&mut self, cell: Cell, moves: bool) {
        self.settle();
        match self.staged.matrix.get(cell) {
            Some(size) => {
                let from = cell;
                self.mark = Some(TakenWorker { from, size, moves });
            }
            None => self.error = Some("no worker here to take: choose another entry".into()),
        }
    }

    /// Releases the taken worker. Returns whether there was one.
    pub fn unmark(&mut self) -> bool {
        self.mark.take().is_some()
    }

    /// Shows why a change was rejected.
    pub fn refuse(&mut self, why: impl Into<String>) {
        self.settle();
        self.error = Some(why.into());
    }

    /// Stages a whole setup as one step.
    pub fn stage(&mut self, setup: Setup) {
        self.settle();
        self.mark = None;
        self.step(setup, false);
    }

    /// Returns the session's latest preview of a staged setup, or `None` before the first one.
    pub fn preview(&self) -> Option<&Result<EditPreview, Refusal>> {
        self.preview.as_ref()
    }

    /// Returns the setup to preview, once for each setup.
    pub fn question(&mut self) -> Option<Setup> {
        if self.asked.as_ref() == Some(&self.staged) {
            return None;
        }
        self.asked = Some(self.staged.clone());
        self.asked.clone()
    }

    /// Takes a preview; one of an earlier setup is dropped.
    pub fn answered(&mut self, about: &Setup, preview: &Result<EditPreview, Refusal>) {
        if *about == self.staged {
            self.preview = Some(preview.clone());
        }
    }

    /// Requests a new preview of the staged setup, since the running setup has changed.
    pub fn ask_again(&mut self) {
        self.asked = None;
    }

    /// Returns the reason why the last change was rejected, until the next key.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Returns typed digits that are not a batch size yet.
    pub fn typed(&self) -> &str {
        if self.typing { "" } else { &self.typed }
    }

    /// Discards typed digits, such as when the cursor moves.
    pub fn settle(&mut self) {
        self.typed.clear();
        self.typing = false;
        self.error = None;
    }

    /// Sets one entry, or shows why not.
    pub fn set(&mut self, cell: Cell, entry: Option<BatchSize>) {
        self.settle();
        self.enter(cell, entry);
    }

    /// Sets the batch size `step` places further; 0 comes before the smallest. A size that breaks a
    /// rule is rejected with the reason.
    pub fn cycle(&mut self, cell: Cell, step: isize) {
        let sizes: Vec<Option<BatchSize>> = std::iter::once(None)
            .chain(self.staged.matrix.frame().batch_sizes.iter().map(Some))
            .collect();
        let current = self.staged.matrix.get(cell);
        let at = sizes.iter().position(|s| *s == current).unwrap_or(0) as isize;
        let next = (at + step).rem_euclid(sizes.len() as isize);
        self.set(cell, sizes[next as usize]);
    }

    /// Sets the next precision for a member. The running precision is stored as `running` again.
    pub fn next_precision(
        &mut self,
        member: MemberIndex,
        running: MemberPrecision,
        with_gpus: bool,
    ) {
        self.settle();
        let Some(staged) = self.staged.precisions.get(member.get()) else {
            return;
        };
        let next = staged.next(with_gpus);
        let next = match next.to_text() == running.to_string() {
            true => running,
            false => next.replacing(running),
        };
        let mut setup = self.staged.clone();
        setup.precisions[member.get()] = next;
        self.step(setup, false);
    }

    /// Adds a digit at the cursor.
    pub fn digit(&mut self, cell: Cell, digit: char) {
        self.error = None;
        let longer = format!("{}{digit}", self.typed);
        let fresh = digit.to_string();
        // After a complete number, a digit that cannot continue it starts a new one.
        let text = match !self.promising(&longer) && self.typing && self.promising(&fresh) {
            true => {
                self.typing = false;
                fresh
            }
            false => longer,
        };
        self.read(cell, text);
    }

    fn read(&mut self, cell: Cell, text: String) {
        let value = text.parse::<u32>().ok();
        let entry = value.and_then(BatchSize::new);
        let whole = value == Some(0) || entry.is_some_and(|e| self.allowed(e));
        if !whole && self.promising(&text) {
            self.typed = text;
            self.typing = false;
            return;
        }
        if !whole && entry.is_none() {
            self.error = Some(format!("batch size {text} is too large"));
            self.typed.clear();
            return;
        }
        let typing = self.typing;
        self.typed = text;
        self.typing = self.replace(cell, entry, typing);
        if !self.typing {
            self.typed.clear();
        }
    }

    fn allowed(&self, size: BatchSize) -> bool {
        self.staged.matrix.frame().batch_sizes.contains(size)
    }

    /// Returns whether an allowed size begins with these digits.
    fn promising(&self, text: &str) -> bool {
        let starts = |s: BatchSize| s.to_string().starts_with(text);
        text == "0" || self.staged.matrix.frame().batch_sizes.iter().any(starts)
    }

    fn enter(&mut self, cell: Cell, entry: Option<BatchSize>) {
        self.replace(cell, entry, false);
    }

    /// Sets an entry and returns whether it was accepted. `amend` adds no step to the history,
    /// since `1` and then `6` is one change.
    fn replace(&mut self, cell: Cell, entry: Option<BatchSize>, amend: bool) -> bool {
        match self.staged.matrix.with_entry(cell, entry) {
            Err(error) => {
                self.error = Some(error.to_string());
                false
            }
            Ok(matrix) => {
                self.step(self.staged.with_matrix(matrix), amend);
                true
            }
        }
    }

    fn step(&mut self, setup: Setup, amend: bool) {
        if setup == self.staged {
            return;
        }
        let before = std::mem::replace(&mut self.staged, setup);
        if !amend {
            self.past.push(before);
        }
        self.future.clear();
    }

    /// Undoes the last change. Returns whether there was one.
    pub fn undo(&mut self) -> bool {
        self.settle();
        let Some(setup) = self.past.pop() else {
            return false;
        };
        let after = std::mem::replace(&mut self.staged, setup);
        self.future.push(after);
        true
    }

    /// Redoes the undone change. Returns whether there was one.
    pub fn redo(&mut self) -> bool {
        self.settle();
        let Some(setup) = self.future.pop() else {
            return false;
        };
        let before = std::mem::replace(&mut self.staged, setup);
        self.past.push(before);
        true
    }
}
