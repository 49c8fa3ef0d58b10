//! A bound on the values that are made of a file's constants while it is loaded, so that a small
//! file cannot ask for much memory.

use std::collections::HashSet;

use super::error::NodeFault;

/// Values that any file may make: shapes, masks and tables of positions.
const FREE: usize = 1 << 24;

/// Values that may be made for each value in the file: transposed, converted, cut, joined and
/// standardised.
const FOR_EACH: usize = 8;

/// Values that may be filled with one number, as files without weights do: VGG19 has 144 million.
const FILLED: usize = 150 << 20;

/// The values that may still be made.
#[derive(Debug)]
pub(super) struct FoldBudget<'a> {
    left: usize,
    filled: usize,
    /// The initialisers that are counted.
    counted: HashSet<&'a str>,
}

impl Default for FoldBudget<'_> {
    fn default() -> Self {
        FoldBudget {
            left: FREE,
            filled: FILLED,
            counted: HashSet::new(),
        }
    }
}

impl<'a> FoldBudget<'a> {
    /// Returns the budget of a file that holds `bytes` bytes of values.
    pub(super) fn of_bytes(bytes: usize) -> Self {
        let values = bytes / size_of::<i64>();
        FoldBudget {
            left: FREE.saturating_add(values.saturating_mul(FOR_EACH)),
            ..FoldBudget::default()
        }
    }

    /// Counts an initialiser once.
    pub(super) fn count(&mut self, name: &'a str, values: usize) {
        if self.counted.insert(name) {
            self.left = self.left.saturating_add(values.saturating_mul(FOR_EACH));
        }
    }

    /// Takes values that a node fills with one number.
    ///
    /// # Errors
    /// They are more than a file may fill.
    pub(super) fn fill(&mut self, values: usize) -> Result<(), NodeFault> {
        match self.filled.checked_sub(values) {
            Some(left) => {
                self.filled = left;
                Ok(())
            }
            None => self.spend(values),
        }
    }

    /// Checks that a node may make `values` values, before it makes them.
    ///
    /// # Errors
    /// The number exceeds the budget.
    pub(super) fn check(&self, values: usize) -> Result<(), NodeFault> {
        match values <= self.left {
            true => Ok(()),
            false => Err(NodeFault::Shapes(format!(
                "its constants expand to {values} more values than a file of this size may create"
            ))),
        }
    }

    /// Takes values that a node makes.
    ///
    /// # Errors
    /// They are more than the file may make.
    pub(super) fn spend(&mut self, values: usize) -> Result<(), NodeFault> {
        self.check(values)?;
        self.left -= values;
        Ok(())
    }
}
