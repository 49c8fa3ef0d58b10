//! The table: every command, its keys by place, its form as a line.

use crossterm::event::KeyCode;

use super::conditions::{
    another_votes, can_be_lost, can_be_slowed, can_come_back, can_load, can_redo, can_undo,
    has_door, has_found, has_proposal, has_rule, has_tasks, is_on_probation, may_take_editing,
    searches,
};
use super::keys::{Key, control, key, of};
use super::{Binding, CommandInfo, Scope, command};
use crate::layout::Panel;

/// Shows the commands.
pub static HELP: CommandInfo = command("help");
/// Goes to the demonstration's next scene.
pub static DEMO_NEXT: CommandInfo = command("demo-next");
/// Goes to its scene before.
pub static DEMO_BACK: CommandInfo = command("demo-back");
/// Shows this scene again.
pub static DEMO_REPEAT: CommandInfo = command("demo-repeat");
/// Ends the demonstration.
pub static DEMO_LEAVE: CommandInfo = command("demo-leave");
/// Compares what is staged with what runs.
pub static COMPARE: CommandInfo = command("compare");
/// Takes the next larger batch size.
pub static RAISE: CommandInfo = command("raise");
/// Takes the next smaller batch size.
pub static LOWER: CommandInfo = command("lower");
/// Takes a worker away.
pub static EMPTY: CommandInfo = command("empty");
/// Takes the last staged change back; as a line, drops all of them.
pub static UNSTAGE: CommandInfo = command("unstage");
/// Stages it again.
pub static RESTAGE: CommandInfo = command("restage");
/// Leaves editing.
pub static LEAVE: CommandInfo = command("leave");
/// Takes a worker, to be copied.
pub static COPY: CommandInfo = command("copy");
/// Takes a worker, to be moved.
pub static CUT: CommandInfo = command("cut");
/// Puts the taken worker on a device.
pub static PUT: CommandInfo = command("put");
/// Starts the member on all devices.
pub static SPREAD: CommandInfo = command("spread");
/// Takes all workers off a device.
pub static CLEAR_DEVICE: CommandInfo = command("clear-device");
/// Sets one batch size on a device.
pub static SAME_ROW: CommandInfo = command("same-row");
/// Sets one batch size of a member.
pub static SAME_COLUMN: CommandInfo = command("same-column");
/// Changes the numbers that a member is computed in.
pub static PRECISION: CommandInfo = command("precision").changing();
/// Changes the batching policy.
pub static POLICY: CommandInfo = command("policy").changing();
/// Stages changes of the matrix.
pub static EDIT: CommandInfo = command("edit").changing();
/// Brings back what ran before.
pub static UNDO: CommandInfo = command("undo").changing().when(can_undo);
/// Runs again what undo took back.
pub static REDO: CommandInfo = command("redo").changing().when(can_redo);
/// Starts a search.
pub static SEARCH: CommandInfo = command("search").changing();
/// Holds a recording that is played, or goes on.
pub static PLAY_PAUSE: CommandInfo = command("play-pause");
/// Plays slower.
pub static SLOWER: CommandInfo = command("slower");
/// Plays faster.
pub static FASTER: CommandInfo = command("faster");
/// Goes back in the recording.
pub static SEEK_BACK: CommandInfo = command("seek-back");
/// Goes forward in the recording.
pub static SEEK_FORWARD: CommandInfo = command("seek-forward");
/// Pauses the search; on the screen also resumes it.
pub static PAUSE: CommandInfo = command("pause").changing().when(searches);
/// Ends the search.
pub static CANCEL: CommandInfo = command("cancel").changing().when(searches);
/// Applies the best matrix that the search found.
pub static APPLY_BEST: CommandInfo = command("apply-best").changing().when(has_found);
/// Changes the shares in which models are asked.
pub static MIX: CommandInfo = command("mix").changing();
/// Changes the load.
pub static LOAD: CommandInfo = command("load").changing();
/// Changes the combination rule, weights and votes.
pub static COMBINATION: CommandInfo = command("combination").changing().when(has_rule);
/// Changes the samples in a segment.
pub static SEGMENT_SIZE: CommandInfo = command("segment-size").changing();
/// Sets the service objective.
pub static TARGET: CommandInfo = command("target").changing();
/// Shows what ran when and how it did.
pub static HISTORY: CommandInfo = command("history");
/// Reads a setup from a file.
pub static OPEN: CommandInfo = command("open").changing();
/// Writes a setup to a file.
pub static WRITE: CommandInfo = command("write");
/// Ends a probation and keeps what was applied.
pub static KEEP: CommandInfo = command("keep").changing().when(is_on_probation);
/// Ends a probation and brings back what ran before.
pub static ROLL_BACK: CommandInfo = command("roll-back").changing().when(is_on_probation);
/// Applies the change that relieves an interfered worker.
pub static APPLY_PROPOSAL: CommandInfo = command("apply-proposal").changing().when(has_proposal);
/// Lets a simulated device disappear.
pub static LOSE_DEVICE: CommandInfo = command("lose-device").changing().of_device(can_be_lost);
/// Lets a lost device come back.
pub static REGAIN_DEVICE: CommandInfo =
    command("regain-device").changing().of_device(can_come_back);
