//! The console's state, the events that change it, and the effects it requests.

mod demo;
mod effect;
mod figures;
mod member_signs;
mod model_cursor;
mod refusal_sign;

pub(crate) use demo::DemoState;
pub use demo::{DemoStage, Wanted};
pub(crate) use effect::SessionNews;
pub use effect::{ConsoleEvent, Effect};
pub(crate) use figures::{APART, Comparison, CounterLook, Figure, FigureNote, rate};
pub(crate) use member_signs::MemberSigns;
pub(crate) use model_cursor::ModelCursor;
pub(crate) use refusal_sign::RefusalSign;

use std::path::PathBuf;
use std::time::Duration;

use divisi_model::allocation::{Cell, Matrix};
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::{FigureHistory, SearchState, Setup, Snapshot, Terms};
use ratatui::layout::Rect;

use crate::commands::{Binding, KeyContext, NotNow, ShownState};
use crate::config::{Config, HangUp, Settings};
use crate::incident::{Culprit, IncidentWatch};
use crate::layout::{Panel, PanelArrangement, PanelLayout};
use crate::look::TerminalLook;
use crate::text::{WallClock, measured_window};
use crate::view::timeline::Timeline;
use crate::view::{LoadTrends, RequestList, Scopes, SetupEdit, Streams, TimeSpan, TimeView};

/// The console's initial options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether commands that change the engine are refused.
    pub read_only: bool,
    /// Whether the mouse is used at the start.
    pub mouse: bool,
    /// The program's name in the header.
    pub title: String,
    /// A user's layouts, in addition to the built-in ones.
    pub layouts: Vec<PanelLayout>,
    /// The demonstration to start with.
    pub demo: Option<Wanted>,
}

/// A line over the footer, shown until the next key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FooterMessage {
    /// The text of the message.
    pub text: String,
    /// Whether something was refused or failed.
    pub bad: bool,
}

/// The console's whole state.
#[derive(Clone, Debug)]
pub struct Model {
    /// The session's latest snapshot.
    pub snapshot: Snapshot,
    /// Spans lost since the start.
    pub lost_spans: u64,
    /// The time at which this console last reset the latencies.
    pub cleared: Duration,
    /// The latest spans.
    pub timeline: Timeline,
    /// The screen's size.
    pub area: Rect,
    /// The focused panel.
    pub focus: Panel,
    /// Whether the focused panel has the whole screen.
    pub expanded: bool,
    /// The layouts, and the current one.
    pub arrangement: PanelArrangement,
    /// The subjects of the shown latencies and rates.
    pub scopes: Scopes,
    /// The entry at the cursor.
    pub cursor: Cell,
    /// The current problems.
    pub(crate) incidents: IncidentWatch,
    /// The load of the devices over the last minute.
    pub(crate) trends: LoadTrends,
    /// The letters of the members.
    pub signs: MemberSigns,
    /// The model at the cursor.
    pub model_cursor: ModelCursor,
    /// The view of the timeline.
    pub streams: Streams,
    /// The figures of the whole session.
    pub figures: FigureHistory,
    /// The view of the figures over time.
    pub time: TimeView,
    /// The view of the recent requests.
    pub requests: RequestList,
    /// The clock of times of day.
    pub clock: WallClock,
    /// The number of rows by which each panel is scrolled.
    pub scrolled: [usize; Panel::ALL.len()],
    /// Staged changes, while editing.
    pub edit: Option<SetupEdit>,
    /// Values entered last in the dialogs that change something.
    pub change: Remembered,
    /// The running demonstration.
    pub demo: Option<DemoState>,
    /// The mark at a model whose change was refused.
    pub refusal_sign: RefusalSign,
    /// The line over the footer.
    pub message: Option<FooterMessage>,
    /// Whether all changing commands are refused.
    pub read_only: bool,
    /// Whether the mouse is used.
    pub mouse: bool,
    /// The program's name in the header.
    pub title: String,
    /// The capabilities of the terminal.
    pub look: TerminalLook,
    /// The settings: keys, theme, options.
    pub settings: Settings,
}

