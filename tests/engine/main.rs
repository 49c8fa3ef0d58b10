//! The engine's tests, one module a room of `src/`.

mod allocation;
mod combination;
mod common;
mod compute;
mod core;
mod pool;
mod reload;
mod search;
mod serving;
