//! Checks that each field of an object occurs at most once.

use serde::de::Error;

/// The fields of an object read so far, by index.
#[derive(Default)]
pub(super) struct SeenFields(u8);

impl SeenFields {
    /// Records a field. Unknown fields may repeat.
    ///
    /// # Errors
    /// Returns an error if the field occurs twice.
    pub(super) fn note<E: Error>(&mut self, at: usize, names: &[&'static str]) -> Result<(), E> {
        let Some(name) = names.get(at) else {
            return Ok(());
        };
        let bit = 1 << at;
        match self.0 & bit == 0 {
            true => self.0 |= bit,
            false => return Err(E::duplicate_field(name)),
        }
        Ok(())
    }
}
