//! Tasks that are served: queries name a task and goals, and one of its variants answers.
//!
//! A registered task is [`served`] as a catalogue of models in which each sub-ensemble in each
//! precision is an entry, over members that entries share. A query is [routed](routing) to the
//! cheapest variant that is expected to meet its goals, at the door by [`TaskService`](service::TaskService).
//! Files of rows are answered in the gaps: [`jobs`]. Once a second a policy decides which variants are loaded where: [`scaling`].

#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

pub mod jobs;
pub mod routing;
pub mod scaling;
pub mod served;
pub mod service;
pub mod views;
