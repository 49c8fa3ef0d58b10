//! The one table of commands: keys, footer, help and palette are all read from it.

mod keymap;
mod keys;
mod refusal;

pub use keymap::{Clash, Keymap};
pub use keys::{EXPECTED as KEY_NAMES, Key};

use crossterm::event::{KeyCode, KeyEvent};
use keys::{control, key, of};

use super::model::{Model, Panel};

/// What a key or a line of the palette asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Id {
    /// Show the commands.
    Help,
    /// Open the palette.
    Palette,
    /// Leave the program.
    Quit,
    /// Stop until `fg`.
    Suspend,
    /// Take the mouse, or leave it to the terminal.
    Mouse,
    /// Write the screen to files.
    Picture,
    /// Choose how things look.
    Theme,
    /// Keep the layout that is shown.
    SaveLayout,
    /// Focus the next panel.
    Next,
    /// Focus the panel before.
    Previous,
    /// Focus a panel.
    Focus(Panel),
    /// The focused panel over the whole screen, and back.
    Expand,
    /// The next layout.
    NextLayout,
    /// Hide panels, or show them.
    Panels,
    /// Whose latencies are shown.
    LatencyScope,
    /// Whose rates are shown.
    ThroughputScope,
    /// Whether the member under the cursor votes.
    Vote,
    /// Up in the focused panel.
    Up,
    /// Down in the focused panel.
    Down,
    /// Left in the focused panel.
    Left,
    /// Right in the focused panel.
    Right,
    /// Stage changes of the matrix.
    Edit,
    /// The matrix before.
    Undo,
    /// The matrix after.
    Redo,
    /// Start a search.
    Search,
    /// Pause or resume it.
    Pause,
    /// End it.
    Cancel,
    /// Apply what it found.
    ApplyBest,
    /// Choose the load.
    Load,
    /// Choose the batching policy.
    Policy,
    /// Hold the timeline.
    Freeze,
    /// A page back in time.
    PageBack,
    /// A page forward in time.
    PageOn,
    /// The oldest that is remembered.
    Oldest,
    /// The picture goes on with time.
    Latest,
    /// Read out the span before.
    SpanBefore,
    /// Read out the span after.
    SpanAfter,
    /// Another order of the rows.
    SortRows,
    /// Only rows with some name.
    FilterRows,
    /// Write spans for trace viewers.
    ExportTrace,
    /// Less time on the timeline.
    ZoomIn,
    /// More time on the timeline.
    ZoomOut,
    /// Let the device under the cursor disappear.
    LoseDevice,
    /// Let it come back.
    RegainDevice,
    /// Let it take so many times as long.
    SlowDevice,
    /// Bound its samples in execution.
    MaxInf,
    /// Apply what would relieve the worker that suffers most.
    ApplyProposal,
    /// The cursor to the next device.
    NextDevice,
    /// The cursor to the device before.
    PreviousDevice,
    /// Forget latencies.
    Clear,
    /// The combination rule, weights and votes.
    Combination,
    /// Samples in a segment.
    SegmentSize,
    /// The service objective.
    Target,
    /// What ran when and how it did.
    History,
    /// A setup from a file.
    Open,
    /// A setup to a file.
    Write,
    /// End a probation and keep what was applied.
    Keep,
    /// End a probation and bring back what ran before.
    RollBack,
    /// Take a worker, to be copied.
    Copy,
    /// Take a worker, to be moved.
    Cut,
    /// Put it on the cursor's device.
    Put,
    /// The member on all devices.
    Spread,
    /// No worker on the device.
    ClearDevice,
    /// One batch size on the device.
    SameRow,
    /// One batch size of the member.
    SameColumn,
    /// Next larger batch size.
    Raise,
    /// Next smaller batch size.
    Lower,
    /// No worker here.
    Empty,
    /// Take the last staged change back.
    Unstage,
    /// Stage it again.
    Restage,
    /// Compare and apply.
    Compare,
    /// Leave editing.
    Leave,
    /// Record to a file, or end that.
    Record,
    /// Be the one who changes things, or let others.
    TakeEditing,
    /// Hold a recording that is played, or go on.
    PlayPause,
    /// Play slower.
    Slower,
    /// Play faster.
    Faster,
    /// Go back in the recording.
    SeekBack,
    /// Go forward in the recording.
    SeekForward,
    /// The demonstration's next scene.
    DemoNext,
    /// Its scene before.
    DemoBack,
    /// This scene again.
    DemoRepeat,
    /// No more of it.
    DemoLeave,
}

