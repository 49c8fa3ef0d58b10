//! What ran before, to go back and forth.

/// Undo and redo over values that replaced each other.
#[derive(Clone, Debug)]
pub struct UndoHistory<T> {
    undo: Vec<T>,
    redo: Vec<T>,
}

/// Older ones are forgotten.
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
    /// `old` was replaced by something new.
    pub fn replaced(&mut self, old: T) {
        self.undo.push(old);
        if self.undo.len() > MOST {
            self.undo.remove(0);
        }
        self.redo.clear();
    }

    /// What ran before.
    pub fn before(&self) -> Option<&T> {
        self.undo.last()
    }

    /// What the last undo took back.
    pub fn after(&self) -> Option<&T> {
        self.redo.last()
    }

    /// The one before runs again, in place of `current`.
    pub fn went_back(&mut self, current: T) {
        self.undo.pop();
        self.redo.push(current);
    }

    /// The one after runs again, in place of `current`.
    pub fn went_forth(&mut self, current: T) {
        self.redo.pop();
        self.undo.push(current);
    }
}
