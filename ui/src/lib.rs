//! The console and the command line of Divisi.
//!
//! They show a [`Session`](divisi_session::Session) and send it commands; all decisions are in the
//! crates below. The modules from the bottom up, each of which uses those below it
//! (`tests/house/layers.rs` checks that):
//!
//! - `text`: numbers and states of the engine in words
//! - `look`: colours, themes, painting, the screen as a file
//! - `files`: files and folders of the user
//! - `layout`: the panels, and their places on the screen
//! - `commands`: the table of commands, their keys and lines, their conditions
//! - `config`: the configuration
//! - `view`: the user's view: the timeline, a staged setup, the subjects of figures
//! - `incident`: current problems, their causes and remedies
//! - `model`: the console's state, its events and effects
//! - `panels`: the parts of the screen
//! - `dialogs`: the dialogs over the panels
//! - `actions`: the actions of commands, on the screen and as a line
//! - `demo`: the demonstration's scenes and their player
//! - `console`, the screen, and `linear`, the same as lines
//! - `web`: the console in a browser
//! - `cli`: the command line

#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

mod actions;
pub mod cli;
pub mod commands;
pub mod config;
pub mod console;
mod demo;
mod dialogs;
pub mod files;
mod incident;
mod layout;
pub mod linear;
mod look;
mod model;
mod panels;
mod text;
mod view;
pub mod web;
