//! The tests of repositories: what lies in a folder becomes models, or a failure that says why.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests stop at the first surprise"
)]

mod answers;
mod common;
mod configs;
mod convert;
mod damage;
mod delays;
mod ensembles;
mod lengths;
mod models;
mod not_honoured;
#[path = "../support/open_rows.rs"]
mod open_rows;
mod own_manifests;
mod paths;
mod versions;
mod warmups;
