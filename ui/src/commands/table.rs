//! The table: one row for each command.

/// Calls a macro with every command, in the order of the footer and the help.
///
/// A row has the name with its conditions, the functions in `actions` (on the screen, as a line or
/// both), then its keys and its line: `keys(SCOPE, KEYS, FOOTER, TITLE, HELP)` and
/// `line(WORDS, OTHER NAMES, HELP)`. A command with keys in two scopes has two rows. Commands that
/// focus a panel follow `PREVIOUS`; the panels declare them. `bindings.rs` and `actions/table.rs`
/// import the names in the rows.
#[rustfmt::skip]
macro_rules! each_command {
    ($with:ident) => { $with! {
        HELP = command("help"), both(|_| Dialog::Help(Help::default()).into(), lines::help),
            keys(Always, &[key('?')], "help", "help", "all commands with their keys; type to search"),
            line("", &["?"], "list all commands");
        QUIT = command("quit"), both(session::quit, lines::quit),
            keys(Always, &[key('q'), control('c')], "quit", "quit", "asks first if this console started the server"),
            line("", &["q", "exit"], "finish requests and quit");
        DEMO_NEXT = command("demo-next"), screen(|m| session::next_scene(m).into()),
            keys(Demo, &[key('n')], "next", "next scene", "go to the next scene");
        DEMO_BACK = command("demo-back"), screen(|m| session::scene_before(m).into()),
            keys(Demo, &[key('b')], "back", "previous scene", "go to the previous scene");
        DEMO_REPEAT = command("demo-repeat"), screen(|m| session::scene_again(m).into()),
            keys(Demo, &[key('r')], "repeat", "repeat scene", "restart this scene");
        DEMO_LEAVE = command("demo-leave"), screen(|m| session::leave_demo(m).into()),
            keys(Demo, &[code_key(KeyCode::Esc)], "leave", "leave the demonstration", "end it and stay in the console");
        COMPARE = command("compare"), both(stage::compare, comparison::compare),
            keys(Edit, &[key('a')], "apply", "compare and apply", "show the effects of the staged changes; y applies them, g applies on probation"),
            line("", &[], "show the workers and memory that staged changes would affect");
        RAISE = command("raise"), screen(|m| edit::cycle(m, 1).into()),
            keys(Edit, &[key('+'), key('='), code_key(KeyCode::PageUp)], "larger", "larger batch", "use the next larger batch size at the cursor");
        LOWER = command("lower"), screen(|m| edit::cycle(m, -1).into()),
            keys(Edit, &[key('-'), code_key(KeyCode::PageDown)], "smaller", "smaller batch", "use the next smaller batch size at the cursor, down to no worker");
        EMPTY = command("empty"), screen(|m| edit::empty(m).into()),
            keys(Edit, &[key('d'), code_key(KeyCode::Delete)], "", "no worker", "remove the worker at the cursor, like 0");
        PRECISION = command("precision").changing(), both(|m| edit::precision(m).into(), lines::precision),
            keys(Edit, &[key('i')], "precision", "use the next precision", "compute the member in its next precision; f32, bf16, int8, auto, on GPUs also tf32, f16"),
            line("MEMBER PRECISION", &[], "stage a member's precision: f32, tf32, bf16, f16, int8 or auto");
        UNSTAGE = command("unstage"), both(|m| edit::unstage(m).into(), lines::unstage),
            keys(Edit, &[key('u')], "undo", "undo staged change", "undo the last staged change"),
            line("", &[], "drop staged changes");
        RESTAGE = command("restage"), screen(|m| edit::restage(m).into()),
            keys(Edit, &[key('r'), key('U'), control('r')], "", "redo staged change", "redo the undone staged change");
        LEAVE = command("leave"), screen(|m| edit::leave(m).into()),
            keys(Edit, &[code_key(KeyCode::Esc)], "leave", "leave editing", "stop editing; asks before dropping staged changes");
        COPY = command("copy"), screen(|m| edit::take(m, false).into()),
            keys(Edit, &[key('y')], "copy", "copy a worker", "take the worker at the cursor; Enter copies it to the cursor's device");
        CUT = command("cut"), screen(|m| edit::take(m, true).into()),
            keys(Edit, &[key('x')], "move", "move a worker", "take the worker at the cursor; Enter moves it to the cursor's device");
        PUT = command("put"), screen(|m| edit::put_worker(m).into()),
            keys(Edit, &[code_key(KeyCode::Enter)], "", "put the worker here", "put the worker of y or x on the device at the cursor");
        SPREAD = command("spread"), screen(|m| edit::spread(m).into()),
            keys(Edit, &[key('s')], "spread", "spread the member", "start a worker on every device with room, with this batch size");
        CLEAR_DEVICE = command("clear-device"), screen(|m| edit::clear_device(m).into()),
            keys(Edit, &[key('c')], "", "clear the device", "remove all workers here; members without another move to the device with most free memory");
        SAME_ROW = command("same-row"), screen(|m| edit::same_row(m).into()),
            keys(Edit, &[key('R')], "", "same batch size on device", "use the batch size at the cursor for all workers of this device");
        SAME_COLUMN = command("same-column"), screen(|m| edit::same_column(m).into()),
            keys(Edit, &[key('C')], "", "same batch size for member", "use the batch size at the cursor for all workers of this member");
        STAGE_POLICY = command("policy").changing(), screen(|m| Dialog::Form(Form::policy(m.setup().policy)).into()),
            keys(Edit, &[key('p')], "", "stage a batching policy", "stage the policy and its parameters with the matrix");
        EDIT = command("edit").changing(), screen(|m| edit::begin(m).into()),
            keys(Main, &[key('e')], "edit", "edit the allocation", "stage changes of the matrix; they run once applied");
        UNDO = command("undo").changing().when(can_undo),
            both(|_| stage::undo(), |f, w| lines::plain(f, w, Command::Undo)),
            keys(Main, &[key('u')], "undo", "undo the last change", "show the effects of restoring the previous matrix and settings; y restores them"),
            line("", &[], "undo the last change");
        REDO = command("redo").changing().when(can_redo),
            both(|_| stage::redo(), |f, w| lines::plain(f, w, Command::Redo)),
            keys(Main, &[key('U'), control('r')], "", "redo", "show the effects of the undone change; y redoes it"),
            line("", &[], "redo the undone change");
        WHAT_IF = command("what-if"), both(|m| stage::what_if(m), lines::what_if),
            keys(Main, &[key('w')], "what-if", "ask what if", "predict a lost device, other precisions or more load; also one more device, one member fewer"),
            line("lose DEVICE | all PRECISION | rate FACTOR | more DEVICE | without MEMBER | undo | redo", &[], "predict throughput, p99, accuracy and cost of a case; the answer follows");
        SEARCH = command("search").changing(), both(|m| stage::search(m), lines::search),
            keys(Main, &[key('s')], "search", "search for allocations", "choose algorithm, evaluator and goal; the built-in load pauses during measurements"),
            line("[ALGORITHM [EVALUATOR]] [again]", &[], "search for a better allocation: worst-fit, best-batch, greedy or local; bench or model; again ignores kept results");
        PLAY_PAUSE = command("play-pause"), screen(|m| session::play(m, session::pause_or_go_on)),
            keys(Replay, &[key(' ')], "pause", "pause or play", "pause or resume the recording; at its end, restart it");
        SLOWER = command("slower"), screen(|m| session::play(m, session::slower)),
            keys(Replay, &[key('<')], "slower", "slower", "play the recording half as fast");
        FASTER = command("faster"), screen(|m| session::play(m, session::faster)),
            keys(Replay, &[key('>')], "faster", "faster", "play the recording twice as fast");
        SEEK_BACK = command("seek-back"), screen(|m| session::play(m, session::back)),
            keys(Replay, &[key('(')], "back", "go back", "rewind by 1/20 of the recording, at least 5 s");
        SEEK_FORWARD = command("seek-forward"), screen(|m| session::play(m, session::forward)),
            keys(Replay, &[key(')')], "forward", "go forward", "skip 1/20 of the recording, at least 5 s");
        PAUSE = command("pause").changing().when(searches),
            both(|m| stage::pause(m), |f, w| lines::plain(f, w, Command::PauseSearch)),
            keys(In(Panel::Search), &[key(' ')], "pause", "pause or resume the search", "pause or resume the search"),
            line("", &[], "pause the search");
        CANCEL = command("cancel").changing().when(searches),
            both(|_| Command::CancelSearch.into(), |f, w| lines::plain(f, w, Command::CancelSearch)),
            keys(Main, &[key('x')], "", "cancel the search", "end the search and keep its best matrix"),
            line("", &[], "end the search and keep its best matrix");
        APPLY_BEST = command("apply-best").changing().when(has_found), both(stage::apply_best, lines::apply_best),
            keys(Main, &[key('b')], "", "apply the best matrix", "show the effects of the search's best matrix; y applies it"),
            line("", &["apply best"], "apply the search's best matrix");
        LOAD = command("load").changing(),
            both(|m| Dialog::Form(Form::load(m.snapshot.load.pattern.as_ref())).into(), |f, w| lines::sends(f, w, arguments::load, stage::set_load)),
            keys(Main, &[key('l')], "load", "change the load", "choose closed loop, Poisson, steady, burst, diurnal, a recorded file or none"),
            line("PATTERN", &[], "set the load: closed[:CLIENTS[xSAMPLES]], poisson:RATE, steady:RATE, burst[:RATE], diurnal:RATE[:PERIOD], replay:FILE[:SPEED] or none");
        POLICY = command("policy").changing(), both(|m| Dialog::Form(Form::policy(m.setup().policy)).into(), lines::policy),
            keys(Main, &[key('p')], "policy", "change the batching policy", "choose when a free worker starts a batch; compares first"),
            line("POLICY", &[], "set the batching policy, such as opt-wait:5ms or elastic:64; help lists all");
        COMBINATION = command("combination").changing().when(has_rule), screen(|m| stage::combination(m)),
            keys(Always, &[key('V')], "", "change the combination", "set the rule, weights and votes; compares first");
        SEGMENT_SIZE = command("segment-size").changing(),
            screen(|m| Dialog::Form(Form::segment_size(m.setup().segment_size)).into()),
            keys(Always, &[key('N')], "", "change the segment size", "set the samples per segment; compares first");
        TARGET = command("target").changing(), both(|m| Dialog::Form(Form::target(m.snapshot.target)).into(), lines::target),
            keys(Main, &[key('T')], "", "set the service objective", "set a latency limit for a share of requests"),
            line("TIME [PERCENT]", &[], "set the service objective, such as 50ms 99, or none");
        HISTORY = command("history"), screen(|_| Dialog::History(HistoryDialog::default()).into()),
            keys(Always, &[key('Y')], "", "history", "show earlier setups and their results; Enter restores one");
        ACKNOWLEDGE = command("acknowledge").when(has_incident), screen(|m| panels::acknowledge(m).into()),
            keys(Main, &[key('A')], "", "acknowledge the incident", "keep the incident on the screen, marked as known");
        DISMISS = command("dismiss").when(has_incident), screen(|m| panels::dismiss(m).into()),
            keys(Main, &[key('X')], "", "dismiss the incident", "hide the incident until its problem begins again");
        OPEN = command("open").changing(), screen(|m| stage::open_file(m)),
            keys(Always, &[key('O')], "", "open a setup", "read a matrix and settings from a file; compares first");
        WRITE = command("write"), screen(|m| stage::write_file(m)),
            keys(Always, &[key('W')], "", "write the setup", "write the staged or running matrix and settings to a file");
        KEEP = command("keep").changing().when(is_on_probation),
            both(|_| stage::asked_first("keep the change", "Keep the change and end its probation?", Command::EndProbation(true)), |f, w| lines::plain(f, w, Command::EndProbation(true))),
            keys(Main, &[key('K')], "", "keep the change", "end the probation and keep the change"),
            line("", &[], "end the probation and keep the change");
        ROLL_BACK = command("roll-back").changing().when(is_on_probation),
            both(|_| stage::asked_first("roll back", "Roll back the change on probation to the previous setup?", Command::EndProbation(false)), |f, w| lines::plain(f, w, Command::EndProbation(false))),
            keys(Main, &[key('B')], "", "roll back the change", "end the probation and restore the previous setup"),
            line("", &[], "end the probation and roll the change back");
        APPLY_PROPOSAL = command("apply-proposal").changing().when(has_proposal),
            both(stage::apply_proposal, lines::apply_proposal),
            keys(Main, &[key('M')], "", "apply the proposed move", "show the proposed move of a slowed worker; y applies it"),
            line("", &[], "apply the change that relieves an interfered worker");
        LOSE_DEVICE = command("lose-device").changing().of_device(can_be_lost),
            both(|m| session::lose_device(m).into(), |f, w| lines::sends(f, w, arguments::device, Command::LoseDevice)),
            keys(Main, &[key('D')], "", "lose the device", "simulate the loss of the device at the cursor; its work moves elsewhere"),
            line("DEVICE", &[], "simulate the loss of a device; its work moves elsewhere");
        REGAIN_DEVICE = command("regain-device").changing().of_device(can_come_back),
            both(|m| Command::RegainDevice(m.cursor.device).into(), |f, w| lines::sends(f, w, arguments::device, Command::RegainDevice)),
            keys(Main, &[key('R')], "", "bring the device back", "bring the lost device at the cursor back, without workers"),
            line("DEVICE", &[], "bring a lost device back, without workers");
        SLOW_DEVICE = command("slow-device").changing().of_device(can_be_slowed),
            both(|m| session::slow_device(m).into(), lines::slow_device),
            keys(Main, &[key('S')], "", "slow the device down", "slow the simulated device at the cursor down by a factor"),
            line("DEVICE FACTOR", &[], "slow a simulated device down by a factor");
        MAX_INF = command("max-inf").changing(), both(|m| session::max_inf(m).into(), lines::max_inf),
            keys(Main, &[key('i')], "", "set MaxInf of the device", "limit samples in execution on the device at the cursor, under elastic"),
            line("DEVICE SAMPLES", &[], "limit samples in execution on a device, under elastic; none: the policy's limit");
        CLEAR = command("clear").changing(),
            both(|_| Command::ClearLatency.into(), |f, w| lines::plain(f, w, Command::ClearLatency)),
            keys(Main, &[key('c')], "", "clear latencies", "reset the latencies"),
            line("", &[], "reset the latencies");
        RECORD = command("record").changing(),
            both(|m| session::record(m), |f, w| lines::sends(f, w, arguments::record_to, |path| path.map_or(Command::StopRecording, Command::StartRecording))),
            keys(Main, &[key('r')], "", "start or stop recording", "record the session to a new file, for divisi replay"),
            line("FILE", &[], "record the session to a file; off: stop");
        TAKE_EDITING = command("take-editing").when(may_take_editing), screen(|m| session::take_editing(m)),
            keys(Main, &[key('E')], "", "take or release editing", "become the only editor, or let others edit");
        NEXT_DEVICE = command("next-device"), screen(|m| session::step_device(m, 1).into()),
            keys(In(Panel::Streams), &[key(']')], "device", "next device", "go to the next device and show its lanes");
        PREVIOUS_DEVICE = command("previous-device"), screen(|m| session::step_device(m, -1).into()),
            keys(In(Panel::Streams), &[key('[')], "", "previous device", "go to the previous device and show its lanes");
        SPAN_BEFORE = command("span-before"), screen(|m| streams::step(m, false).into()),
            keys(In(Panel::Streams), &[key(',')], "", "previous span", "read out the previous span: member, batch, requests, times");
        SPAN_AFTER = command("span-after"), screen(|m| streams::step(m, true).into()),
            keys(In(Panel::Streams), &[key('.')], "", "next span", "read out the next span");
        PAGE_BACK = command("page-back"), screen(|m| streams::pan(m, -1.0).into()),
            keys(In(Panel::Streams), &[key('{')], "", "page back in time", "show one page of earlier time");
        PAGE_ON = command("page-on"), screen(|m| streams::pan(m, 1.0).into()),
            keys(In(Panel::Streams), &[key('}')], "", "page forward in time", "show one page of later time, at most to now");
        OLDEST = command("oldest"), screen(|m| streams::oldest(m).into()),
            keys(In(Panel::Streams), &[code_key(KeyCode::Home)], "", "oldest spans", "go to the oldest recorded spans");
        LATEST = command("latest"), screen(|m| streams::go_live(m).into()),
            keys(In(Panel::Streams), &[code_key(KeyCode::End)], "", "go live", "follow the current time");
        SORT_ROWS = command("sort-rows"), screen(|m| streams::sort(m).into()),
            keys(In(Panel::Streams), &[key('o')], "", "sort rows", "sort by device, member, load or name");
        FILTER_ROWS = command("filter-rows"), screen(|m| streams::filter(m).into()),
            keys(In(Panel::Streams), &[key('/')], "filter", "filter rows", "show only rows with a matching device or member");
        EXPORT_TRACE = command("export-trace"), screen(streams::export),
            keys(In(Panel::Streams), &[key('Z')], "", "export the timeline", "write the frozen spans, or all, as a Perfetto trace");
        CURSOR_BEFORE = command("cursor-before"), screen(|m| time::step(m, -1).into()),
            keys(In(Panel::Time), &[key(',')], "cursor", "cursor back in time", "read out the figures and the change one column earlier");
        CURSOR_AFTER = command("cursor-after"), screen(|m| time::step(m, 1).into()),
            keys(In(Panel::Time), &[key('.')], "", "cursor forward in time", "read out the figures and the change one column later");
        LIGHT_REQUEST = command("light-request"), screen(|m| requests::light(m).into()),
            keys(In(Panel::Requests), &[code_key(KeyCode::Enter)], "light", "light the request", "show its spans in the streams, and its last worker in the matrix");
        SORT_REQUESTS = command("sort-requests"), screen(|m| requests::sort(m).into()),
            keys(In(Panel::Requests), &[key('o')], "order", "order requests", "list the slowest, the failed or the newest requests");
        FILTER_REQUESTS = command("filter-requests"), screen(|m| requests::filter(m).into()),
            keys(In(Panel::Requests), &[key('/')], "filter", "filter requests", "list only requests with a matching number, id or client");
        FREEZE = command("freeze"), screen(|m| streams::freeze(m).into()),
            keys(Main, &[key('f')], "freeze", "freeze the streams", "freeze the timeline while serving continues; again to go live");
        ZOOM_IN = command("zoom-in"), screen(|m| panels::zoom(m, -1).into()),
            keys(Main, &[key('+'), key('=')], "", "zoom in", "show less time");
        ZOOM_OUT = command("zoom-out"), screen(|m| panels::zoom(m, 1).into()),
            keys(Main, &[key('-')], "", "zoom out", "show more time");
        EXPAND = command("expand"), screen(|m| panels::expand(m).into()),
            keys(Main, &[code_key(KeyCode::Enter), key('z')], "expand", "expand the panel", "show the focused panel on the whole screen, or all panels");
        NEXT = command("next"), screen(|m| panels::next(m, 1).into()),
            keys(Main, &[code_key(KeyCode::Tab)], "", "next panel", "focus the next panel");
        PREVIOUS = command("previous"), screen(|m| panels::next(m, -1).into()),
            keys(Main, &[code_key(KeyCode::BackTab)], "", "previous panel", "focus the previous panel");
        SCALING = command("scaling").changing().when(has_tasks), both(|m| session::next_scaling(m), lines::scaling),
            keys(In(Panel::Tasks), &[key('g')], "policy", "use the next scaling policy", "use the next policy for loading variants; panel a lists all"),
            line("POLICY", &[], "set the policy for loading variants of tasks");
        COMPARE_POLICIES = command("compare-policies").changing().when(has_tasks),
            both(|_| Command::ComparePolicies.into(), |f, w| lines::plain(f, w, Command::ComparePolicies)),
            keys(In(Panel::Tasks), &[key('w')], "compare", "compare scaling policies", "simulate the queries of the last minutes under every policy"),
            line("", &[], "replay the last queries under every policy, in virtual time");
        LISTEN = command("listen").changing().when(has_door),
            both(|m| session::listen(m), |f, w| lines::sends(f, w, arguments::on_off, Command::Listen)),
            keys(In(Panel::Clients), &[key('o')], "listen", "start or stop listening", "listen at the given addresses; default 127.0.0.1: HTTP 8000, gRPC 8001, metrics 8002"),
            line("on|off", &[], "start or stop listening to network clients");
        LOAD_MODEL = command("load-model").changing().when(can_load),
            both(|m| panels::load_model(m), |f, w| lines::sends(f, w, arguments::loadable_model, Command::LoadModel)),
            keys(In(Panel::Models), &[key('o')], "load", "load the model", "show the effects of loading it or its new versions; y applies"),
            line("MODEL", &[], "load a model, or its current versions");
        UNLOAD_MODEL = command("unload-model").changing().when(can_load), both(|m| panels::unload_model(m), lines::unload_model),
            keys(In(Panel::Models), &[key('d')], "unload", "unload the model", "show the effects of unloading it; y applies; models used by pipelines stay"),
            line("MODEL [all]", &[], "unload a model; all: also the pipelines that use it");
        MIX = command("mix").changing(),
            both(|m| Dialog::Form(Form::mix(m.snapshot.load.mix.as_ref())).into(), |f, w| lines::sends(f, w, arguments::mix, Command::SetMix)),
            keys(In(Panel::Models), &[key('w')], "mix", "change the mix of models", "set the traffic shares of models, for the load and searches"),
            line("SHARES", &[], "set the traffic shares of models for the load and searches, such as digits=3,imn4=1; seen: the observed traffic");
        VOTE = command("vote").changing().when(has_rule).of_member(another_votes), both(|m| panels::vote(m), lines::vote),
            keys(In(Panel::Members), &[key('v')], "vote", "turn the vote on or off", "let the member at the cursor vote or not; it runs either way"),
            line("MEMBER on|off", &[], "let a member vote or not");
        LATENCY_SCOPE = command("latency-scope"), screen(|m| panels::deeper_latency(m).into()),
            keys(In(Panel::Latency), &[key('g')], "scope", "whose latency", "show the ensemble, members or workers; ← and → choose one");
        THROUGHPUT_SCOPE = command("throughput-scope"), screen(|m| panels::deeper_throughput(m).into()),
            keys(In(Panel::Throughput), &[key('g')], "scope", "whose throughput", "show the ensemble or members; ← and → choose one");
        NEXT_LAYOUT = command("next-layout"), screen(|m| panels::next_layout(m).into()),
            keys(Main, &[key('L')], "layout", "next layout", "change the panels and their sizes");
        PANELS = command("panels"), screen(|_| Dialog::Panels(PanelList::default()).into()),
            keys(Main, &[key('H')], "", "hide or show panels", "choose the panels of the layout from a list");
        UP = command("up"), screen(|m| panels::shift(m, -1, false).into()),
            keys(Always, &[code_key(KeyCode::Up), key('k')], "", "up", "move or scroll in the focused panel");
        DOWN = command("down"), screen(|m| panels::shift(m, 1, false).into()),
            keys(Always, &[code_key(KeyCode::Down), key('j')], "", "down", "move or scroll in the focused panel");
        PAGE_UP = command("page-up"), screen(|m| panels::page(m, -1).into()),
            keys(Main, &[code_key(KeyCode::PageUp)], "", "page up", "move by one page in the focused panel");
        PAGE_DOWN = command("page-down"), screen(|m| panels::page(m, 1).into()),
            keys(Main, &[code_key(KeyCode::PageDown)], "", "page down", "move by one page in the focused panel");
        TOP = command("top"), screen(|m| panels::leap(m, -1).into()),
            keys(Main, &[code_key(KeyCode::Home)], "", "to the top", "go to the first row of the focused panel");
        BOTTOM = command("bottom"), screen(|m| panels::leap(m, 1).into()),
            keys(Main, &[code_key(KeyCode::End)], "", "to the bottom", "go to the last row of the focused panel");
        EDIT_LEFT = command("left"), screen(|m| panels::shift(m, -1, true).into()),
            keys(Edit, &[code_key(KeyCode::Left), key('h')], "", "left", "move the cursor");
        EDIT_RIGHT = command("right"), screen(|m| panels::shift(m, 1, true).into()),
            keys(Edit, &[code_key(KeyCode::Right), key('l')], "", "right", "move the cursor");
        LEFT = command("left"), screen(|m| panels::shift(m, -1, true).into()),
            keys(Main, &[code_key(KeyCode::Left), key('h')], "", "left", "move in the matrix; in the streams, back in time");
        RIGHT = command("right"), screen(|m| panels::shift(m, 1, true).into()),
            keys(Main, &[code_key(KeyCode::Right)], "", "right", "move in the matrix; in the streams, forward in time");
        PALETTE = command("palette"), screen(|_| Dialog::Palette(Palette::default()).into()),
            keys(Always, &[key(':')], "command", "command palette", "find a command by a part of its name");
        MOUSE = command("mouse"), screen(panels::mouse),
            keys(Always, &[key('m')], "", "mouse on or off", "off leaves the mouse to the terminal, to select text");
        PICTURE = command("picture"), screen(|_| Effect::Picture.into()),
            keys(Always, &[key('P')], "", "picture of the screen", "write the screen as text, ANSI and SVG to files");
        SAVE_LAYOUT = command("save-layout"), screen(|m| Dialog::Form(Form::layout(m.arrangement.name())).into()),
            keys(Always, &[], "", "save layout", "save the shown panels and their sizes as your layout");
        THEME = command("theme"), screen(|m| Dialog::Themes(Themes::new(&m.settings)).into()),
            keys(Always, &[], "", "theme", "choose a theme, with a preview");
        SUSPEND = command("suspend"), screen(|_| Effect::Suspend.into()),
            keys(Always, &[control('z')], "", "suspend", "suspend until fg");
        PLAN_MODELS = command("plan-models").changing().when(can_load), line(lines::plan_models),
            line("load MODEL | unload MODEL [all]", &[], "show the effects of a change of models");
        APPLY_MODELS = command("apply-models").changing().when(can_load), line(lines::apply_models),
            line("[old-first] [probation]", &[], "apply the planned change of models; old-first: end the old engine first");
        STATUS = command("status"), line(lines::status),
            line("", &[], "show state, matrix, devices, members, latency");
        SET = command("set").changing(), line(lines::set),
            line("DEVICE MEMBER SIZE", &[], "stage a batch size; 0 removes the worker");
        APPLY = command("apply").changing(), line(lines::apply),
            line("[probation]", &["apply on"], "apply staged changes; probation rolls them back if they do worse");
        RESUME = command("resume").changing(), line(|f, w| lines::plain(f, w, Command::ResumeSearch)),
            line("", &[], "resume the search");
    } };
}
pub(crate) use each_command;
