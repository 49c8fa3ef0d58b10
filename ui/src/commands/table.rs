//! The table: every command, its keys by scope, and its line form.

use crossterm::event::KeyCode;

use super::conditions::{
    another_votes, can_be_lost, can_be_slowed, can_come_back, can_load, can_redo, can_undo,
    has_door, has_found, has_proposal, has_rule, has_tasks, is_on_probation, may_take_editing,
    searches,
};
use super::keys::{Key, code_key, control, key};
use super::{Binding, CommandInfo, Scope, command};
use crate::layout::Panel;

/// Shows the commands.
pub static HELP: CommandInfo = command("help");
/// Goes to the demonstration's next scene.
pub static DEMO_NEXT: CommandInfo = command("demo-next");
/// Goes to the demonstration's previous scene.
pub static DEMO_BACK: CommandInfo = command("demo-back");
/// Restarts this scene.
pub static DEMO_REPEAT: CommandInfo = command("demo-repeat");
/// Ends the demonstration.
pub static DEMO_LEAVE: CommandInfo = command("demo-leave");
/// Compares the staged with the running setup.
pub static COMPARE: CommandInfo = command("compare");
/// Sets the next larger batch size.
pub static RAISE: CommandInfo = command("raise");
/// Sets the next smaller batch size.
pub static LOWER: CommandInfo = command("lower");
/// Removes a worker.
pub static EMPTY: CommandInfo = command("empty");
/// Undoes the last staged change; as a line, drops all staged changes.
pub static UNSTAGE: CommandInfo = command("unstage");
/// Redoes the undone staged change.
pub static RESTAGE: CommandInfo = command("restage");
/// Leaves editing.
pub static LEAVE: CommandInfo = command("leave");
/// Takes a worker to copy it.
pub static COPY: CommandInfo = command("copy");
/// Takes a worker to move it.
pub static CUT: CommandInfo = command("cut");
/// Puts the taken worker on a device.
pub static PUT: CommandInfo = command("put");
/// Starts the member on all devices.
pub static SPREAD: CommandInfo = command("spread");
/// Removes all workers from a device.
pub static CLEAR_DEVICE: CommandInfo = command("clear-device");
/// Sets one batch size on a device.
pub static SAME_ROW: CommandInfo = command("same-row");
/// Sets one batch size for a member.
pub static SAME_COLUMN: CommandInfo = command("same-column");
/// Changes the precision of a member.
pub static PRECISION: CommandInfo = command("precision").changing();
/// Changes the batching policy.
pub static POLICY: CommandInfo = command("policy").changing();
/// Stages changes of the matrix.
pub static EDIT: CommandInfo = command("edit").changing();
/// Restores the previous setup.
pub static UNDO: CommandInfo = command("undo").changing().when(can_undo);
/// Redoes the undone change.
pub static REDO: CommandInfo = command("redo").changing().when(can_redo);
/// Starts a search.
pub static SEARCH: CommandInfo = command("search").changing();
/// Pauses or resumes a recording.
pub static PLAY_PAUSE: CommandInfo = command("play-pause");
/// Halves the speed.
pub static SLOWER: CommandInfo = command("slower");
/// Doubles the speed.
pub static FASTER: CommandInfo = command("faster");
/// Seeks backward in the recording.
pub static SEEK_BACK: CommandInfo = command("seek-back");
/// Seeks forward in the recording.
pub static SEEK_FORWARD: CommandInfo = command("seek-forward");
/// Pauses the search; on the screen also resumes it.
pub static PAUSE: CommandInfo = command("pause").changing().when(searches);
/// Ends the search.
pub static CANCEL: CommandInfo = command("cancel").changing().when(searches);
/// Applies the search's best matrix.
pub static APPLY_BEST: CommandInfo = command("apply-best").changing().when(has_found);
/// Changes the traffic shares of models.
pub static MIX: CommandInfo = command("mix").changing();
/// Changes the load.
pub static LOAD: CommandInfo = command("load").changing();
/// Changes the combination rule, weights and votes.
pub static COMBINATION: CommandInfo = command("combination").changing().when(has_rule);
/// Changes the segment size.
pub static SEGMENT_SIZE: CommandInfo = command("segment-size").changing();
/// Sets the service objective.
pub static TARGET: CommandInfo = command("target").changing();
/// Shows earlier setups and their results.
pub static HISTORY: CommandInfo = command("history");
/// Reads a setup from a file.
pub static OPEN: CommandInfo = command("open").changing();
/// Writes a setup to a file.
pub static WRITE: CommandInfo = command("write");
/// Ends a probation and keeps the change.
pub static KEEP: CommandInfo = command("keep").changing().when(is_on_probation);
/// Ends a probation and restores the previous setup.
pub static ROLL_BACK: CommandInfo = command("roll-back").changing().when(is_on_probation);
/// Applies the change that relieves a slowed worker.
pub static APPLY_PROPOSAL: CommandInfo = command("apply-proposal").changing().when(has_proposal);
/// Simulates the loss of a device.
pub static LOSE_DEVICE: CommandInfo = command("lose-device").changing().of_device(can_be_lost);
/// Brings a lost device back.
pub static REGAIN_DEVICE: CommandInfo =
    command("regain-device").changing().of_device(can_come_back);
