//! A guided demonstration: scenes with captions on the real console.
//!
//! The scenes are data ([`scenes`], [`script`], [`words`]): captions, commands of the
//! table, and what must be seen before it goes on. The [`player`] goes through them by what
//! snapshots show, never by a clock of its own, and asks for everything as a person does,
//! so that it can be undone.

mod conclusions;
mod plans;
mod player;
mod scenes;
mod script;
mod words;

pub(crate) use player::{Player, refused};
