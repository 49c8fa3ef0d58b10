//! Serves tasks: a query names a task and goals, and a variant of the task answers it.
//!
//! A registered task is [`served`] as a catalogue of models, one for each sub-ensemble and
//! precision; models share members. [`routing`] sends each query to the cheapest variant that is
//! expected to meet its goals, and [`TaskService`](service::TaskService) offers the tasks to
//! clients as models. [`scaling`] loads and unloads variants once a second as the load changes.
//! [`jobs`] runs files of samples in idle time, and [`profiles`] measures doubtful profiles again.

#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

pub mod jobs;
pub mod profiles;
pub mod routing;
pub mod scaling;
pub mod served;
pub mod service;
pub mod views;
