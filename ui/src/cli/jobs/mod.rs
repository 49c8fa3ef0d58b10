//! `divisi submit` and `divisi jobs`: files of rows that nobody waits for, answered in the gaps that
//! queries leave a server of their task.

mod list;
mod submit;

pub(crate) use list::{JobsArgs, run as list};
pub(crate) use submit::{SubmitArgs, run as submit};
