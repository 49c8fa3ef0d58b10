//! Determines which steps of a graph can run now, and for which rows.
//!
//! A [`Dataflow`] is the graph without names and tensors. [`PartProgress`] follows one part of a
//! request through it: a state machine that takes the rows that ran and returns the steps that can
//! run next.

mod graph;
mod progress;
mod quorum;
mod rows;

pub use graph::{Dataflow, DataflowError, FlowStep, RowJoin, StepIndex, StepWork, WantedSteps};
pub use progress::{PartProgress, StepReport};
pub use rows::RowSet;
