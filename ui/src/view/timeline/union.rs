//! Times that may overlap, each moment counted once.

/// So many separate times are remembered; spans come nearly in order, so what comes
/// late only overlaps the latest.
const MOST: usize = 4096;

/// Separate times in their order, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Union {
    parts: Vec<(u64, u64)>,
}

impl Union {
    /// Adds a time and calls `fresh` with what of it was not covered before.
    pub(super) fn add(&mut self, start: u64, end: u64, mut fresh: impl FnMut(u64, u64)) {
        let after = self.parts.iter().rev().take_while(|p| p.1 >= start).count();
        let at = self.parts.len() - after;
        let met = self.parts[at..].iter().take_while(|p| p.0 <= end).count();
        let (mut from, mut whole) = (start, (start, end));
        for part in &self.parts[at..at + met] {
            if part.0 > from {
                fresh(from, part.0);
            }
            from = from.max(part.1);
            whole = (whole.0.min(part.0), whole.1.max(part.1));
        }
        if from < end {
            fresh(from, end);
        }
        self.parts.splice(at..at + met, [whole]);
        if self.parts.len() > MOST {
            self.parts.drain(..MOST / 2);
        }
    }
}