/// The clocks on both sides of a socket may differ by less than this.
const CLOCKS_DIFFER: Duration = Duration::from_secs(3);

impl Model {
    /// Creates the initial state.
    pub fn new(snapshot: Snapshot, options: &Options, look: TerminalLook) -> Self {
        let mut model_cursor = ModelCursor::default();
        model_cursor.follow(&snapshot.models);
        let mut signs = MemberSigns::default();
        signs.follow(&snapshot.members);
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
            cursor: Cell {
                device: DeviceIndex::new(0),
                member: MemberIndex::new(0),
            },
            incidents: IncidentWatch::default(),
            trends: LoadTrends::default(),
            signs,
            model_cursor,
            streams: Streams::default(),
            figures: FigureHistory::default(),
            time: TimeView::default(),
            requests: RequestList::default(),
            clock: WallClock::default(),
            scrolled: [0; Panel::ALL.len()],
            edit: None,
            change: Remembered::default(),
            demo: None,
            refusal_sign: RefusalSign::default(),
            message: None,
            read_only: options.read_only,
            mouse: options.mouse,
            title: options.title.clone(),
            look,
            settings: Settings::default().seen_with(look),
        }
    }

    /// Applies settings.
    pub fn configure(&mut self, settings: Settings) {
        self.look = settings.effective_look();
        let (before, now) = (&self.settings.config, &settings.config);
        if before.layouts != now.layouts {
            self.arrangement.take(&now.layouts);
        }
        if before.layout != now.layout {
            self.arrangement.choose(&now.layout);
        }
        // Terms entered since stay, unless the file changed its own.
        if before.terms != now.terms {
            self.change.terms = now.terms;
        }
        self.settings = settings;
    }

    /// Shows a message over the footer.
    pub fn say(&mut self, text: impl Into<String>, bad: bool) {
        let text = text.into();
        self.message = Some(FooterMessage { text, bad });
    }

    /// Returns the state that decides which keys work.
    pub fn key_context(&self) -> KeyContext {
        KeyContext {
            editing: self.edit.is_some(),
            focus: self.focus,
            playing: self.snapshot.playback.is_some(),
            demonstrating: self.demo.is_some(),
        }
    }

    /// Returns the state that decides whether a command can run, regardless of its subject.
    pub fn state(&self) -> ShownState<'_> {
        ShownState {
            snapshot: &self.snapshot,
            read_only: self.read_only,
            has_incident: self.incidents.shown().next().is_some(),
        }
    }

    /// Returns the place of the matrix that causes the first incident on the screen.
    pub(crate) fn culprit(&self) -> Option<Culprit> {
        let first = self.incidents.shown().next()?;
        let culprit = first.incident.culprit;
        culprit.is_known().then_some(culprit)
    }

    /// Checks that a command can run on the subject at the cursor.
    ///
    /// # Errors
    /// The reason why it cannot.
    pub fn check(&self, binding: &Binding) -> Result<(), NotNow> {
        binding.check(&self.state())?;
        binding.command.check_at(&self.snapshot, self.cursor)
    }

    /// Returns whether its keys work now.
    pub fn reaches(&self, binding: &Binding) -> bool {
        binding.scope.is_reachable(self.key_context())
    }

    /// Returns the number of rows by which a panel is scrolled.
    pub fn scrolled(&self, panel: Panel) -> usize {
        self.scrolled[panel.index()]
    }

    /// Returns the time of the current latencies.
    pub fn window(&self) -> Duration {
        measured_window(&self.snapshot, self.cleared)
    }

    /// Returns the time of the figures.
    pub fn recorded_time(&self) -> TimeSpan {
        TimeSpan {
            from: self.figures.from().unwrap_or(self.snapshot.now),
            now: self.snapshot.now,
        }
    }

    /// Adds the last second to the figures. Returns whether the earlier figures have to be read: some
    /// are missing, or they are of a later time.
    pub(crate) fn follow_second(&mut self) -> bool {
        let Some(second) = &self.snapshot.second else {
            return false;
        };
        let until = self.figures.until();
        if self.snapshot.now + CLOCKS_DIFFER < until {
            self.figures = FigureHistory::default();
            return true;
        }
        let is_missing = second.from() > until;
        self.figures.push(second.clone());
        is_missing
    }

    /// Returns whether a search runs or is paused.
    pub fn searching(&self) -> bool {
        let state = self.snapshot.search.as_ref().map(|s| &s.state);
        matches!(state, Some(SearchState::Running | SearchState::Paused))
    }

    /// Returns the matrix to draw: the staged one while editing.
    pub fn matrix(&self) -> &Matrix {
        self.edit
            .as_ref()
            .map_or(&self.snapshot.matrix, |e| e.staged())
    }

    /// Returns the name for matrix files: the name of a single served model, like commands that
    /// find matrices write it, else the name of all models.
    pub fn matrix_name(&self) -> &str {
        let models = self.snapshot.models.iter();
        let mut served = models.filter(|model| model.unserved.is_none());
        match (served.next(), served.next()) {
            (Some(only), None) => &only.name,
            _ => &self.snapshot.ensemble,
        }
    }

    /// Returns whether staged changes would be lost.
    pub fn has_staged(&self) -> bool {
        let changed = |e: &SetupEdit| *e.setup() != self.snapshot.setup();
        self.edit.as_ref().is_some_and(changed)
    }

    /// Returns whether the engine belongs to this console and ends with it, unless it is handed
    /// over.
    pub fn is_serving(&self) -> bool {
        !self.snapshot.audience.attached && self.snapshot.playback.is_none()
    }

    /// Returns the engine's behaviour if the terminal goes away, or `None` if that ends only this
    /// console or a demonstration.
    pub fn hang_up(&self) -> Option<HangUp> {
        // A read-only console cannot offer to keep its engine running, but the engine can continue.
        let goes_on = self.snapshot.audience.may_stay || self.read_only;
        let own = self.is_serving() && self.demo.is_none();
        (own && goes_on).then_some(self.settings.config.hang_up)
    }

    /// Returns the staged setup, or the running one outside of editing.
    pub fn setup(&self) -> Setup {
        let staged = self.edit.as_ref().map(|e| e.setup().clone());
        staged.unwrap_or_else(|| self.snapshot.setup())
    }

    /// Moves the focus to the first shown panel if the focused one is not shown.
    pub fn settle(&mut self) {
        if !self.arrangement.shows(self.focus) {
            self.focus = self.neighbour(1);
        }
    }

    /// Returns the panel `step` places further among the shown ones, cyclically.
    pub fn neighbour(&self, step: isize) -> Panel {
        let shown = self.arrangement.panels();
        let beside = |p: &Panel| match step > 0 {
            true => p.index() > self.focus.index(),
            false => p.index() < self.focus.index(),
        };
        let (first, last) = (shown.first(), shown.last());
        let next = match step > 0 {
            true => shown.iter().find(|p| beside(p)).or(first),
            false => shown.iter().rfind(|p| beside(p)).or(last),
        };
        next.copied().unwrap_or(self.focus)
    }
}

/// The last entered values, offered again.
#[derive(Clone, Debug, PartialEq)]
pub struct Remembered {
    /// The terms of a probation.
    pub terms: Terms,
    /// The folder of the last chosen file.
    pub folder: PathBuf,
    /// Whether hidden files are listed.
    pub hidden: bool,
}

impl Default for Remembered {
    fn default() -> Self {
        Remembered {
            terms: Config::default().terms,
            folder: PathBuf::from("."),
            hidden: false,
        }
    }
}

/// A setting of a setup other than its matrix.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// The batching policy.
    Policy(divisi_model::ensemble::PolicyKind),
    /// The combination of members.
    Combination(divisi_model::ensemble::Combination),
    /// The segment size.
    SegmentSize(usize),
}

impl Setting {
    /// Returns the setup with this setting.
    pub fn applied_to(self, setup: &Setup) -> Setup {
        let mut setup = setup.clone();
        match self {
            Setting::Policy(policy) => setup.policy = policy,
            Setting::Combination(combination) => setup.combination = combination,
            Setting::SegmentSize(size) => setup.segment_size = size,
        }
        setup
    }
}
