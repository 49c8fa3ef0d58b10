//! The actions of line commands: words in, lines out.

use divisi_engine::deployment::{CatalogueChange, Handover};
use divisi_model::allocation::Cell;
use divisi_session::{Command, Session, Setup, Snapshot, Terms, WhatIf, WhatIfReply};

use super::arguments::{self, Parse};
use super::stage;
use super::staged::StagedLines;
use crate::commands::{LINES, LineForm};
use crate::config::nearest;
use crate::text::{outlook, status as words};

/// The state behind line commands: the session and the staged changes.
pub(crate) struct LineFront<'a> {
    /// The session.
    pub session: &'a mut dyn Session,
    /// The session's snapshot.
    pub shown: &'a Snapshot,
    /// The staged changes.
    pub staged: &'a mut StagedLines,
    /// The what-if questions without an answer.
    pub asked: &'a mut AskedLines,
    /// The terms of `apply probation`.
    pub terms: Terms,
    /// Whether changes are refused.
    pub read_only: bool,
    /// Whether the program ends.
    pub leave: bool,
}

/// Returns the error of an unknown command.
pub(super) fn unknown(name: &str) -> String {
    let near = nearest(name, LINES.iter().map(|l| l.command.name));
    let meant = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    format!("no command `{name}`{meant} (help lists all)")
}

const NOTHING_STAGED: &str =
    "no staged changes: use set DEVICE MEMBER SIZE or precision MEMBER PRECISION";

/// The words after a command's name.
#[derive(Clone, Copy)]
pub(super) struct LineWords<'a> {
    form: &'static LineForm,
    words: &'a [&'a str],
}

impl<'a> LineWords<'a> {
    /// Creates the words after the name of a command of this form.
    pub(super) fn new(form: &'static LineForm, words: &'a [&'a str]) -> Self {
        LineWords { form, words }
    }

    fn wrong(&self) -> String {
        let usage = format!("expected: {} {}", self.form.command.name, self.form.takes);
        usage.trim_end().to_owned()
    }

    /// Returns exactly `N` words.
    fn exactly<const N: usize>(&self) -> Result<[&'a str; N], String> {
        self.words.try_into().map_err(|_| self.wrong())
    }

    pub(super) fn none(&self) -> Result<(), String> {
        self.exactly::<0>().map(drop)
    }

    /// Parses the only word.
    fn one<T>(&self, parse: Parse<T>, shown: &Snapshot) -> Result<T, String> {
        let [word] = self.exactly()?;
        parse(word, shown)
    }

    /// Returns the words if their number is within these bounds.
    fn between(&self, least: usize, most: usize) -> Result<&'a [&'a str], String> {
        let right = (least..=most).contains(&self.words.len());
        if right {
            Ok(self.words)
        } else {
            Err(self.wrong())
        }
    }
}

/// The answer to a line, or the reason why it failed.
pub(crate) type Said = Result<Vec<String>, String>;

impl LineFront<'_> {
    /// Sends a command to the session.
    fn send(&mut self, command: Command) -> Said {
        let sent = self.session.command(command);
        sent.map_err(|refusal| refusal.to_string())?;
        Ok(vec!["taken".into()])
    }

    /// Returns the staged changes with the running settings.
    pub(super) fn setup(&self) -> Result<Setup, String> {
        let staged = self.staged.applied_to(self.shown.setup());
        staged.ok_or_else(|| NOTHING_STAGED.to_owned())
    }
}

/// Sends a command without words to the session.
pub(super) fn plain(front: &mut LineFront<'_>, words: LineWords<'_>, command: Command) -> Said {
    words.none()?;
    front.send(command)
}

/// Sends the command for the only word of a line to the session.
pub(super) fn sends<T>(
    front: &mut LineFront<'_>,
    words: LineWords<'_>,
    parse: Parse<T>,
    command: impl FnOnce(T) -> Command,
) -> Said {
    let argument = words.one(parse, front.shown)?;
    front.send(command(argument))
}

pub(super) fn help(_: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    words.none()?;
    let lines = LINES.iter().map(|line| {
        let name = format!("{} {}", line.command.name, line.takes);
        format!("{}: {}", name.trim_end(), line.help)
    });
    Ok(lines.collect())
}

pub(super) fn status(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    words.none()?;
    Ok(words::status(front.shown))
}

pub(super) fn quit(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    words.none()?;
    front.leave = true;
    Ok(Vec::new())
}

pub(super) fn set(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let [device, member, size] = words.exactly()?;
    let shown = front.shown;
    let cell = Cell {
        device: arguments::device(device, shown)?,
        member: arguments::member(member, shown)?,
    };
    let size = arguments::entry(size, shown)?;
    let staged = front.staged.set(&shown.matrix, cell, size);
    staged.map_err(|why| why.to_string())?;
    let size = size.map_or("no worker".into(), |s| format!("batches of {s}"));
    Ok(vec![format!(
        "staged: {}: {size}",
        words::cell(shown, cell)
    )])
}

pub(super) fn precision(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let [name, precision] = words.exactly()?;
    let member = arguments::member(name, front.shown)?;
    let precision = arguments::precision(precision, front.shown)?;
    front.staged.compute_in(member, precision);
    let mut said = vec![format!("staged: {name} in {}", precision.to_text())];
    // Changes that cannot be planned are refused when they are compared or applied.
    let preview = front.setup().map(|setup| front.session.preview(&setup));
    if let Ok(Ok(preview)) = preview {
        said.extend(preview.remarks);
    }
    Ok(said)
}

pub(super) fn unstage(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    words.none()?;
    *front.staged = StagedLines::default();
    Ok(vec!["no staged changes".into()])
}