/// Slows a simulated device down.
pub static SLOW_DEVICE: CommandInfo = command("slow-device").changing().of_device(can_be_slowed);
/// Limits the samples in execution on a device.
pub static MAX_INF: CommandInfo = command("max-inf").changing();
/// Resets the latencies.
pub static CLEAR: CommandInfo = command("clear").changing();
/// Starts or stops a recording.
pub static RECORD: CommandInfo = command("record").changing();
/// Takes or releases the right to edit.
pub static TAKE_EDITING: CommandInfo = command("take-editing").when(may_take_editing);
/// Moves the cursor to the next device.
pub static NEXT_DEVICE: CommandInfo = command("next-device");
/// Moves the cursor to the previous device.
pub static PREVIOUS_DEVICE: CommandInfo = command("previous-device");
/// Reads out the previous span.
pub static SPAN_BEFORE: CommandInfo = command("span-before");
/// Reads out the next span.
pub static SPAN_AFTER: CommandInfo = command("span-after");
/// Goes a page back in time.
pub static PAGE_BACK: CommandInfo = command("page-back");
/// Goes a page forward in time.
pub static PAGE_ON: CommandInfo = command("page-on");
/// Goes to the oldest recorded spans.
pub static OLDEST: CommandInfo = command("oldest");
/// Lets the picture follow the current time.
pub static LATEST: CommandInfo = command("latest");
/// Switches to the next row order.
pub static SORT_ROWS: CommandInfo = command("sort-rows");
/// Filters rows by name.
pub static FILTER_ROWS: CommandInfo = command("filter-rows");
/// Writes spans for trace viewers.
pub static EXPORT_TRACE: CommandInfo = command("export-trace");
/// Freezes the timeline.
pub static FREEZE: CommandInfo = command("freeze");
/// Shows less time on the timeline.
pub static ZOOM_IN: CommandInfo = command("zoom-in");
/// Shows more time on the timeline.
pub static ZOOM_OUT: CommandInfo = command("zoom-out");
/// Shows the focused panel on the whole screen, or all panels again.
pub static EXPAND: CommandInfo = command("expand");
/// Focuses the next panel.
pub static NEXT: CommandInfo = command("next");
/// Focuses the previous panel.
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
/// Switches the policy for loading variants of tasks.
pub static SCALING: CommandInfo = command("scaling").changing().when(has_tasks);
/// Replays the last queries of tasks under every policy.
pub static COMPARE_POLICIES: CommandInfo = command("compare-policies").changing().when(has_tasks);
/// Starts or stops listening to network clients.
pub static LISTEN: CommandInfo = command("listen").changing().when(has_door);
/// Loads a model.
pub static LOAD_MODEL: CommandInfo = command("load-model").changing().when(can_load);
/// Unloads a model.
pub static UNLOAD_MODEL: CommandInfo = command("unload-model").changing().when(can_load);
/// Plans a change of models.
pub static PLAN_MODELS: CommandInfo = command("plan-models").changing().when(can_load);
/// Applies the planned change of models.
pub static APPLY_MODELS: CommandInfo = command("apply-models").changing().when(can_load);
/// Removes or restores a member's vote.
pub static VOTE: CommandInfo = command("vote")
    .changing()
    .when(has_rule)
    .of_member(another_votes);