/// Lets a simulated device take so many times as long.
pub static SLOW_DEVICE: CommandInfo = command("slow-device").changing().of_device(can_be_slowed);
/// Bounds the samples in execution on a device.
pub static MAX_INF: CommandInfo = command("max-inf").changing();
/// Forgets latencies.
pub static CLEAR: CommandInfo = command("clear").changing();
/// Records to a file, or ends that.
pub static RECORD: CommandInfo = command("record").changing();
/// Takes the right to edit, or lets others have it.
pub static TAKE_EDITING: CommandInfo = command("take-editing").when(may_take_editing);
/// Moves the cursor to the next device.
pub static NEXT_DEVICE: CommandInfo = command("next-device");
/// Moves the cursor to the device before.
pub static PREVIOUS_DEVICE: CommandInfo = command("previous-device");
/// Reads out the span before.
pub static SPAN_BEFORE: CommandInfo = command("span-before");
/// Reads out the span after.
pub static SPAN_AFTER: CommandInfo = command("span-after");
/// Goes a page back in time.
pub static PAGE_BACK: CommandInfo = command("page-back");
/// Goes a page forward in time.
pub static PAGE_ON: CommandInfo = command("page-on");
/// Goes to the oldest spans that are remembered.
pub static OLDEST: CommandInfo = command("oldest");
/// Lets the picture go on with time.
pub static LATEST: CommandInfo = command("latest");
/// Sorts the rows otherwise.
pub static SORT_ROWS: CommandInfo = command("sort-rows");
/// Shows only rows with some name.
pub static FILTER_ROWS: CommandInfo = command("filter-rows");
/// Writes spans for trace viewers.
pub static EXPORT_TRACE: CommandInfo = command("export-trace");
/// Holds the timeline.
pub static FREEZE: CommandInfo = command("freeze");
/// Shows less time on the timeline.
pub static ZOOM_IN: CommandInfo = command("zoom-in");
/// Shows more time on the timeline.
pub static ZOOM_OUT: CommandInfo = command("zoom-out");
/// Shows the focused panel over the whole screen, and back.
pub static EXPAND: CommandInfo = command("expand");
/// Focuses the next panel.
pub static NEXT: CommandInfo = command("next");
/// Focuses the panel before.
pub static PREVIOUS: CommandInfo = command("previous");
/// Focuses the panel of that name.
pub static FOCUS_ALLOCATION: CommandInfo = command("focus-allocation");
/// Focuses the panel of that name.
pub static FOCUS_SEARCH: CommandInfo = command("focus-search");
/// Focuses the panel of that name.
pub static FOCUS_STREAMS: CommandInfo = command("focus-streams");
/// Focuses the panel of that name.
pub static FOCUS_LATENCY: CommandInfo = command("focus-latency");
/// Focuses the panel of that name.
pub static FOCUS_THROUGHPUT: CommandInfo = command("focus-throughput");
/// Focuses the panel of that name.
pub static FOCUS_LOG: CommandInfo = command("focus-log");
/// Focuses the panel of that name.
pub static FOCUS_MEMBERS: CommandInfo = command("focus-members");
/// Focuses the panel of that name.
pub static FOCUS_STEPS: CommandInfo = command("focus-steps");
/// Focuses the panel of that name.
pub static FOCUS_MODELS: CommandInfo = command("focus-models");
/// Focuses the panel of that name.
pub static FOCUS_CLIENTS: CommandInfo = command("focus-clients");
/// Focuses the panel of that name.
pub static FOCUS_TASKS: CommandInfo = command("focus-tasks");
/// Lets another policy decide which variants of tasks are loaded.
pub static SCALING: CommandInfo = command("scaling").changing().when(has_tasks);
/// Plays what tasks were asked lately under every policy.
pub static COMPARE_POLICIES: CommandInfo = command("compare-policies").changing().when(has_tasks);
/// Listens to clients over the network, or to nobody any more.
pub static LISTEN: CommandInfo = command("listen").changing().when(has_door);
/// Loads a model.
pub static LOAD_MODEL: CommandInfo = command("load-model").changing().when(can_load);
/// Unloads a model.
pub static UNLOAD_MODEL: CommandInfo = command("unload-model").changing().when(can_load);
/// Works out what a change of the models would change.
pub static PLAN_MODELS: CommandInfo = command("plan-models").changing().when(can_load);
/// Makes the change of the models that was worked out.
pub static APPLY_MODELS: CommandInfo = command("apply-models").changing().when(can_load);
/// Takes a member out of the vote, or back.
pub static VOTE: CommandInfo = command("vote")
    .changing()
    .when(has_rule)
    .of_member(another_votes);
