//! The decisions of model-less serving: who asks says what is needed, not which model.
//!
//! A *task* is what a query wants done. Its [`variants`] are the ways to answer it: a whole
//! ensemble or some of its members, in a precision, on a kind of device, in batches of a size.
//! [`choice`] takes a query's [`goals`] to the variant that meets them at least cost, and
//! [`policies`] decide once a second which variants run on which devices. Nothing here has a
//! clock, a lock or a thread: times go in with what happened. [`fleet`] plays the same decisions
//! in virtual time.
//!
//! The ideas are those of INFaaS (Romero et al., USENIX ATC 2021); where a number or a formula is
//! theirs, or another system's, its documentation says so.

#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

pub mod accuracy;
pub mod choice;
pub mod demands;
pub mod fleet;
pub mod goals;
pub mod jobs;
pub mod placement;
pub mod policies;
pub mod quantities;
pub mod states;
pub mod variants;
