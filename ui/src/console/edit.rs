//! Staged changes of the matrix: a copy, its history, and what is being typed.

use divisi::allocation::{Cell, Matrix};
use divisi::ensemble::BatchSize;

/// A matrix being edited. Only valid matrices are ever staged.
#[derive(Clone, Debug)]
pub struct Edit {
    staged: Matrix,
    past: Vec<Matrix>,
    future: Vec<Matrix>,
    /// Digits typed at the cursor so far.
    typed: String,
    /// The last step of the history came from `typed`.
    typing: bool,
    /// Why the last change was not entered.
    error: Option<String>,
}

impl Edit {
    /// Starts from the running matrix.
    pub fn new(matrix: Matrix) -> Self {
        Edit {
            staged: matrix,
            past: Vec::new(),
            future: Vec::new(),
            typed: String::new(),
            typing: false,
            error: None,
        }
    }

    /// The matrix as staged.
    pub fn staged(&self) -> &Matrix {
        &self.staged
    }

    /// Why the last change was not entered, until the next key.
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Digits that are no batch size yet.
    pub fn typed(&self) -> &str {
        if self.typing { "" } else { &self.typed }
    }

    /// Forgets what was typed, as when the cursor moves.
    pub fn settle(&mut self) {
        self.typed.clear();
        self.typing = false;
        self.error = None;
    }

    /// Sets one entry, or says why not.
    pub fn set(&mut self, cell: Cell, entry: Option<BatchSize>) {
        self.settle();
        self.enter(cell, entry);
    }

    /// The allowed size `step` places on; 0 is before the smallest. Sizes that would
    /// break a rule are not entered and say so.
    pub fn cycle(&mut self, cell: Cell, step: isize) {
        let sizes: Vec<Option<BatchSize>> = std::iter::once(None)
            .chain(self.staged.frame().batch_sizes.iter().map(Some))
            .collect();
        let current = self.staged.get(cell);
        let at = sizes.iter().position(|s| *s == current).unwrap_or(0) as isize;
        let next = (at + step).rem_euclid(sizes.len() as isize);
        self.set(cell, sizes[next as usize]);
    }

    /// One more digit at the cursor.
    pub fn digit(&mut self, cell: Cell, digit: char) {
        self.error = None;
        let longer = format!("{}{digit}", self.typed);
        let fresh = digit.to_string();
        // After a whole number a digit that cannot follow it starts another one.
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
        self.staged.frame().batch_sizes.contains(size)
    }

    /// Some allowed size begins with these digits.
    fn promising(&self, text: &str) -> bool {
        let starts = |s: BatchSize| s.to_string().starts_with(text);
        text == "0" || self.staged.frame().batch_sizes.iter().any(starts)
    }

    fn enter(&mut self, cell: Cell, entry: Option<BatchSize>) {
        self.replace(cell, entry, false);
    }

    /// Gives whether it was entered. `amend` adds no step to the history: `1` and then
    /// `6` is one change.
    fn replace(&mut self, cell: Cell, entry: Option<BatchSize>, amend: bool) -> bool {
        match self.staged.with(cell, entry) {
            Err(error) => {
                self.error = Some(error.to_string());
                false
            }
            Ok(matrix) => {
                self.step(matrix, amend);
                true
            }
        }
    }

    fn step(&mut self, matrix: Matrix, amend: bool) {
        if matrix == self.staged {
            return;
        }
        let before = std::mem::replace(&mut self.staged, matrix);
        if !amend {
            self.past.push(before);
        }
        self.future.clear();
    }

    /// Takes the last change back; whether there was one.
    pub fn undo(&mut self) -> bool {
        self.settle();
        let Some(matrix) = self.past.pop() else {
            return false;
        };
        let after = std::mem::replace(&mut self.staged, matrix);
        self.future.push(after);
        true
    }

    /// Makes it again; whether there was one.
    pub fn redo(&mut self) -> bool {
        self.settle();
        let Some(matrix) = self.future.pop() else {
            return false;
        };
        let before = std::mem::replace(&mut self.staged, matrix);
        self.past.push(before);
        true
    }
}