/// Where a command can be reached by its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everywhere.
    Always,
    /// While nothing is being edited.
    Main,
    /// While this panel has the focus.
    In(Panel),
    /// While the matrix is being edited.
    Edit,
    /// While a recording is played.
    Replay,
    /// During a demonstration.
    Demo,
}

/// One command.
#[derive(Debug)]
pub struct Entry {
    /// What is asked for.
    pub id: Id,
    /// When its keys work.
    pub scope: Scope,
    /// Its keys, the one to show first.
    pub keys: &'static [Key],
    /// One word for the footer; empty is not shown there.
    pub footer: &'static str,
    /// Its name in the palette and the help.
    pub title: &'static str,
    /// What it does.
    pub help: &'static str,
    /// Changes what the engine does: refused when read-only.
    pub changes: bool,
}

const fn entry(
    id: Id,
    scope: Scope,
    keys: &'static [Key],
    footer: &'static str,
    title: &'static str,
    help: &'static str,
) -> Entry {
    Entry {
        id,
        scope,
        keys,
        footer,
        title,
        help,
        changes: false,
    }
}

impl Entry {
    const fn changing(mut self) -> Self {
        self.changes = true;
        self
    }
}

/// Every command, in the order of the footer and the help.
#[rustfmt::skip]
pub static TABLE: &[Entry] = &[
    entry(Id::Help, Scope::Always, &[key('?')], "help", "help", "every command with its keys; type to search"),
    entry(Id::DemoNext, Scope::Demo, &[key('n')], "next", "next scene", "on to the next scene"),
    entry(Id::DemoBack, Scope::Demo, &[key('b')], "back", "scene before", "back to the scene before"),
    entry(Id::DemoRepeat, Scope::Demo, &[key('r')], "repeat", "scene again", "this scene from its start"),
    entry(Id::DemoLeave, Scope::Demo, &[of(KeyCode::Esc)], "leave", "leave the demonstration", "end it and stay in the console"),
    entry(Id::Compare, Scope::Edit, &[key('a')], "apply", "compare and apply", "show what the staged changes start, stop and book; y applies them, g on probation"),
    entry(Id::Raise, Scope::Edit, &[key('+'), key('='), of(KeyCode::PageUp)], "larger", "larger batch", "the next larger allowed batch size at the cursor"),
    entry(Id::Lower, Scope::Edit, &[key('-'), of(KeyCode::PageDown)], "smaller", "smaller batch", "the next smaller batch size at the cursor, last of all no worker"),
    entry(Id::Empty, Scope::Edit, &[key('d'), of(KeyCode::Delete)], "", "no worker", "take the worker at the cursor away, as 0 does"),
    entry(Id::Unstage, Scope::Edit, &[key('u')], "undo", "undo staged change", "take the last staged change back"),
    entry(Id::Restage, Scope::Edit, &[key('r'), key('U'), control('r')], "redo", "redo staged change", "stage again what undo took back"),
    entry(Id::Leave, Scope::Edit, &[of(KeyCode::Esc)], "leave", "leave editing", "back to watching; staged changes are dropped after a question"),
    entry(Id::Copy, Scope::Edit, &[key('y')], "copy", "copy a worker", "take the worker at the cursor; Enter puts another like it on the cursor's device"),
    entry(Id::Cut, Scope::Edit, &[key('x')], "move", "move a worker", "take the worker at the cursor; Enter moves it to the cursor's device"),
    entry(Id::Put, Scope::Edit, &[of(KeyCode::Enter)], "", "put the worker here", "the worker taken by y or x to the device under the cursor"),
    entry(Id::Spread, Scope::Edit, &[key('s')], "spread", "spread the member", "a worker of it on every device with room, of the batch size here"),
    entry(Id::ClearDevice, Scope::Edit, &[key('c')], "clear", "clear the device", "take all workers off this device; members with no other go where most memory is free"),
    entry(Id::SameRow, Scope::Edit, &[key('R')], "", "same batch size on the device", "every worker of this device takes the batch size at the cursor"),
    entry(Id::SameColumn, Scope::Edit, &[key('C')], "", "same batch size of the member", "every worker of this member takes the batch size at the cursor"),
    entry(Id::Policy, Scope::Edit, &[key('p')], "", "stage a batching policy", "the policy and its parameters, staged with the matrix").changing(),
    entry(Id::Edit, Scope::Main, &[key('e')], "edit", "edit the allocation", "stage changes of the matrix on a copy; nothing runs until applied").changing(),
    entry(Id::Undo, Scope::Main, &[key('u')], "undo", "undo the last change", "bring back what ran before, matrix and settings").changing(),
    entry(Id::Redo, Scope::Main, &[key('U'), control('r')], "", "redo", "run again what undo took back").changing(),
    entry(Id::Search, Scope::Main, &[key('s')], "search", "search a better allocation", "choose an algorithm, what scores and the goal; the built-in load rests while it measures").changing(),
    entry(Id::PlayPause, Scope::Replay, &[key(' ')], "pause", "pause or play", "hold the recording, or go on; at its end, from the start"),
    entry(Id::Slower, Scope::Replay, &[key('<')], "slower", "slower", "play the recording half as fast"),
    entry(Id::Faster, Scope::Replay, &[key('>')], "faster", "faster", "play the recording twice as fast"),
    entry(Id::SeekBack, Scope::Replay, &[key('(')], "back", "go back", "a twentieth of the recording back, 5 s at least"),
    entry(Id::SeekForward, Scope::Replay, &[key(')')], "forward", "go forward", "a twentieth of the recording forward, 5 s at least"),
    entry(Id::Pause, Scope::In(Panel::Search), &[key(' ')], "pause", "pause or resume the search", "hold the running search, or let it go on").changing(),
    entry(Id::Cancel, Scope::Main, &[key('x')], "", "cancel the search", "end the search; the best found so far stays").changing(),
    entry(Id::ApplyBest, Scope::Main, &[key('b')], "", "apply the best found", "show what the best matrix of the search changes; y applies it").changing(),
    entry(Id::Load, Scope::Main, &[key('l')], "load", "change the load", "closed loop, Poisson, steady, burst, diurnal, a recorded file or none").changing(),
    entry(Id::Policy, Scope::Main, &[key('p')], "policy", "change the batching policy", "no-wait, opt-wait, pipelined, static, segment or elastic, with wait or MaxInf; compared first").changing(),
    entry(Id::Combination, Scope::Always, &[key('V')], "", "change the combination", "the rule, a weight for each member and who votes; staged and compared").changing(),
    entry(Id::SegmentSize, Scope::Always, &[key('N')], "", "change the segment size", "samples in a segment at most; staged and compared").changing(),
    entry(Id::Target, Scope::Main, &[key('T')], "", "set the service objective", "the time in which a share of requests is to be answered").changing(),
    entry(Id::History, Scope::Always, &[key('Y')], "", "history", "what ran when and how it did; Enter brings it back"),
    entry(Id::Open, Scope::Always, &[key('O')], "", "open a setup", "read a matrix and settings from a file: staged and compared").changing(),
    entry(Id::Write, Scope::Always, &[key('W')], "", "write the setup", "the matrix and settings that are staged, or run, to a file"),
    entry(Id::Keep, Scope::Main, &[key('K')], "", "keep what is on probation", "end the probation: what was applied stays").changing(),
    entry(Id::RollBack, Scope::Main, &[key('B')], "", "roll back what is on probation", "end the probation: what ran before comes back").changing(),
    entry(Id::ApplyProposal, Scope::Main, &[key('M')], "", "apply the proposed move", "show the change that relieves an interfered worker; y applies it").changing(),
    entry(Id::LoseDevice, Scope::Main, &[key('D')], "", "lose the device", "let the simulated device under the cursor disappear: it is evacuated").changing(),
    entry(Id::RegainDevice, Scope::Main, &[key('R')], "", "bring the device back", "let the lost device under the cursor come back, empty").changing(),
    entry(Id::SlowDevice, Scope::Main, &[key('S')], "", "slow the device down", "let the simulated device under the cursor take so many times as long").changing(),
    entry(Id::MaxInf, Scope::Main, &[key('i')], "", "set MaxInf of the device", "samples in execution at most on the device under the cursor, under elastic").changing(),
    entry(Id::Clear, Scope::Main, &[key('c')], "", "clear latencies", "forget latencies so far, to see what comes").changing(),
    entry(Id::Record, Scope::Main, &[key('r')], "", "record on or off", "write all that is shown to a new file, to be played by divisi replay").changing(),
    entry(Id::TakeEditing, Scope::Main, &[key('E')], "", "take or let go editing", "where several watch, be the one who may change things, or let others"),
    entry(Id::NextDevice, Scope::In(Panel::Streams), &[key(']')], "device", "next device", "the cursor to the next device, whose lanes are shown"),
    entry(Id::PreviousDevice, Scope::In(Panel::Streams), &[key('[')], "", "device before", "the cursor to the device before, whose lanes are shown"),
    entry(Id::SpanBefore, Scope::In(Panel::Streams), &[key(',')], "", "span before", "read the span before out: member, batch, requests, times"),
    entry(Id::SpanAfter, Scope::In(Panel::Streams), &[key('.')], "", "span after", "read the next span out"),
    entry(Id::PageBack, Scope::In(Panel::Streams), &[key('{')], "", "page back in time", "all that is shown moves out of the picture"),
    entry(Id::PageOn, Scope::In(Panel::Streams), &[key('}')], "", "page forward in time", "as far as now"),
    entry(Id::Oldest, Scope::In(Panel::Streams), &[of(KeyCode::Home)], "", "oldest spans", "the start of what is remembered"),
    entry(Id::Latest, Scope::In(Panel::Streams), &[of(KeyCode::End)], "", "go live", "the picture goes on with time"),
    entry(Id::SortRows, Scope::In(Panel::Streams), &[key('o')], "", "sort rows", "by device, by member, busiest first, by name"),
    entry(Id::FilterRows, Scope::In(Panel::Streams), &[key('/')], "filter", "filter rows", "only rows whose device or member has what is typed"),
    entry(Id::ExportTrace, Scope::In(Panel::Streams), &[key('t')], "", "export the timeline", "a Perfetto trace of what is held, or of all there is"),
    entry(Id::Freeze, Scope::Main, &[key('f')], "freeze", "freeze the streams", "hold the timeline while serving goes on; again to go live"),
    entry(Id::ZoomIn, Scope::Main, &[key('+'), key('=')], "", "zoom in", "less time on the timeline"),
    entry(Id::ZoomOut, Scope::Main, &[key('-')], "", "zoom out", "more time on the timeline"),
    entry(Id::Expand, Scope::Main, &[of(KeyCode::Enter), key('z')], "expand", "expand the panel", "the focused panel over the whole screen, and back"),
    entry(Id::Next, Scope::Main, &[of(KeyCode::Tab)], "", "next panel", "move the focus on"),
    entry(Id::Previous, Scope::Main, &[of(KeyCode::BackTab)], "", "panel before", "move the focus back"),
    entry(Id::Focus(Panel::Allocation), Scope::Main, &[key('1')], "", "focus allocation", "devices × members, batch sizes and their load"),
    entry(Id::Focus(Panel::Search), Scope::Main, &[key('2')], "", "focus search", "the search for a better matrix"),
    entry(Id::Focus(Panel::Streams), Scope::Main, &[key('3')], "", "focus streams", "what each worker does when"),
    entry(Id::Focus(Panel::Latency), Scope::Main, &[key('4')], "", "focus latency", "distribution and percentiles"),
    entry(Id::Focus(Panel::Throughput), Scope::Main, &[key('5')], "", "focus throughput", "samples answered over time"),
    entry(Id::Focus(Panel::Log), Scope::Main, &[key('6')], "", "focus log", "what the program reports"),
    entry(Id::Focus(Panel::Members), Scope::Main, &[key('7')], "", "focus members", "what each member brings to the ensemble"),
    entry(Id::Vote, Scope::In(Panel::Members), &[key('v')], "vote", "vote on or off", "take the member under the cursor out of the vote, or back; it runs either way").changing(),
    entry(Id::LatencyScope, Scope::In(Panel::Latency), &[key('g')], "scope", "whose latency", "of the ensemble, a member or a worker; ← and → step through them"),
    entry(Id::ThroughputScope, Scope::In(Panel::Throughput), &[key('g')], "scope", "whose throughput", "of the ensemble or a member; ← and → step through them"),
    entry(Id::NextLayout, Scope::Main, &[key('L')], "layout", "next layout", "other panels, or with other room for each"),
    entry(Id::Panels, Scope::Main, &[key('H')], "", "hide or show panels", "choose the panels of the layout from a list"),
    entry(Id::Up, Scope::Always, &[of(KeyCode::Up), key('k')], "", "up", "move or scroll in the focused panel"),
    entry(Id::Down, Scope::Always, &[of(KeyCode::Down), key('j')], "", "down", "move or scroll in the focused panel"),
    entry(Id::Left, Scope::Edit, &[of(KeyCode::Left), key('h')], "", "left", "move the cursor"),
    entry(Id::Right, Scope::Edit, &[of(KeyCode::Right), key('l')], "", "right", "move the cursor"),
    entry(Id::Left, Scope::Main, &[of(KeyCode::Left), key('h')], "", "left", "move in the matrix; in the streams, back in time"),
    entry(Id::Right, Scope::Main, &[of(KeyCode::Right)], "", "right", "move in the matrix; in the streams, forward in time"),
    entry(Id::Palette, Scope::Always, &[key(':')], "command", "command palette", "find a command by typing a part of it"),
    entry(Id::Mouse, Scope::Always, &[key('m')], "", "mouse on or off", "off leaves the mouse to the terminal, to select text"),
    entry(Id::Picture, Scope::Always, &[key('P')], "", "picture of the screen", "write the screen as text, ANSI and SVG to files"),
    entry(Id::SaveLayout, Scope::Always, &[], "", "save layout", "keep the panels that are shown, and their sizes, as a layout of your own"),
    entry(Id::Theme, Scope::Always, &[], "", "theme", "choose how things look; shown while choosing"),
    entry(Id::Suspend, Scope::Always, &[control('z')], "", "suspend", "stop until fg"),
    entry(Id::Quit, Scope::Always, &[key('q'), control('c')], "quit", "quit", "leave; what this console serves is asked about, and no key that asks answers"),
];

