//! `divisi submit` and `divisi jobs`: batch jobs, run by a server of the task while it is idle.

mod list;
mod submit;

pub(crate) use list::{JobsArgs, run as list};
pub(crate) use submit::{SubmitArgs, run as submit};
