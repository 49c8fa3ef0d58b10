//! The fields of an object, each of which may be there once.

use serde::de::Error;

/// The fields of an object that were read, by their places among its names.
#[derive(Default)]
pub(super) struct SeenFields(u8);

impl SeenFields {
    /// Notes a field; one without a name is any other, and may be there again.
    ///
    /// # Errors
    /// It was there before.
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
