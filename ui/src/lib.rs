//! The terminal console of Divisi, over the session of its engine.

pub mod console;
