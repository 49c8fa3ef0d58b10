//! The forms of line commands.

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
    line(&HELP, "", &["?"], "list all commands"),
    line(&STATUS, "", &[], "show state, matrix, devices, members, latency"),
    line(&SET, "DEVICE MEMBER SIZE", &[], "stage a batch size; 0 removes the worker"),
    line(&PRECISION, "MEMBER PRECISION", &[], "stage a member's precision: f32, tf32, bf16, f16, int8 or auto"),
    line(&UNSTAGE, "", &[], "drop staged changes"),
    line(&COMPARE, "", &[], "show the workers and memory that staged changes would affect"),
    line(&APPLY, "[probation]", &["apply on"], "apply staged changes; probation rolls them back if they do worse"),
    line(&KEEP, "", &[], "end the probation and keep the change"),
    line(&ROLL_BACK, "", &[], "end the probation and roll the change back"),
    line(&UNDO, "", &[], "undo the last change"),
    line(&REDO, "", &[], "redo the undone change"),
    line(&SEARCH, "[ALGORITHM [EVALUATOR]] [again]", &[], "search for a better allocation: worst-fit, best-batch, greedy or local; bench or model; again ignores kept results"),
    line(&PAUSE, "", &[], "pause the search"),
    line(&RESUME, "", &[], "resume the search"),
    line(&CANCEL, "", &[], "end the search and keep its best matrix"),
    line(&APPLY_BEST, "", &["apply best"], "apply the search's best matrix"),
    line(&APPLY_PROPOSAL, "", &[], "apply the change that relieves an interfered worker"),
    line(&LOAD, "PATTERN", &[], "set the load: closed[:CLIENTS[xSAMPLES]], poisson:RATE, steady:RATE, burst[:RATE], diurnal:RATE[:PERIOD], replay:FILE[:SPEED] or none"),
    line(&MIX, "SHARES", &[], "set the traffic shares of models for the load and searches, such as digits=3,imn4=1; seen: the observed traffic"),
    line(&POLICY, "POLICY", &[], "set the policy: no-wait, opt-wait[:MS], pipelined-opt-wait[:MS], static[:MS], segment[:MS] or elastic[:MAXINF]"),
    line(&TARGET, "TIME [PERCENT]", &[], "set the service objective, such as 50ms 99, or none"),
    line(&VOTE, "MEMBER on|off", &[], "let a member vote or not"),
    line(&SCALING, "POLICY", &[], "set the policy for loading variants of tasks"),
    line(&COMPARE_POLICIES, "", &[], "replay the last queries under every policy, in virtual time"),
    line(&LISTEN, "on|off", &[], "start or stop listening to network clients"),
    line(&LOAD_MODEL, "MODEL", &[], "load a model, or its current versions"),
    line(&UNLOAD_MODEL, "MODEL [all]", &[], "unload a model; all: also the pipelines that use it"),
    line(&PLAN_MODELS, "load MODEL | unload MODEL [all] | undo | redo", &[], "show the effects of a change of models"),
    line(&APPLY_MODELS, "[old-first] [probation]", &[], "apply the planned change of models; old-first: end the old engine first"),
    line(&LOSE_DEVICE, "DEVICE", &[], "simulate the loss of a device; its work moves elsewhere"),
    line(&REGAIN_DEVICE, "DEVICE", &[], "bring a lost device back, without workers"),
    line(&SLOW_DEVICE, "DEVICE FACTOR", &[], "slow a simulated device down by a factor"),
    line(&MAX_INF, "DEVICE SAMPLES", &[], "limit samples in execution on a device, under elastic; none: the policy's limit"),
    line(&CLEAR, "", &[], "reset the latencies"),
    line(&RECORD, "FILE", &[], "record the session to a file; off: stop"),
    line(&QUIT, "", &["q", "exit"], "finish requests and quit"),
];
