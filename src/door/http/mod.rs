//! The protocol over HTTP.

mod answer;
mod body;
mod config;
mod encoding;
mod infer;
mod object;
mod raw;
mod route;
mod serve;
mod views;
mod worded;

pub(crate) use serve::{HttpScope, serve};
