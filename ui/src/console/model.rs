//! All that is drawn, and nothing else: snapshot, timeline, and where the user is.

use std::time::Duration;

use divisi::allocation::{Cell, Matrix};
use divisi::session::{SearchState, Snapshot};
use ratatui::layout::Rect;

use super::dialogs::Dialog;
use super::edit::Edit;
use super::theme::Look;
use super::timeline::Timeline;
use crate::config::Settings;

/// The panels, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Panel {
    /// 1
    Allocation,
    /// 2
    Search,
    /// 3
    Streams,
    /// 4
    Latency,
    /// 5
    Throughput,
    /// 6
    Log,
}

impl Panel {
    /// In the order of the focus.
    pub const ALL: [Panel; 6] = [
        Panel::Allocation,
        Panel::Search,
        Panel::Streams,
        Panel::Latency,
        Panel::Throughput,
        Panel::Log,
    ];

    /// Its place in the order, from 0.
    pub fn index(self) -> usize {
        Panel::ALL.iter().position(|p| *p == self).unwrap_or(0)
    }

    /// The one `step` places on, round and round.
    pub fn neighbour(self, step: isize) -> Panel {
        let count = Panel::ALL.len() as isize;
        Panel::ALL[(self.index() as isize + step).rem_euclid(count) as usize]
    }
}

/// A line over the footer, there until the next key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What to say.
    pub text: String,
    /// Something was refused or failed.
    pub bad: bool,
}

/// The part of time that the streams show.
#[derive(Clone, Debug)]
pub struct Streams {
    /// Index into [`ZOOMS`].
    pub zoom: usize,
    /// First row shown.
    pub scroll: usize,
    /// The picture held, and the moment at its right edge.
    pub frozen: Option<(Timeline, Duration)>,
}

/// Milliseconds that the timeline can show.
pub const ZOOMS: [u64; 11] = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000];

impl Streams {
    /// How much time is shown.
    pub fn length(&self) -> Duration {
        Duration::from_millis(ZOOMS[self.zoom.min(ZOOMS.len() - 1)])
    }
}

/// The console's whole state.
#[derive(Clone, Debug)]
pub struct Model {
    /// What the session said last.
    pub snapshot: Snapshot,
    /// Spans lost since the start.
    pub lost_spans: u64,
    /// The latest spans.
    pub timeline: Timeline,
    /// The screen's size.
    pub area: Rect,
    /// Who listens to movements.
    pub focus: Panel,
    /// The focused panel has the whole screen.
    pub expanded: bool,
    /// The entry that is looked at.
    pub cursor: Cell,
    /// The view of the timeline.
    pub streams: Streams,
    /// Lines of the log scrolled back.
    pub log_back: usize,
    /// Staged changes, while editing.
    pub edit: Option<Edit>,
    /// What lies over the panels, the last on top.
    pub dialogs: Vec<Dialog>,
    /// A line over the footer.
    pub message: Option<Message>,
    /// No command may change anything.
    pub read_only: bool,
    /// The mouse is ours.
    pub mouse: bool,
    /// The program's name in the header.
    pub title: String,
    /// What the terminal can show.
    pub look: Look,
    /// What can be configured: keys, theme, options.
    pub settings: Settings,
}

impl Model {
    /// The state at the start.
    pub fn new(snapshot: Snapshot, options: &super::Options, look: Look) -> Self {
        Model {
            snapshot,
            lost_spans: 0,
            timeline: Timeline::default(),
            area: Rect::default(),
            focus: Panel::Allocation,
            expanded: false,
            cursor: Cell {
                device: 0,
                member: 0,
            },
            streams: Streams {
                zoom: 5,
                scroll: 0,
                frozen: None,
            },
            log_back: 0,
            edit: None,
            dialogs: Vec::new(),
            message: None,
            read_only: options.read_only,
            mouse: options.mouse,
            title: options.title.clone(),
            look,
            settings: Settings::default().seen_with(look),
        }
    }

    /// Takes what is configured.
    pub fn configure(&mut self, settings: Settings) {
        self.look = settings.look();
        self.settings = settings;
    }

    /// Says something over the footer.
    pub fn say(&mut self, text: impl Into<String>, bad: bool) {
        let text = text.into();
        self.message = Some(Message { text, bad });
    }

    /// A search runs or is paused.
    pub fn searching(&self) -> bool {
        let state = self.snapshot.search.as_ref().map(|s| &s.state);
        matches!(state, Some(SearchState::Running | SearchState::Paused))
    }

    /// The best matrix that the search has found.
    pub fn best(&self) -> Option<&Matrix> {
        self.snapshot.search.as_ref()?.progress.best.as_ref()
    }

    /// The matrix to draw: the staged one while editing.
    pub fn matrix(&self) -> &Matrix {
        self.edit
            .as_ref()
            .map_or(&self.snapshot.matrix, |e| e.staged())
    }

    /// Staged changes would be lost.
    pub fn has_staged(&self) -> bool {
        let changed = |e: &Edit| e.staged() != &self.snapshot.matrix;
        self.edit.as_ref().is_some_and(changed)
    }

    /// Something on the timeline moves although nothing new happens.
    pub fn moving(&self) -> bool {
        let shown = self.streams.length() + Duration::from_secs(1);
        let newest = self.timeline.newest();
        self.streams.frozen.is_none() && newest.is_some_and(|n| n + shown >= self.snapshot.now)
    }
}
