//! Lines to what they ask for.

use std::time::Duration;

use divisi::allocation::{Cell, Frame};
use divisi::ensemble::{BatchSize, PolicyKind};
use divisi::session::{Command, SearchOrder, Setup, Slowdown, Snapshot, Target};

use super::ask::{Ask, COMMANDS};
use crate::config::{nearest, time};

/// Reads a line; nothing where it is empty.
///
/// # Errors
/// What was expected and what was found.
pub fn ask(line: &str, shown: &Snapshot, read_only: bool) -> Result<Option<Ask>, String> {
    let words: Vec<&str> = line.trim_start_matches(':').split_whitespace().collect();
    let Some((name, rest)) = words.split_first() else {
        return Ok(None);
    };
    // As one says it.
    let (name, rest) = match (*name, rest) {
        ("apply", ["best", rest @ ..]) => ("apply-best", rest),
        ("apply", ["on", rest @ ..]) => ("apply", rest),
        ("q" | "exit", rest) => ("quit", rest),
        ("?", rest) => ("help", rest),
        other => other,
    };
    let Some(command) = COMMANDS.iter().find(|c| c.name == name) else {
        return Err(unknown(name));
    };
    if command.changes && read_only {
        return Err(format!("read-only: cannot {name}"));
    }
    let usage = || format!("expected: {name} {}", command.takes);
    match meant(name, rest, shown) {
        Some(ask) => ask.map(Some),
        None => Err(usage().trim_end().to_owned()),
    }
}

fn unknown(name: &str) -> String {
    let near = nearest(name, COMMANDS.iter().map(|c| c.name));
    let near = near.map_or(String::new(), |n| format!("; did you mean `{n}`?"));
    format!("no command `{name}`{near} (help lists all)")
}

/// What the words after a name mean; none where they are too few or too many.
fn meant(name: &str, rest: &[&str], shown: &Snapshot) -> Option<Result<Ask, String>> {
    if let Some(ask) = alone(name) {
        return rest.is_empty().then_some(Ok(ask));
    }
    let frame = shown.matrix.frame();
    let asked = match (name, rest) {
        ("apply", []) => Ok(Ask::Apply { probation: false }),
        ("apply", ["probation"]) => Ok(Ask::Apply { probation: true }),
        ("set", [device, member, size]) => stage(frame, device, member, size),
        ("load", ["none"]) => Ok(Ask::Send(Command::StopLoad)),
        ("load", [pattern]) => pattern.parse().map(|p| Ask::Send(Command::StartLoad(p))),
        ("policy", [policy]) => policy.parse().map(|p| Ask::Send(with_policy(shown, p))),
        ("search", words) if words.len() < 3 => search(words),
        ("target", words @ ([_] | [_, _])) => target(words),
        ("vote", [member, vote]) => self::vote(frame, member, vote),
        ("record", ["off"]) => Ok(Ask::Send(Command::StopRecording)),
        ("record", [path]) => Ok(Ask::Send(Command::StartRecording(path.into()))),
        ("lose-device", [name]) => device(frame, name).map(|d| Ask::Send(Command::LoseDevice(d))),
        ("regain-device", [name]) => {
            device(frame, name).map(|d| Ask::Send(Command::RegainDevice(d)))
        }
        ("slow-device", [name, factor]) => slow(frame, name, factor),
        ("max-inf", [name, samples]) => max_inf(frame, name, samples),
        _ => return None,
    };
    Some(asked)
}

/// All as it runs, under another policy.
fn with_policy(shown: &Snapshot, policy: PolicyKind) -> Command {
    let setup = Setup {
        policy,
        ..shown.setup()
    };
    Command::Apply(Box::new(setup), None)
}

/// Commands that take nothing.
fn alone(name: &str) -> Option<Ask> {
    Some(match name {
        "help" => Ask::Help,
        "status" => Ask::Status,
        "quit" => Ask::Quit,
        "unstage" => Ask::Unstage,
        "compare" => Ask::Compare,
        "apply-best" => Ask::ApplyBest,
        "apply-proposal" => Ask::ApplyProposal,
        "keep" => Ask::Send(Command::EndProbation(true)),
        "roll-back" => Ask::Send(Command::EndProbation(false)),
        "undo" => Ask::Send(Command::Undo),
        "redo" => Ask::Send(Command::Redo),
        "pause" => Ask::Send(Command::PauseSearch),
        "resume" => Ask::Send(Command::ResumeSearch),
        "cancel" => Ask::Send(Command::CancelSearch),
        "clear" => Ask::Send(Command::ClearLatency),
        _ => return None,
    })
}