/// Changes whose latencies are shown.
pub static LATENCY_SCOPE: CommandInfo = command("latency-scope");
/// Changes whose rates are shown.
pub static THROUGHPUT_SCOPE: CommandInfo = command("throughput-scope");
/// Shows the next layout.
pub static NEXT_LAYOUT: CommandInfo = command("next-layout");
/// Hides panels, or shows them.
pub static PANELS: CommandInfo = command("panels");
/// Moves up in the focused panel.
pub static UP: CommandInfo = command("up");
/// Moves down in the focused panel.
pub static DOWN: CommandInfo = command("down");
/// Moves up by the rows of the focused panel.
pub static PAGE_UP: CommandInfo = command("page-up");
/// Moves down by the rows of the focused panel.
pub static PAGE_DOWN: CommandInfo = command("page-down");
/// Goes to the first row.
pub static TOP: CommandInfo = command("top");
/// Goes to the last row.
pub static BOTTOM: CommandInfo = command("bottom");
/// Moves left in the focused panel.
pub static LEFT: CommandInfo = command("left");
/// Moves right in the focused panel.
pub static RIGHT: CommandInfo = command("right");
/// Opens the palette.
pub static PALETTE: CommandInfo = command("palette");
/// Takes the mouse, or leaves it to the terminal.
pub static MOUSE: CommandInfo = command("mouse");
/// Writes the screen to files.
pub static PICTURE: CommandInfo = command("picture");
/// Keeps the layout that is shown.
pub static SAVE_LAYOUT: CommandInfo = command("save-layout");
/// Chooses how things look.
pub static THEME: CommandInfo = command("theme");
/// Stops until `fg`.
pub static SUSPEND: CommandInfo = command("suspend");
/// Leaves the program.
pub static QUIT: CommandInfo = command("quit");
/// Says what runs and how it does.
pub static STATUS: CommandInfo = command("status");
/// Stages an entry of the matrix.
pub static SET: CommandInfo = command("set").changing();
/// Applies what is staged.
pub static APPLY: CommandInfo = command("apply").changing();
/// Lets the search go on.
pub static RESUME: CommandInfo = command("resume").changing();

