//! Tasks that are served: from what was registered to the answer of a query.

#![allow(clippy::expect_used, clippy::panic, reason = "tests")]

mod common;
mod routing;
mod served;
mod service;
