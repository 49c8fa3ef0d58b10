//! All that is drawn, and nothing else: snapshot, timeline, and where the user is.

use std::time::Duration;

use divisi::allocation::{Cell, Matrix};
use divisi::session::{SearchState, Snapshot};
use ratatui::layout::Rect;
use serde::{Deserialize, Serialize};

use super::change::Remembered;
use super::commands::{Binding, KeyContext, NotNow, ShownState};
use super::consent::Consent;
use super::demo::Demo;
use super::dialogs::Dialog;
use super::edit::SetupEdit;
use super::layout::{self, PanelArrangement};
use super::scope::Scopes;
use super::theme::TerminalLook;
use super::timeline::Timeline;
use super::window;
use crate::config::Settings;

pub use super::streams::{Streams, ZOOMS};

/// The panels, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    /// 7
    Members,
}

impl Panel {
    /// In the order of the focus.
    pub const ALL: [Panel; 7] = [
        Panel::Allocation,
        Panel::Search,
        Panel::Streams,
        Panel::Latency,
        Panel::Throughput,
        Panel::Log,
        Panel::Members,
    ];

    /// As its title and a layout write it.
    pub fn name(self) -> &'static str {
        match self {
            Panel::Allocation => "allocation",
            Panel::Search => "search",
            Panel::Streams => "streams",
            Panel::Latency => "latency",
            Panel::Throughput => "throughput",
            Panel::Log => "log",
            Panel::Members => "members",
        }
    }

    /// Its place in the order, from 0.
    pub fn index(self) -> usize {
        Panel::ALL.iter().position(|p| *p == self).unwrap_or(0)
    }
}

/// A line over the footer, there until the next key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FooterMessage {
    /// What to say.
    pub text: String,
    /// Something was refused or failed.
    pub bad: bool,
}

/// The console's whole state.
#[derive(Clone, Debug)]
pub struct Model {
    /// What the session said last.
    pub snapshot: Snapshot,
    /// Spans lost since the start.
    pub lost_spans: u64,
    /// When this console last had latencies forgotten.
    pub cleared: Duration,
    /// The latest spans.
    pub timeline: Timeline,
    /// The screen's size.
    pub area: Rect,
    /// Who listens to movements.
    pub focus: Panel,
    /// The focused panel has the whole screen.
    pub expanded: bool,
    /// The layouts, and the one that is shown.
    pub arrangement: PanelArrangement,
    /// Whose latencies and rates are shown.
    pub scopes: Scopes,
    /// Steps of the search scrolled back.
    pub search_back: usize,
    /// The entry that is looked at.
    pub cursor: Cell,
    /// The view of the timeline.
    pub streams: Streams,
    /// Lines of the log scrolled back.
    pub log_back: usize,
    /// Staged changes, while editing.
    pub edit: Option<SetupEdit>,
    /// What was last said in dialogs of change.
    pub change: Remembered,
    /// What lies over the panels, the last on top.
    pub dialogs: Vec<Dialog>,
    /// Whether a key may answer the dialog on top.
    pub consent: Consent,
    /// The demonstration under way.
    pub demo: Option<Demo>,
    /// A line over the footer.
    pub message: Option<FooterMessage>,
    /// No command may change anything.
    pub read_only: bool,
    /// The mouse is ours.
    pub mouse: bool,
    /// The program's name in the header.
    pub title: String,
    /// What the terminal can show.
    pub look: TerminalLook,
    /// What can be configured: keys, theme, options.
    pub settings: Settings,
}

impl Model {
    /// The state at the start.
    pub fn new(snapshot: Snapshot, options: &super::Options, look: TerminalLook) -> Self {
        Model {
            snapshot,
            lost_spans: 0,
            cleared: Duration::ZERO,
            timeline: Timeline::default(),
            area: Rect::default(),
            focus: Panel::Allocation,
            expanded: false,
            arrangement: PanelArrangement::new(&options.layouts),
            scopes: Scopes::default(),
            search_back: 0,
            cursor: Cell {
                device: 0,
                member: 0,
            },
            streams: Streams::default(),
            log_back: 0,
            edit: None,
            change: Remembered::default(),
            dialogs: Vec::new(),
            consent: Consent::default(),
            demo: options.demo.map(Demo::new),
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
        let (before, now) = (&self.settings.config, &settings.config);
        if before.layouts != now.layouts {
            self.arrangement.take(&now.layouts);
        }
        if before.layout != now.layout {
            self.arrangement.choose(&now.layout);
        }
        // What was typed since goes before what the file said all along.
        if before.terms != now.terms {
            self.change.terms = now.terms;
        }
        self.settings = settings;
    }

    /// Says something over the footer.
    pub fn say(&mut self, text: impl Into<String>, bad: bool) {
        let text = text.into();
        self.message = Some(FooterMessage { text, bad });
    }

    /// What decides which keys work.
    pub fn key_context(&self) -> KeyContext {
        KeyContext {
            editing: self.edit.is_some(),
            focus: self.focus,
            playing: self.snapshot.playback.is_some(),
            demonstrating: self.demo.is_some(),
        }
    }

    /// Whether a command can be done now to what is under the cursor.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn check(&self, binding: &Binding) -> Result<(), NotNow> {
        let state = ShownState {
            snapshot: &self.snapshot,
            read_only: self.read_only,
        };
        binding.check(&state)?;
        binding.command.check_at(&self.snapshot, self.cursor)
    }

    /// Whether its keys mean something now.
    pub fn reaches(&self, binding: &Binding) -> bool {
        binding.scope.is_reachable(self.key_context())
    }

    /// Over how long the latencies of now are.
    pub fn window(&self) -> Duration {
        window::measured(&self.snapshot, self.cleared)
    }

    /// A search runs or is paused.
    pub fn searching(&self) -> bool {
        let state = self.snapshot.search.as_ref().map(|s| &s.state);
        matches!(state, Some(SearchState::Running | SearchState::Paused))
    }

    /// The matrix to draw: the staged one while editing.
    pub fn matrix(&self) -> &Matrix {
        self.edit
            .as_ref()
            .map_or(&self.snapshot.matrix, |e| e.staged())
    }

    /// Staged changes would be lost.
    pub fn has_staged(&self) -> bool {
        let changed = |e: &SetupEdit| *e.setup() != self.snapshot.setup();
        self.edit.as_ref().is_some_and(changed)
    }

    /// How long a column of the streams is while they move: some span is still in the
    /// picture, which is on the screen and not held.
    pub fn flow(&self) -> Option<Duration> {
        let shown = self.streams.length() + Duration::from_secs(1);
        let newest = self.timeline.newest();
        let seen = newest.is_some_and(|n| n + shown >= self.snapshot.now);
        let live = seen && self.streams.frozen.is_none() && self.shows_streams();
        live.then(|| self.column())
    }

    /// Whether the streams look different once it is `now` and spans came or did not.
    pub fn flows_until(&self, now: Duration, spans: bool) -> bool {
        if self.streams.frozen.is_some() || !self.shows_streams() {
            return false;
        }
        let column = |at: Duration| at.as_nanos() / self.column().as_nanos();
        spans || (self.flow().is_some() && column(now) != column(self.snapshot.now))
    }

    /// No cell of the picture is narrower.
    fn column(&self) -> Duration {
        let columns = u32::from(self.area.width.max(1));
        (self.streams.length() / columns).max(Duration::from_nanos(100))
    }

    /// The streams are on the screen.
    fn shows_streams(&self) -> bool {
        let screen = layout::arrange(self.area, self);
        screen.is_some_and(|s| s.panels.iter().any(|(p, _)| *p == Panel::Streams))
    }
}
