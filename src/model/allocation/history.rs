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

    /// Records that a new value replaced the current one as part of the last change. Clears the
    /// values to redo.
    pub fn extend(&mut self) {
        self.redo.clear();
    }

    /// Records that the last change was taken back as part of it: the value to undo is current
    /// again. Clears the values to redo.
    pub fn retract(&mut self) {
        self.drop_undo();
        self.redo.clear();
    }

    /// Forgets the value that an undo would restore.
    pub fn drop_undo(&mut self) {
        self.undo.pop();
    }

    /// Forgets the value that a redo would restore.
    pub fn drop_redo(&mut self) {
        self.redo.pop();
    }

    /// Forgets the oldest values to undo, then those to redo, while the others have `too_many`.
    pub fn forget_while(&mut self, too_many: impl Fn(&[&T]) -> bool) {
        while too_many(&self.values().collect::<Vec<_>>()) {
            let values = match self.undo.is_empty() {
                true => &mut self.redo,
                false => &mut self.undo,
            };
            if values.is_empty() {
                return;
            }
            values.remove(0);
        }
    }

    /// Returns all values to undo and to redo.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.undo.iter().chain(&self.redo)
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
