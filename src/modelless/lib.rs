//! Decides which variant of a task answers a query, and which variants run on which devices.
//!
//! In model-less serving, a query names a task and goals, such as an accuracy of 98.5 % within 20
//! ms, instead of a model. The [`variants`] of a task are the ways to answer it: a whole ensemble
//! or some of its members, in a precision, on a kind of device, at a batch size. [`choice`] returns
//! the cheapest variant that meets a query's [`goals`]. Once a second, one of the [`policies`]
//! decides which variants run on which devices. [`fleet`] simulates both decisions in virtual time.
//!
//! This crate has no clock, lock or thread: events with their times go in, decisions come out. The
//! ideas are from INFaaS (Romero et al., USENIX ATC 2021); numbers and formulas from papers name
//! their source.

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
