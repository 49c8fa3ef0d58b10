//! The tests of registration: the store through kills, damage and full disks; profiles and counts
//! against their definitions; a small ensemble from its files to its variants.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests stop at the first surprise"
)]

mod common;
mod counts;
mod damage;
mod digits;
mod journal;
mod kills;
mod power;
mod profiles;
mod stale;
mod store;
