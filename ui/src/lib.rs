//! The console and the command line of Divisi.
//!
//! They show a [`Session`](divisi_session::Session) and send it commands; all decisions are in the
//! crates below. The modules, from the bottom up, each of which uses those below it
//! (`tests/house/layers.rs` checks that):
//!
//! - `text`: numbers and states of the engine in words
//! - `look`: colours, themes, what is painted with them, the screen as a file
//! - `files`: files and folders of the user
//! - `layout`: the panels there are, and how they share the screen
//! - `commands`: the table of commands, their keys and lines, when they can be done
//! - `config`: what can be configured
//! - `view`: what is looked at: the timeline, a staged setup, whose figures
//! - `model`: all that is drawn, what happens to it and what it wants done
//! - `panels`: the parts of the screen
//! - `dialogs`: what lies over them
//! - `actions`: what each command does, on the screen and as a line
//! - `demo`: the demonstration's scenes and their player
//! - `console`, the screen, and `linear`, the same as lines
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
mod layout;
pub mod linear;
mod look;
mod model;
mod panels;
mod text;
mod view;
