//! Panics of what others wrote, networks and combination rules, caught where they must not
//! take a thread of the engine with them.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use thiserror::Error;

/// A panic, with what it said.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("panicked: {0}")]
pub struct Panicked(String);

/// The combination rule of a request panicked.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("its combination rule {0}")]
pub(crate) struct RulePanicked(#[from] Panicked);

/// Calls `work`.
///
/// # Errors
/// It panicked. What it worked on may be broken then.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| Panicked(text(panic.as_ref())))
}

fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no reason given".into())
}
