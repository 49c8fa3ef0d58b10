//! The order of work in a graph of steps: which step of which rows may run now.
//!
//! A [`Dataflow`] is the graph without names and tensors. [`PartProgress`] follows one part of a
//! request through it: a state machine that is told of rows that were run and returns the steps
//! that may run then.

mod graph;
mod progress;
mod quorum;
mod rows;

pub use graph::{Dataflow, DataflowError, FlowStep, RowJoin, StepIndex, StepWork, WantedSteps};
pub use progress::{PartProgress, StepReport};
pub use rows::RowSet;