/// Changes the subject of the shown latencies.
pub static LATENCY_SCOPE: CommandInfo = command("latency-scope");
/// Changes the subject of the shown rates.
pub static THROUGHPUT_SCOPE: CommandInfo = command("throughput-scope");
/// Shows the next layout.
pub static NEXT_LAYOUT: CommandInfo = command("next-layout");
/// Hides panels, or shows them.
pub static PANELS: CommandInfo = command("panels");
/// Moves up in the focused panel.
pub static UP: CommandInfo = command("up");
/// Moves down in the focused panel.
pub static DOWN: CommandInfo = command("down");
/// Moves up one page in the focused panel.
pub static PAGE_UP: CommandInfo = command("page-up");
/// Moves down one page in the focused panel.
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
/// Turns the mouse on or off.
pub static MOUSE: CommandInfo = command("mouse");
/// Writes the screen to files.
pub static PICTURE: CommandInfo = command("picture");
/// Saves the shown layout.
pub static SAVE_LAYOUT: CommandInfo = command("save-layout");
/// Chooses a theme.
pub static THEME: CommandInfo = command("theme");
/// Suspends the program until `fg`.
pub static SUSPEND: CommandInfo = command("suspend");
/// Quits the program.
pub static QUIT: CommandInfo = command("quit");
/// Shows the state of serving.
pub static STATUS: CommandInfo = command("status");
/// Stages an entry of the matrix.
pub static SET: CommandInfo = command("set").changing();
/// Applies staged changes.
pub static APPLY: CommandInfo = command("apply").changing();
/// Resumes the search.
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
    bind(&HELP, Scope::Always, &[key('?')], "help", "help", "all commands with their keys; type to search"),
    bind(&QUIT, Scope::Always, &[key('q'), control('c')], "quit", "quit", "asks first if this console started the server"),
    bind(&DEMO_NEXT, Scope::Demo, &[key('n')], "next", "next scene", "go to the next scene"),
    bind(&DEMO_BACK, Scope::Demo, &[key('b')], "back", "previous scene", "go to the previous scene"),
    bind(&DEMO_REPEAT, Scope::Demo, &[key('r')], "repeat", "repeat scene", "restart this scene"),
    bind(&DEMO_LEAVE, Scope::Demo, &[code_key(KeyCode::Esc)], "leave", "leave the demonstration", "end it and stay in the console"),
    bind(&COMPARE, Scope::Edit, &[key('a')], "apply", "compare and apply", "show the effects of the staged changes; y applies them, g applies on probation"),
    bind(&RAISE, Scope::Edit, &[key('+'), key('='), code_key(KeyCode::PageUp)], "larger", "larger batch", "use the next larger batch size at the cursor"),
    bind(&LOWER, Scope::Edit, &[key('-'), code_key(KeyCode::PageDown)], "smaller", "smaller batch", "use the next smaller batch size at the cursor, down to no worker"),
    bind(&EMPTY, Scope::Edit, &[key('d'), code_key(KeyCode::Delete)], "", "no worker", "remove the worker at the cursor, like 0"),
    bind(&PRECISION, Scope::Edit, &[key('i')], "precision", "use the next precision", "compute the member in its next precision; f32, bf16, int8, auto, on GPUs also tf32, f16"),
    bind(&UNSTAGE, Scope::Edit, &[key('u')], "undo", "undo staged change", "undo the last staged change"),
    bind(&RESTAGE, Scope::Edit, &[key('r'), key('U'), control('r')], "", "redo staged change", "redo the undone staged change"),
    bind(&LEAVE, Scope::Edit, &[code_key(KeyCode::Esc)], "leave", "leave editing", "stop editing; asks before dropping staged changes"),
    bind(&COPY, Scope::Edit, &[key('y')], "copy", "copy a worker", "take the worker at the cursor; Enter copies it to the cursor's device"),
    bind(&CUT, Scope::Edit, &[key('x')], "move", "move a worker", "take the worker at the cursor; Enter moves it to the cursor's device"),
    bind(&PUT, Scope::Edit, &[code_key(KeyCode::Enter)], "", "put the worker here", "put the worker of y or x on the device at the cursor"),
    bind(&SPREAD, Scope::Edit, &[key('s')], "spread", "spread the member", "start a worker on every device with room, with this batch size"),
    bind(&CLEAR_DEVICE, Scope::Edit, &[key('c')], "", "clear the device", "remove all workers here; members without another move to the device with most free memory"),
    bind(&SAME_ROW, Scope::Edit, &[key('R')], "", "same batch size on device", "use the batch size at the cursor for all workers of this device"),
    bind(&SAME_COLUMN, Scope::Edit, &[key('C')], "", "same batch size for member", "use the batch size at the cursor for all workers of this member"),
    bind(&POLICY, Scope::Edit, &[key('p')], "", "stage a batching policy", "stage the policy and its parameters with the matrix"),
    bind(&EDIT, Scope::Main, &[key('e')], "edit", "edit the allocation", "stage changes of the matrix; they run once applied"),
    bind(&UNDO, Scope::Main, &[key('u')], "undo", "undo the last change", "restore the previous matrix and settings"),
    bind(&REDO, Scope::Main, &[key('U'), control('r')], "", "redo", "redo the undone change"),
    bind(&SEARCH, Scope::Main, &[key('s')], "search", "search for allocations", "choose algorithm, evaluator and goal; the built-in load pauses during measurements"),
    bind(&PLAY_PAUSE, Scope::Replay, &[key(' ')], "pause", "pause or play", "pause or resume the recording; at its end, restart it"),
    bind(&SLOWER, Scope::Replay, &[key('<')], "slower", "slower", "play the recording half as fast"),
    bind(&FASTER, Scope::Replay, &[key('>')], "faster", "faster", "play the recording twice as fast"),
    bind(&SEEK_BACK, Scope::Replay, &[key('(')], "back", "go back", "rewind by 1/20 of the recording, at least 5 s"),
    bind(&SEEK_FORWARD, Scope::Replay, &[key(')')], "forward", "go forward", "skip 1/20 of the recording, at least 5 s"),
    bind(&PAUSE, Scope::In(Panel::Search), &[key(' ')], "pause", "pause or resume the search", "pause or resume the search"),
    bind(&CANCEL, Scope::Main, &[key('x')], "", "cancel the search", "end the search and keep its best matrix"),
    bind(&APPLY_BEST, Scope::Main, &[key('b')], "", "apply the best matrix", "show the effects of the search's best matrix; y applies it"),
    bind(&LOAD, Scope::Main, &[key('l')], "load", "change the load", "choose closed loop, Poisson, steady, burst, diurnal, a recorded file or none"),
    bind(&POLICY, Scope::Main, &[key('p')], "policy", "change the batching policy", "choose no-wait, opt-wait, pipelined, static, segment or elastic; compares first"),
    bind(&COMBINATION, Scope::Always, &[key('V')], "", "change the combination", "set the rule, weights and votes; compares first"),
    bind(&SEGMENT_SIZE, Scope::Always, &[key('N')], "", "change the segment size", "set the samples per segment; compares first"),
    bind(&TARGET, Scope::Main, &[key('T')], "", "set the service objective", "set a latency limit for a share of requests"),
    bind(&HISTORY, Scope::Always, &[key('Y')], "", "history", "show earlier setups and their results; Enter restores one"),
    bind(&OPEN, Scope::Always, &[key('O')], "", "open a setup", "read a matrix and settings from a file; compares first"),
    bind(&WRITE, Scope::Always, &[key('W')], "", "write the setup", "write the staged or running matrix and settings to a file"),
    bind(&KEEP, Scope::Main, &[key('K')], "", "keep the change", "end the probation and keep the change"),
    bind(&ROLL_BACK, Scope::Main, &[key('B')], "", "roll back the change", "end the probation and restore the previous setup"),
    bind(&APPLY_PROPOSAL, Scope::Main, &[key('M')], "", "apply the proposed move", "show the proposed move of a slowed worker; y applies it"),
    bind(&LOSE_DEVICE, Scope::Main, &[key('D')], "", "lose the device", "simulate the loss of the device at the cursor; its work moves elsewhere"),
    bind(&REGAIN_DEVICE, Scope::Main, &[key('R')], "", "bring the device back", "bring the lost device at the cursor back, without workers"),
    bind(&SLOW_DEVICE, Scope::Main, &[key('S')], "", "slow the device down", "slow the simulated device at the cursor down by a factor"),
    bind(&MAX_INF, Scope::Main, &[key('i')], "", "set MaxInf of the device", "limit samples in execution on the device at the cursor, under elastic"),
    bind(&CLEAR, Scope::Main, &[key('c')], "", "clear latencies", "reset the latencies"),
    bind(&RECORD, Scope::Main, &[key('r')], "", "start or stop recording", "record the session to a new file, for divisi replay"),
    bind(&TAKE_EDITING, Scope::Main, &[key('E')], "", "take or release editing", "become the only editor, or let others edit"),
    bind(&NEXT_DEVICE, Scope::In(Panel::Streams), &[key(']')], "device", "next device", "go to the next device and show its lanes"),
    bind(&PREVIOUS_DEVICE, Scope::In(Panel::Streams), &[key('[')], "", "previous device", "go to the previous device and show its lanes"),
    bind(&SPAN_BEFORE, Scope::In(Panel::Streams), &[key(',')], "", "previous span", "read out the previous span: member, batch, requests, times"),
    bind(&SPAN_AFTER, Scope::In(Panel::Streams), &[key('.')], "", "next span", "read out the next span"),
    bind(&PAGE_BACK, Scope::In(Panel::Streams), &[key('{')], "", "page back in time", "show one page of earlier time"),
    bind(&PAGE_ON, Scope::In(Panel::Streams), &[key('}')], "", "page forward in time", "show one page of later time, at most to now"),
    bind(&OLDEST, Scope::In(Panel::Streams), &[code_key(KeyCode::Home)], "", "oldest spans", "go to the oldest recorded spans"),
    bind(&LATEST, Scope::In(Panel::Streams), &[code_key(KeyCode::End)], "", "go live", "follow the current time"),
    bind(&SORT_ROWS, Scope::In(Panel::Streams), &[key('o')], "", "sort rows", "sort by device, member, load or name"),
    bind(&FILTER_ROWS, Scope::In(Panel::Streams), &[key('/')], "filter", "filter rows", "show only rows with a matching device or member"),
    bind(&EXPORT_TRACE, Scope::In(Panel::Streams), &[key('t')], "", "export the timeline", "write the frozen spans, or all, as a Perfetto trace"),
    bind(&FREEZE, Scope::Main, &[key('f')], "freeze", "freeze the streams", "freeze the timeline while serving continues; again to go live"),
    bind(&ZOOM_IN, Scope::Main, &[key('+'), key('=')], "", "zoom in", "show less time"),
    bind(&ZOOM_OUT, Scope::Main, &[key('-')], "", "zoom out", "show more time"),
    bind(&EXPAND, Scope::Main, &[code_key(KeyCode::Enter), key('z')], "expand", "expand the panel", "show the focused panel on the whole screen, or all panels"),
    bind(&NEXT, Scope::Main, &[code_key(KeyCode::Tab)], "", "next panel", "focus the next panel"),
    bind(&PREVIOUS, Scope::Main, &[code_key(KeyCode::BackTab)], "", "previous panel", "focus the previous panel"),
    bind(&FOCUS_ALLOCATION, Scope::Main, &[key('1')], "", "focus allocation", "devices × members, batch sizes and their load"),
    bind(&FOCUS_SEARCH, Scope::Main, &[key('2')], "", "focus search", "the search for a better matrix"),
    bind(&FOCUS_STREAMS, Scope::Main, &[key('3')], "", "focus streams", "the work of each worker over time"),
    bind(&FOCUS_LATENCY, Scope::Main, &[key('4')], "", "focus latency", "latency distribution and percentiles"),
    bind(&FOCUS_THROUGHPUT, Scope::Main, &[key('5')], "", "focus throughput", "samples answered over time"),
    bind(&FOCUS_LOG, Scope::Main, &[key('6')], "", "focus log", "messages of the program"),
    bind(&FOCUS_MEMBERS, Scope::Main, &[key('7')], "", "focus members", "each member's contribution to the ensemble"),
    bind(&FOCUS_STEPS, Scope::Main, &[key('8')], "", "focus steps", "the graph of served steps with their figures; wait ms: mean wait of a ready row"),
    bind(&FOCUS_MODELS, Scope::Main, &[key('9')], "", "focus models", "served models, pipelines and ensembles by name and version"),
    bind(&FOCUS_CLIENTS, Scope::Main, &[key('0')], "", "focus clients", "network clients: connections, callers and errors"),
    bind(&FOCUS_TASKS, Scope::Main, &[key('a')], "", "focus tasks", "goals met, the policy for loading variants, and its decisions"),
    bind(&SCALING, Scope::In(Panel::Tasks), &[key('g')], "policy", "use the next scaling policy", "use the next policy for loading variants; panel a lists all"),
    bind(&COMPARE_POLICIES, Scope::In(Panel::Tasks), &[key('w')], "compare", "compare scaling policies", "simulate the queries of the last minutes under every policy"),
    bind(&LISTEN, Scope::In(Panel::Clients), &[key('o')], "listen", "start or stop listening", "listen at the given addresses; default 127.0.0.1: HTTP 8000, gRPC 8001, metrics 8002"),
    bind(&LOAD_MODEL, Scope::In(Panel::Models), &[key('o')], "load", "load the model", "show the effects of loading it or its new versions; y applies"),
    bind(&UNLOAD_MODEL, Scope::In(Panel::Models), &[key('d')], "unload", "unload the model", "show the effects of unloading it; y applies; models used by pipelines stay"),
    bind(&MIX, Scope::In(Panel::Models), &[key('w')], "mix", "change the mix of models", "set the traffic shares of models, for the load and searches"),
    bind(&VOTE, Scope::In(Panel::Members), &[key('v')], "vote", "turn the vote on or off", "let the member at the cursor vote or not; it runs either way"),
    bind(&LATENCY_SCOPE, Scope::In(Panel::Latency), &[key('g')], "scope", "whose latency", "show the ensemble, members or workers; ← and → choose one"),
    bind(&THROUGHPUT_SCOPE, Scope::In(Panel::Throughput), &[key('g')], "scope", "whose throughput", "show the ensemble or members; ← and → choose one"),
    bind(&NEXT_LAYOUT, Scope::Main, &[key('L')], "layout", "next layout", "change the panels and their sizes"),
    bind(&PANELS, Scope::Main, &[key('H')], "", "hide or show panels", "choose the panels of the layout from a list"),
    bind(&UP, Scope::Always, &[code_key(KeyCode::Up), key('k')], "", "up", "move or scroll in the focused panel"),
    bind(&DOWN, Scope::Always, &[code_key(KeyCode::Down), key('j')], "", "down", "move or scroll in the focused panel"),
    bind(&PAGE_UP, Scope::Main, &[code_key(KeyCode::PageUp)], "", "page up", "move by one page in the focused panel"),
    bind(&PAGE_DOWN, Scope::Main, &[code_key(KeyCode::PageDown)], "", "page down", "move by one page in the focused panel"),
    bind(&TOP, Scope::Main, &[code_key(KeyCode::Home)], "", "to the top", "go to the first row of the focused panel"),
    bind(&BOTTOM, Scope::Main, &[code_key(KeyCode::End)], "", "to the bottom", "go to the last row of the focused panel"),
    bind(&LEFT, Scope::Edit, &[code_key(KeyCode::Left), key('h')], "", "left", "move the cursor"),
    bind(&RIGHT, Scope::Edit, &[code_key(KeyCode::Right), key('l')], "", "right", "move the cursor"),
    bind(&LEFT, Scope::Main, &[code_key(KeyCode::Left), key('h')], "", "left", "move in the matrix; in the streams, back in time"),
    bind(&RIGHT, Scope::Main, &[code_key(KeyCode::Right)], "", "right", "move in the matrix; in the streams, forward in time"),
    bind(&PALETTE, Scope::Always, &[key(':')], "command", "command palette", "find a command by a part of its name"),
    bind(&MOUSE, Scope::Always, &[key('m')], "", "mouse on or off", "off leaves the mouse to the terminal, to select text"),
    bind(&PICTURE, Scope::Always, &[key('P')], "", "picture of the screen", "write the screen as text, ANSI and SVG to files"),
    bind(&SAVE_LAYOUT, Scope::Always, &[], "", "save layout", "save the shown panels and their sizes as your layout"),
    bind(&THEME, Scope::Always, &[], "", "theme", "choose a theme, with a preview"),
    bind(&SUSPEND, Scope::Always, &[control('z')], "", "suspend", "suspend until fg"),
];
