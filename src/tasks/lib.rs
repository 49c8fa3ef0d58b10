//! Serves tasks: a query names a task and goals, and one of the task's variants answers it.
//!
//! A registered task is [`served`] as a catalogue of models, one for each sub-ensemble in each
//! precision; members are shared. [`routing`] sends each query to the cheapest variant that is
//! expected to meet its goals, and [`TaskService`](service::TaskService) offers that to clients as
//! a model. Once a second [`scaling`] loads and unloads variants as the load changes. [`jobs`] runs
//! files of samples in the time that queries leave.

#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

pub mod jobs;
pub mod routing;
pub mod scaling;
pub mod served;
pub mod service;
pub mod views;
