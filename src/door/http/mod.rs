//! The protocol over HTTP.

mod answer;
mod body;
mod infer;
mod route;
mod serve;
mod views;

pub(crate) use serve::{HttpScope, serve};
