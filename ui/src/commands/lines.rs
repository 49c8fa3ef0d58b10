//! The forms of commands as lines.

use super::table::*;
use super::{CommandInfo, LineForm};

const fn line(
    command: &'static CommandInfo,
    takes: &'static str,
    also: &'static [&'static str],
    help: &'static str,
) -> LineForm {
    LineForm {
        command,
        takes,
        also,
        help,
    }
}

/// Every command of linear mode, in the order of its help.
#[rustfmt::skip]
pub static LINES: &[LineForm] = &[
    line(&HELP, "", &["?"], "every command"),
    line(&STATUS, "", &[], "state, matrix, devices, members, latency"),
    line(&SET, "DEVICE MEMBER SIZE", &[], "stage a batch size; 0 takes the worker away"),
    line(&PRECISION, "MEMBER PRECISION", &[], "stage the numbers that a member is computed in: f32, tf32, bf16, f16, int8 or auto"),
    line(&UNSTAGE, "", &[], "drop what is staged"),
    line(&COMPARE, "", &[], "what applying the staged changes would start, stop and book"),
    line(&APPLY, "[probation]", &["apply on"], "apply what is staged; on probation it goes back where it does worse"),
    line(&KEEP, "", &[], "end the probation: what was applied stays"),
    line(&ROLL_BACK, "", &[], "end the probation: what was applied goes"),
    line(&UNDO, "", &[], "bring back the matrix that ran before"),
    line(&REDO, "", &[], "run again the matrix that undo took back"),
    line(&SEARCH, "[ALGORITHM [EVALUATOR]]", &[], "search a better allocation: worst-fit, best-batch, greedy or local; bench or model"),
    line(&PAUSE, "", &[], "hold the running search"),
    line(&RESUME, "", &[], "let the search go on"),
    line(&CANCEL, "", &[], "end the search; the best found so far stays"),
    line(&APPLY_BEST, "", &["apply best"], "apply the best matrix that the search found"),
    line(&APPLY_PROPOSAL, "", &[], "apply the change that relieves an interfered worker"),
    line(&LOAD, "PATTERN", &[], "closed[:CLIENTS[xSAMPLES]], poisson:RATE, steady:RATE, burst[:RATE], diurnal:RATE[:PERIOD], replay:FILE[:SPEED] or none"),
    line(&MIX, "SHARES", &[], "how much of which model the load asks and searches are for, such as digits=3,imn4=1; seen: as it was while serving"),
    line(&POLICY, "POLICY", &[], "no-wait, opt-wait[:MS], pipelined-opt-wait[:MS], static[:MS], segment[:MS] or elastic[:MAXINF]"),
    line(&TARGET, "TIME [PERCENT]", &[], "what latencies are judged by, such as 50ms 99; none: nothing"),
    line(&VOTE, "MEMBER on|off", &[], "whether a member's answers count"),
    line(&SCALING, "POLICY", &[], "let another policy decide which variants of tasks are loaded"),
    line(&COMPARE_POLICIES, "", &[], "play what tasks were asked lately under every policy, in virtual time"),
    line(&LISTEN, "on|off", &[], "listen to clients over the network, or to nobody any more"),
    line(&LOAD_MODEL, "MODEL", &[], "load a model, or the versions of it that are there now"),
    line(&UNLOAD_MODEL, "MODEL [all]", &[], "unload a model; all: with the pipelines that use it"),
    line(&PLAN_MODELS, "load MODEL | unload MODEL [all] | undo | redo", &[], "what a change of the models would change"),
    line(&APPLY_MODELS, "[old-first] [probation]", &[], "make the change of the models that was planned; old-first: the old engine ends first"),
    line(&LOSE_DEVICE, "DEVICE", &[], "let a simulated device disappear: it is evacuated"),
    line(&REGAIN_DEVICE, "DEVICE", &[], "let a lost device come back, empty"),
    line(&SLOW_DEVICE, "DEVICE FACTOR", &[], "let a simulated device take so many times as long"),
    line(&MAX_INF, "DEVICE SAMPLES", &[], "samples in execution at most under elastic; none: the policy's"),
    line(&CLEAR, "", &[], "forget latencies so far, to see what comes"),
    line(&RECORD, "FILE", &[], "write all that is shown to a file from now on; off: stop"),
    line(&QUIT, "", &["q", "exit"], "drain and leave"),
];
