//! The terminal console: events change a model, the model is drawn.
//!
//! `update` takes events into the [`model::Model`] and says what is to be done
//! (`effect`); `panels` and `dialogs` draw it without a lock, a clock or I/O. Only
//! `app` and `terminal` know time and the terminal. Every command is in one table,
//! [`commands::BINDINGS`].

pub(crate) mod actions;
mod app;
mod braille;
mod burst;
mod change;
mod checks;
pub mod commands;
mod condition;
mod consent;
mod core;
pub mod demo;
mod dialogs;
mod edit;
mod effect;
pub mod files;
pub mod format;
mod layout;
mod load;
pub mod model;
pub mod native;
mod pace;
mod painter;
mod panels;
pub mod picture;
mod reports;
mod scope;
mod severity;
mod streams;
mod terminal;
mod theme;
mod timeline;
mod update;
mod what_if;
mod window;

pub use app::run;
pub use checks::long as check_words;
pub use condition::Condition;
pub use core::Console;
pub use effect::{ConsoleEvent, Effect};
pub use layout::{LayoutRow, PanelLayout};
pub use load::words as load_words;
pub use panels::{gpu_words, lint_texts};
pub use severity::Severity;
pub use theme::{
    Colour, Colours, Paint, Rgb, Role, Styles, TerminalLook, Theme, colours, contrast,
};
pub use window::measured as measured_window;

/// How the console starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// No command may change what the engine does.
    pub read_only: bool,
    /// Take the mouse at the start.
    pub mouse: bool,
    /// The program's name in the header.
    pub title: String,
    /// A user's layouts, beside the built-in ones.
    pub layouts: Vec<PanelLayout>,
    /// Begin with a demonstration.
    pub demo: Option<demo::Wanted>,
}
