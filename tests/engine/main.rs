//! The engine's tests, one module a room of `src/`.

mod common;
mod compute;
mod serving;
