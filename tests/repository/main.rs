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
mod models;
mod not_honoured;
mod own_manifests;
mod paths;
mod versions;
