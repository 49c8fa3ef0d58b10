//! What needs a GPU, or the fake driver of `tests/cuda/driver`: built with the feature
//! `cuda` alone, run by `.ci/cuda` and on machines with a GPU.

mod bench;
mod driver;
mod geometry;
mod networks;