const fn bind(
    command: &'static CommandInfo,
    scope: Scope,
    keys: &'static [Key],
    footer: &'static str,
    title: &'static str,
    help: &'static str,
) -> Binding {
    Binding {
        command,
        scope,
        keys,
        footer,
        title,
        help,
    }
}

/// Every command of the screen with its keys, in the order of the footer and the help.
#[rustfmt::skip]
pub static BINDINGS: &[Binding] = &[
    bind(&HELP, Scope::Always, &[key('?')], "help", "help", "every command with its keys; type to search"),
    bind(&QUIT, Scope::Always, &[key('q'), control('c')], "quit", "quit", "asks first if this console started the server"),
    bind(&DEMO_NEXT, Scope::Demo, &[key('n')], "next", "next scene", "on to the next scene"),
    bind(&DEMO_BACK, Scope::Demo, &[key('b')], "back", "scene before", "back to the scene before"),
    bind(&DEMO_REPEAT, Scope::Demo, &[key('r')], "repeat", "scene again", "this scene from its start"),
    bind(&DEMO_LEAVE, Scope::Demo, &[of(KeyCode::Esc)], "leave", "leave the demonstration", "end it and stay in the console"),
    bind(&COMPARE, Scope::Edit, &[key('a')], "apply", "compare and apply", "show what the staged changes start, stop and book; y applies them, g on probation"),
    bind(&RAISE, Scope::Edit, &[key('+'), key('='), of(KeyCode::PageUp)], "larger", "larger batch", "the next larger allowed batch size at the cursor"),
    bind(&LOWER, Scope::Edit, &[key('-'), of(KeyCode::PageDown)], "smaller", "smaller batch", "the next smaller batch size at the cursor, last of all no worker"),
    bind(&EMPTY, Scope::Edit, &[key('d'), of(KeyCode::Delete)], "", "no worker", "take the worker at the cursor away, as 0 does"),
    bind(&PRECISION, Scope::Edit, &[key('i')], "precision", "next precision of the member", "compute the member at the cursor in the next numbers; f32, bf16, int8, auto, with GPUs also tf32, f16"),
    bind(&UNSTAGE, Scope::Edit, &[key('u')], "undo", "undo staged change", "take the last staged change back"),
    bind(&RESTAGE, Scope::Edit, &[key('r'), key('U'), control('r')], "", "redo staged change", "stage again what undo took back"),
    bind(&LEAVE, Scope::Edit, &[of(KeyCode::Esc)], "leave", "leave editing", "back to watching; staged changes are dropped after a question"),
    bind(&COPY, Scope::Edit, &[key('y')], "copy", "copy a worker", "take the worker at the cursor; Enter puts another like it on the cursor's device"),
    bind(&CUT, Scope::Edit, &[key('x')], "move", "move a worker", "take the worker at the cursor; Enter moves it to the cursor's device"),
    bind(&PUT, Scope::Edit, &[of(KeyCode::Enter)], "", "put the worker here", "the worker taken by y or x to the device under the cursor"),
    bind(&SPREAD, Scope::Edit, &[key('s')], "spread", "spread the member", "a worker of it on every device with room, of the batch size here"),
    bind(&CLEAR_DEVICE, Scope::Edit, &[key('c')], "", "clear the device", "take all workers off this device; members with no other go where most memory is free"),
    bind(&SAME_ROW, Scope::Edit, &[key('R')], "", "same batch size on the device", "every worker of this device takes the batch size at the cursor"),
    bind(&SAME_COLUMN, Scope::Edit, &[key('C')], "", "same batch size of the member", "every worker of this member takes the batch size at the cursor"),
    bind(&POLICY, Scope::Edit, &[key('p')], "", "stage a batching policy", "the policy and its parameters, staged with the matrix"),
    bind(&EDIT, Scope::Main, &[key('e')], "edit", "edit the allocation", "stage changes of the matrix on a copy; nothing runs until applied"),
    bind(&UNDO, Scope::Main, &[key('u')], "undo", "undo the last change", "bring back what ran before, matrix and settings"),
    bind(&REDO, Scope::Main, &[key('U'), control('r')], "", "redo", "run again what undo took back"),
    bind(&SEARCH, Scope::Main, &[key('s')], "search", "search a better allocation", "choose an algorithm, what scores and the goal; the built-in load rests while it measures"),
    bind(&PLAY_PAUSE, Scope::Replay, &[key(' ')], "pause", "pause or play", "hold the recording, or go on; at its end, from the start"),
    bind(&SLOWER, Scope::Replay, &[key('<')], "slower", "slower", "play the recording half as fast"),
    bind(&FASTER, Scope::Replay, &[key('>')], "faster", "faster", "play the recording twice as fast"),
    bind(&SEEK_BACK, Scope::Replay, &[key('(')], "back", "go back", "a twentieth of the recording back, 5 s at least"),
    bind(&SEEK_FORWARD, Scope::Replay, &[key(')')], "forward", "go forward", "a twentieth of the recording forward, 5 s at least"),
    bind(&PAUSE, Scope::In(Panel::Search), &[key(' ')], "pause", "pause or resume the search", "hold the running search, or let it go on"),
    bind(&CANCEL, Scope::Main, &[key('x')], "", "cancel the search", "end the search; the best found so far stays"),
    bind(&APPLY_BEST, Scope::Main, &[key('b')], "", "apply the best found", "show what the best matrix of the search changes; y applies it"),
    bind(&LOAD, Scope::Main, &[key('l')], "load", "change the load", "closed loop, Poisson, steady, burst, diurnal, a recorded file or none"),
    bind(&POLICY, Scope::Main, &[key('p')], "policy", "change the batching policy", "no-wait, opt-wait, pipelined, static, segment or elastic, with wait or MaxInf; compared first"),
    bind(&COMBINATION, Scope::Always, &[key('V')], "", "change the combination", "the rule, a weight for each member and who votes; staged and compared"),
    bind(&SEGMENT_SIZE, Scope::Always, &[key('N')], "", "change the segment size", "samples in a segment at most; staged and compared"),
    bind(&TARGET, Scope::Main, &[key('T')], "", "set the service objective", "the time in which a share of requests is to be answered"),
    bind(&HISTORY, Scope::Always, &[key('Y')], "", "history", "what ran when and how it did; Enter brings it back"),
    bind(&OPEN, Scope::Always, &[key('O')], "", "open a setup", "read a matrix and settings from a file: staged and compared"),
    bind(&WRITE, Scope::Always, &[key('W')], "", "write the setup", "the matrix and settings that are staged, or run, to a file"),
    bind(&KEEP, Scope::Main, &[key('K')], "", "keep what is on probation", "end the probation: what was applied stays"),
    bind(&ROLL_BACK, Scope::Main, &[key('B')], "", "roll back what is on probation", "end the probation: what ran before comes back"),
    bind(&APPLY_PROPOSAL, Scope::Main, &[key('M')], "", "apply the proposed move", "show the change that relieves an interfered worker; y applies it"),
    bind(&LOSE_DEVICE, Scope::Main, &[key('D')], "", "lose the device", "let the simulated device under the cursor disappear: it is evacuated"),
    bind(&REGAIN_DEVICE, Scope::Main, &[key('R')], "", "bring the device back", "let the lost device under the cursor come back, empty"),
    bind(&SLOW_DEVICE, Scope::Main, &[key('S')], "", "slow the device down", "let the simulated device under the cursor take so many times as long"),
    bind(&MAX_INF, Scope::Main, &[key('i')], "", "set MaxInf of the device", "samples in execution at most on the device under the cursor, under elastic"),
    bind(&CLEAR, Scope::Main, &[key('c')], "", "clear latencies", "forget latencies so far, to see what comes"),
    bind(&RECORD, Scope::Main, &[key('r')], "", "record on or off", "write all that is shown to a new file, to be played by divisi replay"),
    bind(&TAKE_EDITING, Scope::Main, &[key('E')], "", "take or let go editing", "where several watch, be the one who may change things, or let others"),
    bind(&NEXT_DEVICE, Scope::In(Panel::Streams), &[key(']')], "device", "next device", "the cursor to the next device, whose lanes are shown"),
    bind(&PREVIOUS_DEVICE, Scope::In(Panel::Streams), &[key('[')], "", "device before", "the cursor to the device before, whose lanes are shown"),
    bind(&SPAN_BEFORE, Scope::In(Panel::Streams), &[key(',')], "", "span before", "read the span before out: member, batch, requests, times"),
    bind(&SPAN_AFTER, Scope::In(Panel::Streams), &[key('.')], "", "span after", "read the next span out"),
    bind(&PAGE_BACK, Scope::In(Panel::Streams), &[key('{')], "", "page back in time", "all that is shown moves out of the picture"),
    bind(&PAGE_ON, Scope::In(Panel::Streams), &[key('}')], "", "page forward in time", "as far as now"),
    bind(&OLDEST, Scope::In(Panel::Streams), &[of(KeyCode::Home)], "", "oldest spans", "the start of what is remembered"),
    bind(&LATEST, Scope::In(Panel::Streams), &[of(KeyCode::End)], "", "go live", "the picture goes on with time"),
    bind(&SORT_ROWS, Scope::In(Panel::Streams), &[key('o')], "", "sort rows", "by device, by member, busiest first, by name"),
    bind(&FILTER_ROWS, Scope::In(Panel::Streams), &[key('/')], "filter", "filter rows", "only rows whose device or member has what is typed"),
    bind(&EXPORT_TRACE, Scope::In(Panel::Streams), &[key('t')], "", "export the timeline", "a Perfetto trace of what is held, or of all there is"),
    bind(&FREEZE, Scope::Main, &[key('f')], "freeze", "freeze the streams", "hold the timeline while serving goes on; again to go live"),
    bind(&ZOOM_IN, Scope::Main, &[key('+'), key('=')], "", "zoom in", "less time on the timeline"),
    bind(&ZOOM_OUT, Scope::Main, &[key('-')], "", "zoom out", "more time on the timeline"),
    bind(&EXPAND, Scope::Main, &[of(KeyCode::Enter), key('z')], "expand", "expand the panel", "the focused panel over the whole screen, and back"),
    bind(&NEXT, Scope::Main, &[of(KeyCode::Tab)], "", "next panel", "move the focus on"),
    bind(&PREVIOUS, Scope::Main, &[of(KeyCode::BackTab)], "", "panel before", "move the focus back"),
    bind(&FOCUS_ALLOCATION, Scope::Main, &[key('1')], "", "focus allocation", "devices × members, batch sizes and their load"),
    bind(&FOCUS_SEARCH, Scope::Main, &[key('2')], "", "focus search", "the search for a better matrix"),
    bind(&FOCUS_STREAMS, Scope::Main, &[key('3')], "", "focus streams", "what each worker does when"),
    bind(&FOCUS_LATENCY, Scope::Main, &[key('4')], "", "focus latency", "distribution and percentiles"),
    bind(&FOCUS_THROUGHPUT, Scope::Main, &[key('5')], "", "focus throughput", "samples answered over time"),
    bind(&FOCUS_LOG, Scope::Main, &[key('6')], "", "focus log", "what the program reports"),
    bind(&FOCUS_MEMBERS, Scope::Main, &[key('7')], "", "focus members", "what each member brings to the ensemble"),
    bind(&FOCUS_STEPS, Scope::Main, &[key('8')], "", "focus steps", "the graph of steps of what is served, with how each does; wait ms: the mean wait of a row that can run"),
    bind(&FOCUS_MODELS, Scope::Main, &[key('9')], "", "focus models", "what can be asked: models, pipelines and ensembles by name and version"),
    bind(&FOCUS_CLIENTS, Scope::Main, &[key('0')], "", "focus clients", "who asks over the network: connections, callers and what was refused"),
    bind(&FOCUS_TASKS, Scope::Main, &[key('a')], "", "focus tasks", "how goals are met, which policy loads variants, what it decided and why"),
    bind(&SCALING, Scope::In(Panel::Tasks), &[key('g')], "policy", "next scaling policy", "the one that decides which variants of tasks are loaded; panel a lists all"),
    bind(&COMPARE_POLICIES, Scope::In(Panel::Tasks), &[key('w')], "compare", "compare scaling policies", "the queries of the last minutes under every policy, simulated"),
    bind(&LISTEN, Scope::In(Panel::Clients), &[key('o')], "listen", "listen to clients, or to nobody", "at the named addresses; else at 127.0.0.1: HTTP 8000, gRPC 8001, metrics 8002"),
    bind(&LOAD_MODEL, Scope::In(Panel::Models), &[key('o')], "load", "load the model", "show what loading it changes, or its new versions; y applies it"),
    bind(&UNLOAD_MODEL, Scope::In(Panel::Models), &[key('d')], "unload", "unload the model", "show what unloading it changes; y applies it; what a pipeline uses stays"),
    bind(&MIX, Scope::In(Panel::Models), &[key('w')], "mix", "change the mix of models", "how much of which model is asked; the load and searches follow it"),
    bind(&VOTE, Scope::In(Panel::Members), &[key('v')], "vote", "vote on or off", "take the member under the cursor out of the vote, or back; it runs either way"),
    bind(&LATENCY_SCOPE, Scope::In(Panel::Latency), &[key('g')], "scope", "whose latency", "of the ensemble, a member or a worker; ← and → step through them"),
    bind(&THROUGHPUT_SCOPE, Scope::In(Panel::Throughput), &[key('g')], "scope", "whose throughput", "of the ensemble or a member; ← and → step through them"),
    bind(&NEXT_LAYOUT, Scope::Main, &[key('L')], "layout", "next layout", "other panels, or with other room for each"),
    bind(&PANELS, Scope::Main, &[key('H')], "", "hide or show panels", "choose the panels of the layout from a list"),
    bind(&UP, Scope::Always, &[of(KeyCode::Up), key('k')], "", "up", "move or scroll in the focused panel"),
    bind(&DOWN, Scope::Always, &[of(KeyCode::Down), key('j')], "", "down", "move or scroll in the focused panel"),
    bind(&PAGE_UP, Scope::Main, &[of(KeyCode::PageUp)], "", "page up", "by the rows that the focused panel has"),
    bind(&PAGE_DOWN, Scope::Main, &[of(KeyCode::PageDown)], "", "page down", "by the rows that the focused panel has"),
    bind(&TOP, Scope::Main, &[of(KeyCode::Home)], "", "to the top", "the first row of the focused panel"),
    bind(&BOTTOM, Scope::Main, &[of(KeyCode::End)], "", "to the bottom", "the last row of the focused panel"),
    bind(&LEFT, Scope::Edit, &[of(KeyCode::Left), key('h')], "", "left", "move the cursor"),
    bind(&RIGHT, Scope::Edit, &[of(KeyCode::Right), key('l')], "", "right", "move the cursor"),
    bind(&LEFT, Scope::Main, &[of(KeyCode::Left), key('h')], "", "left", "move in the matrix; in the streams, back in time"),
    bind(&RIGHT, Scope::Main, &[of(KeyCode::Right)], "", "right", "move in the matrix; in the streams, forward in time"),
    bind(&PALETTE, Scope::Always, &[key(':')], "command", "command palette", "find a command by typing a part of it"),
    bind(&MOUSE, Scope::Always, &[key('m')], "", "mouse on or off", "off leaves the mouse to the terminal, to select text"),
    bind(&PICTURE, Scope::Always, &[key('P')], "", "picture of the screen", "write the screen as text, ANSI and SVG to files"),
    bind(&SAVE_LAYOUT, Scope::Always, &[], "", "save layout", "keep the panels that are shown, and their sizes, as a layout of your own"),
    bind(&THEME, Scope::Always, &[], "", "theme", "choose how things look; shown while choosing"),
    bind(&SUSPEND, Scope::Always, &[control('z')], "", "suspend", "stop until fg"),
];
