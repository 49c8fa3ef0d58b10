//! The history of undo and redo.

/// An undo and redo history of successive values.
#[derive(Clone, Debug)]
pub struct UndoHistory<T> {
    undo: Vec<T>,
    redo: Vec<T>,
}

/// The maximum number of values to undo. Older values are forgotten.
const MOST: usize = 100;

impl<T> Default for UndoHistory<T> {
    fn default() -> Self {
        UndoHistory {
            undo: Vec::new(),
            redo: Vec::new(),
        }
    }
}

impl<T: Clone> UndoHistory<T> {
    /// Records that a new value replaced `old`. Clears the values to redo.
    pub fn push(&mut self, old: T) {
        self.undo.push(old);
        if self.undo.len() > MOST {
            self.undo.remove(0);
        }
        self.redo.clear();
    }

    /// Forgets the oldest values beyond `most` values to undo and `most` values to redo.
    pub fn truncate(&mut self, most: usize) {
        for values in [&mut self.undo, &mut self.redo] {
            let over = values.len().saturating_sub(most);
            values.drain(..over);
        }
    }

    /// Returns the value that an undo would restore, or `None` if there is no value to undo.
    pub fn to_undo(&self) -> Option<&T> {
        self.undo.last()
    }

    /// Returns the value that a redo would restore, or `None` if there is no value to redo.
    pub fn to_redo(&self) -> Option<&T> {
        self.redo.last()
    }

    /// Records an undo: the previous value replaced `current`.
    pub fn undone(&mut self, current: T) {
        self.undo.pop();
        self.redo.push(current);
    }

    /// Records a redo: the next value replaced `current`.
    pub fn redone(&mut self, current: T) {
        self.redo.pop();
        self.undo.push(current);
    }
}