fn among(names: &[String], name: &str, kind: &str) -> Result<usize, String> {
    let found = names.iter().position(|n| n == name);
    let wrong = || format!("no {kind} `{name}`: expected one of {}", names.join(", "));
    found.ok_or_else(wrong)
}

fn device(frame: &Frame, name: &str) -> Result<usize, String> {
    among(&frame.devices, name, "device")
}

fn member(frame: &Frame, name: &str) -> Result<usize, String> {
    among(&frame.members, name, "member")
}

fn stage(frame: &Frame, on: &str, whose: &str, size: &str) -> Result<Ask, String> {
    let cell = Cell {
        device: device(frame, on)?,
        member: member(frame, whose)?,
    };
    let samples = size.parse::<u32>();
    let wrong = || {
        let sizes = frame.batch_sizes.iter().map(|s| s.to_string());
        let sizes: Vec<String> = sizes.collect();
        format!("expected a size of 0, {}, found `{size}`", sizes.join(", "))
    };
    match samples {
        Ok(0) => Ok(Ask::Stage(cell, None)),
        Ok(n) => match BatchSize::new(n) {
            Some(size) if frame.batch_sizes.contains(size) => Ok(Ask::Stage(cell, Some(size))),
            _ => Err(wrong()),
        },
        Err(_) => Err(wrong()),
    }
}

/// The quick way, or the algorithm and evaluator that are named.
fn search(words: &[&str]) -> Result<Ask, String> {
    let mut order = SearchOrder::quick();
    if let Some(algorithm) = words.first() {
        order.algorithm = algorithm.parse()?;
    }
    if let Some(evaluator) = words.get(1) {
        order.evaluator = evaluator.parse()?;
        order.bounds = SearchOrder::default().bounds;
    }
    order.check()?;
    Ok(Ask::Send(Command::StartSearch(order)))
}

fn target(words: &[&str]) -> Result<Ask, String> {
    let set = |target| Ask::Send(Command::SetTarget(target));
    let latency = match words {
        ["none"] => return Ok(set(None)),
        [latency, ..] => time(latency)?,
        [] => Duration::ZERO,
    };
    let percent = words.get(1).map_or("99", |p| p.trim_end_matches('%'));
    let share = percent
        .parse::<f64>()
        .ok()
        .filter(|p| (0.0..=100.0).contains(p));
    let wrong = || format!("expected 0 to 100 percent, found `{percent}`");
    let share = share.ok_or_else(wrong)? / 100.0;
    let target = Target { latency, share };
    target.check()?;
    Ok(set(Some(target)))
}

fn vote(frame: &Frame, name: &str, vote: &str) -> Result<Ask, String> {
    let counts = match vote {
        "on" => true,
        "off" => false,
        other => return Err(format!("expected on or off, found `{other}`")),
    };
    Ok(Ask::Send(Command::SetVote(member(frame, name)?, counts)))
}

fn slow(frame: &Frame, name: &str, factor: &str) -> Result<Ask, String> {
    let device = device(frame, name)?;
    let times = factor.parse().ok().and_then(|f| Slowdown::new(f).ok());
    let wrong = || format!("expected a factor from 0.1 to 100, found `{factor}`");
    let times = times.ok_or_else(wrong)?;
    Ok(Ask::Send(Command::SlowDevice(device, times)))
}

fn max_inf(frame: &Frame, name: &str, samples: &str) -> Result<Ask, String> {
    let device = device(frame, name)?;
    let number = match samples {
        "none" => None,
        text => {
            let wrong = |_| format!("expected a number above 0 or none, found `{text}`");
            Some(text.parse().map_err(wrong)?)
        }
    };
    Ok(Ask::Send(Command::SetMaxInf(device, number)))
}
