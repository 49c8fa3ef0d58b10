//! The console on a fake session: whole screens, and keys to commands.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests, benchmarks and examples stop at the first surprise"
)]

/// The screen as it was when somebody last looked at it and said yes.
macro_rules! screen {
    ($name:expr, $bench:expr) => {
        insta::with_settings!({
            snapshot_path => concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/console/snapshots"),
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, { insta::assert_snapshot!($name, $bench.text()) })
    };
}

mod accuracy_loss;
#[path = "../support/answering.rs"]
#[allow(dead_code, reason = "the engine's tests use all of it")]
mod answering;
mod answers;
mod audience;
mod background;
mod captions;
mod cells;
mod change;
mod cli;
mod clients;
mod command_line;
mod commands;
mod conduct;
mod config;
mod consent;
mod demo;
mod demo_tasks;
mod devices;
mod docs;
mod fake;
mod figures;
mod files;
#[path = "../support/folder.rs"]
mod folder;
mod generated;
mod gpus;
mod hands;
mod host;
mod incidents;
mod input;
mod job;
mod kinds;
mod layouts;
mod linear;
mod logging;
mod looks;
mod model_cursor;
mod models;
mod models_panel;
mod network;
mod nothing;
mod notify;
#[path = "../support/npy.rs"]
mod npy;
mod over_time;
mod panels;
mod paste;
mod pipelines;
mod planned;
mod precisions;
mod quantize;
mod readme;
mod reasons;
mod registered;
mod registered_doubts;
mod repositories;
mod requests_panel;
mod rich;
mod screens;
mod served;
mod severity;
mod simulated;
#[path = "../support/spoilt.rs"]
#[allow(dead_code, reason = "the engine's tests use all of it")]
mod spoilt;
mod storm;
mod streams;
mod supervised;
mod tasks_panel;
mod terminal;
mod updates;
mod variants_panel;
#[path = "../support/wait.rs"]
mod wait;
mod web;
mod what_if;
