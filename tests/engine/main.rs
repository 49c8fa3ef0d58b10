//! The engine's tests, one module a room of `src/`.

mod compute;
