//! What a line can ask for. Names are those of the palette where it has the same.

use divisi::allocation::Cell;
use divisi::ensemble::BatchSize;
use divisi::session::Command;

/// What a line asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Ask {
    Help,
    Status,
    Quit,
    /// Stages an entry.
    Stage(Cell, Option<BatchSize>),
    /// Drops all that is staged.
    Unstage,
    /// Says what applying would change.
    Compare,
    /// Applies what is staged, on probation or for good.
    Apply {
        probation: bool,
    },
    /// Applies the best matrix that a search found.
    ApplyBest,
    /// Applies what would relieve the worker that suffers most.
    ApplyProposal,
    Send(Command),
}

/// A command as the help lists it.
#[derive(Debug)]
pub struct Line {
    pub name: &'static str,
    /// What comes after the name.
    pub takes: &'static str,
    pub help: &'static str,
    /// Refused when read-only.
    pub changes: bool,
}

const fn watching(name: &'static str, help: &'static str) -> Line {
    Line {
        name,
        takes: "",
        help,
        changes: false,
    }
}

const fn changing(name: &'static str, takes: &'static str, help: &'static str) -> Line {
    Line {
        name,
        takes,
        help,
        changes: true,
    }
}

/// Every command of linear mode.
#[rustfmt::skip]
pub static COMMANDS: &[Line] = &[
    watching("help", "every command"),
    watching("status", "state, matrix, devices, members, latency"),
    changing("set", "DEVICE MEMBER SIZE", "stage a batch size; 0 takes the worker away"),
    watching("unstage", "drop what is staged"),
    watching("compare", "what applying the staged changes would start, stop and book"),
    changing("apply", "[probation]", "apply what is staged; on probation it goes back where it does worse"),
    changing("keep", "", "end the probation: what was applied stays"),
    changing("roll-back", "", "end the probation: what was applied goes"),
    changing("undo", "", "bring back the matrix that ran before"),
    changing("redo", "", "run again the matrix that undo took back"),
    changing("search", "[ALGORITHM [EVALUATOR]]", "search a better allocation: worst-fit, best-batch, greedy or local; bench or model"),
    changing("pause", "", "hold the running search"),
    changing("resume", "", "let the search go on"),
    changing("cancel", "", "end the search; the best found so far stays"),
    changing("apply-best", "", "apply the best matrix that the search found"),
    changing("apply-proposal", "", "apply the change that relieves an interfered worker"),
    changing("load", "PATTERN", "closed[:CLIENTS[xSAMPLES]], poisson:RATE, steady:RATE, burst[:RATE], diurnal:RATE[:PERIOD], replay:FILE[:SPEED] or none"),
    changing("policy", "POLICY", "no-wait, opt-wait[:MS], pipelined-opt-wait[:MS], static[:MS], segment[:MS] or elastic[:MAXINF]"),
    changing("target", "TIME [PERCENT]", "what latencies are judged by, such as 50ms 99; none: nothing"),
    changing("vote", "MEMBER on|off", "whether a member's answers count"),
    changing("lose-device", "DEVICE", "let a simulated device disappear: it is evacuated"),
    changing("regain-device", "DEVICE", "let a lost device come back, empty"),
    changing("slow-device", "DEVICE FACTOR", "let a simulated device take so many times as long"),
    changing("max-inf", "DEVICE SAMPLES", "samples in execution at most under elastic; none: the policy's"),
    changing("clear", "", "forget latencies so far, to see what comes"),
    changing("record", "FILE", "write all that is shown to a file from now on; off: stop"),
    watching("quit", "drain and leave"),
];
