//! Requests and answers in JSON, with tensors in it or after it.

mod data;
mod fields;
mod input;
mod lists;
mod parameters;
mod request;
mod response;
mod words;

pub use request::read_call;
pub use response::{JsonReply, write_reply};
