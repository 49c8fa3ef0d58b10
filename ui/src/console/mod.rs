//! The terminal console: events change a state, and the state is drawn.
//!
//! `update` applies events to a [`state::ConsoleState`] and returns the requested effects. `draw`
//! draws the state without a lock, a clock or I/O. Only `app`, `input` and `terminal` use time and
//! the terminal. A frame is drawn only if it differs from the last one. Spans are painted once into
//! a canvas that scrolls.

mod app;
mod core;
mod draw;
mod heard;
pub mod input;
mod job;
mod mouse;
pub mod native;
pub mod notify;
mod pace;
mod raw;
mod stack;
mod state;
mod terminal;
mod update;

pub use crate::demo::{FILE as DEMO_SCENES, check as check_scenes};
pub use crate::layout::{LayoutRow, Panel, PanelLayout};
pub use crate::look::{
    Colour, Colours, Paint, Rgb, Role, Styles, TerminalLook, Theme, colours, picture,
};
pub use crate::model::{ConsoleEvent, DemoStage, Effect, Options, Wanted};
pub use crate::panels::lint_texts;
pub use crate::text::{Severity, WallClock, format};
pub use app::run;
pub use core::{Console, for_files};
pub(crate) use job::can_be_continued;
pub(crate) use pace::{Due, Pace};
