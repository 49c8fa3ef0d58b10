//! GPUs in the live engine, against one in software.

mod copies;
mod flaws;
mod loss;
mod profiles;
mod reloads;
mod serving;
mod storm;
mod trouble;