pub(super) fn apply(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let terms = match words.words {
        [] => None,
        ["probation"] => Some(front.terms),
        _ => return Err(words.wrong()),
    };
    let setup = front.setup()?;
    let said = front.send(stage::apply_setup(setup, terms))?;
    // Changes stay staged unless the session accepted them.
    *front.staged = StagedLines::default();
    Ok(said)
}

pub(super) fn apply_best(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    words.none()?;
    let best = stage::best_matrix(front.shown).cloned();
    let best = best.ok_or("no matrix found by a search yet")?;
    front.send(stage::apply_matrix(front.shown, best))
}

pub(super) fn apply_proposal(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    words.none()?;
    let proposal = front.shown.proposal.as_ref();
    let matrix = proposal.ok_or("no proposed change")?.matrix.clone();
    front.send(stage::apply_matrix(front.shown, matrix))
}

pub(super) fn search(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let order = arguments::search(words.between(0, 3)?)?;
    front.send(Command::StartSearch(order))
}

pub(super) fn policy(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let policy = words.one(arguments::policy, front.shown)?;
    front.send(stage::apply_policy(front.shown, policy))
}

pub(super) fn target(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let target = arguments::target(words.between(1, 2)?)?;
    front.send(Command::SetTarget(target))
}

pub(super) fn vote(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let [member, vote] = words.exactly()?;
    let votes = arguments::on_off(vote, front.shown)?;
    let member = arguments::member(member, front.shown)?;
    front.send(Command::SetVote(member, votes))
}

pub(super) fn scaling(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let [name] = words.exactly()?;
    front.send(Command::SetScalingPolicy(name.to_owned()))
}

pub(super) fn unload_model(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let all = words.between(1, 2)?;
    let name = arguments::served_model(all[0], front.shown)?;
    let dependents = match all.get(1) {
        None => false,
        Some(word) if *word == "all" => true,
        Some(word) => {
            return Err(format!("expected `all` or no word, found `{word}`"));
        }
    };
    front.send(Command::UnloadModel { name, dependents })
}

pub(super) fn plan_models(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let change = match words.between(1, 3)? {
        ["load", name] => CatalogueChange::Load(arguments::loadable_model(name, front.shown)?),
        ["unload", name, all @ ..] if matches!(all, [] | ["all"]) => {
            let name = arguments::served_model(name, front.shown)?;
            let dependents = !all.is_empty();
            CatalogueChange::Unload { name, dependents }
        }
        _ => return Err(words.wrong()),
    };
    front.send(Command::PlanModels(change))
}

pub(super) fn apply_models(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let (handover, watched) = match words.between(0, 2)? {
        [] => (Handover::Beside, false),
        ["old-first"] => (Handover::OldFirst, false),
        ["probation"] => (Handover::Beside, true),
        ["old-first", "probation"] => (Handover::OldFirst, true),
        _ => return Err(words.wrong()),
    };
    let number = front
        .shown
        .model_change
        .as_ref()
        .map_or(0, |change| change.number);
    let terms = watched.then_some(front.terms);
    front.send(Command::ApplyModels {
        number,
        handover,
        terms,
    })
}

pub(super) fn slow_device(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let [device, factor] = words.exactly()?;
    let device = arguments::device(device, front.shown)?;
    let factor = arguments::slowdown(factor, front.shown)?;
    front.send(Command::SlowDevice(device, factor))
}

pub(super) fn max_inf(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let [device, samples] = words.exactly()?;
    let device = arguments::device(device, front.shown)?;
    let most = arguments::sample_bound(samples, front.shown)?;
    front.send(Command::SetMaxInf(device, most))
}

pub(super) fn what_if(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let shown = front.shown;
    let question = match words.between(1, 2)? {
        ["undo"] => WhatIf::Undo,
        ["redo"] => WhatIf::Redo,
        ["lose", device] => WhatIf::LoseDevice(arguments::device(device, shown)?),
        ["all", precision] => WhatIf::AllIn(arguments::precision(precision, shown)?),
        ["rate", factor] => WhatIf::Rate(arguments::rate_factor(factor)?),
        ["more", device] => WhatIf::OneMoreDevice(arguments::device(device, shown)?),
        ["without", member] => WhatIf::WithoutMember(arguments::member(member, shown)?),
        _ => return Err(words.wrong()),
    };
    let reply = front.session.what_if(&question);
    match reply.map_err(|refusal| refusal.to_string())? {
        WhatIfReply::Answer(answer) => Ok(outlook::lines(&answer)),
        WhatIfReply::Computing => {
            front.asked.ask(question);
            Ok(vec!["computing".into()])
        }
    }
}

/// The what-if questions whose answers are being computed.
#[derive(Clone, Debug, Default)]
pub(crate) struct AskedLines(Vec<WhatIf>);

impl AskedLines {
    /// The most open questions. The oldest is dropped.
    const MOST: usize = 16;

    fn ask(&mut self, question: WhatIf) {
        self.0.retain(|open| *open != question);
        if self.0.len() >= Self::MOST {
            self.0.remove(0);
        }
        self.0.push(question);
    }

    /// Returns the answers that have arrived, as lines.
    pub(crate) fn answers(&mut self, session: &mut dyn Session) -> Vec<String> {
        let open = std::mem::take(&mut self.0);
        let mut said = Vec::new();
        for question in open {
            match session.what_if(&question) {
                Ok(WhatIfReply::Computing) => self.0.push(question),
                Ok(WhatIfReply::Answer(answer)) => said.extend(outlook::lines(&answer)),
                Err(refusal) => said.push(format!("no: {refusal}")),
            }
        }
        said
    }
}