/// The command of a key, if there is one just now.
pub fn of_key(event: &KeyEvent, model: &Model) -> Option<&'static Entry> {
    model.settings.keys.find(event, model)
}

/// The command called `name`, while nothing is edited or, else, while editing.
pub fn named(name: &str, editing: bool) -> Option<&'static Entry> {
    let right = |e: &&Entry| e.name() == name && (e.scope == Scope::Edit) == editing;
    TABLE.iter().find(right)
}

impl Entry {
    /// Whether its keys mean something now.
    pub fn reachable(&self, model: &Model) -> bool {
        match self.scope {
            Scope::Always => true,
            Scope::Main => model.edit.is_none(),
            Scope::In(panel) => model.edit.is_none() && model.focus == panel,
            Scope::Edit => model.edit.is_some(),
            Scope::Replay => model.edit.is_none() && model.snapshot.playback.is_some(),
            Scope::Demo => model.edit.is_none() && model.demo.is_some(),
        }
    }

    /// Whether the palette offers it now.
    pub fn offered(&self, model: &Model) -> bool {
        match self.scope {
            Scope::Always => true,
            Scope::Main | Scope::In(_) => model.edit.is_none(),
            Scope::Edit => model.edit.is_some(),
            Scope::Replay => model.edit.is_none() && model.snapshot.playback.is_some(),
            Scope::Demo => model.edit.is_none() && model.demo.is_some(),
        }
    }

    /// Its name in key maps, the palette and linear mode: `apply-best`.
    pub fn name(&self) -> String {
        keys::kebab(&format!("{:?}", self.id))
    }

    /// All its keys, as the help writes them.
    pub fn key_labels(&self, keys: &Keymap) -> String {
        let labels: Vec<String> = keys.of(self).iter().map(|k| k.label()).collect();
        labels.join(" ")
    }

    /// The key to show first; nothing where it has none.
    pub fn key_label(&self, keys: &Keymap) -> String {
        keys.of(self).first().map_or(String::new(), |k| k.label())
    }

    /// Whether every word of `query` is somewhere in it.
    pub fn matches(&self, query: &str, keys: &Keymap) -> bool {
        let (name, keys) = (self.name(), self.key_labels(keys));
        let text = format!("{} {name} {} {keys}", self.title, self.help).to_lowercase();
        query
            .to_lowercase()
            .split_whitespace()
            .all(|word| text.contains(word))
    }
}
