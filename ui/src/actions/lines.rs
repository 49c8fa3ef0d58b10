//! The actions of line commands: words in, lines out.

use divisi_engine::deployment::{CatalogueChange, Handover};
use divisi_model::allocation::{Cell, InvalidMatrix};
use divisi_model::ensemble::PolicyKind;
use divisi_session::{Command, Session, Setup, Slowdown, Snapshot, Terms};
use thiserror::Error;

use super::arguments::{
    self, Argument, LoadableModelName, NamedDevice, NamedMember, NamedPrecision, OnOff, RecordTo,
    SampleBound, ServedModelName, WishedLoad, WishedMix, WrittenEntry,
};
use super::stage;
use super::staged::StagedLines;
use crate::commands::{LINES, LineForm};
use crate::config::nearest;
use crate::text::status as words;

/// The state behind line commands: the session and the staged changes.
pub(crate) struct LineFront<'a> {
    /// The session.
    pub session: &'a mut dyn Session,
    /// The session's snapshot.
    pub shown: &'a Snapshot,
    /// The staged changes.
    pub staged: &'a mut StagedLines,
    /// The terms of `apply probation`.
    pub terms: Terms,
    /// Whether changes are refused.
    pub read_only: bool,
    /// Whether the program ends.
    pub leave: bool,
}

/// The reason why a line failed.
#[derive(Clone, Debug, PartialEq, Error)]
pub(crate) enum LineError {
    /// An unknown command.
    #[error("no command `{name}`{} (help lists all)", meant(.near))]
    Unknown {
        /// The typed name.
        name: String,
        /// The most similar command.
        near: Option<&'static str>,
    },
    /// Changes are refused; holds the command.
    #[error("read-only: cannot {0}")]
    ReadOnly(&'static str),
    /// Too few words or too many.
    #[error("{}", usage(.name, .takes))]
    Words {
        /// The command.
        name: &'static str,
        /// The expected words.
        takes: &'static str,
    },
    /// A word is not as expected; holds the message.
    #[error("{0}")]
    Argument(String),
    /// The staged matrix is invalid.
    #[error(transparent)]
    Matrix(#[from] InvalidMatrix),
    /// There are no staged changes.
    #[error("no staged changes: use set DEVICE MEMBER SIZE or precision MEMBER PRECISION")]
    NothingStaged,
    /// No search has found a matrix.
    #[error("no matrix found by a search yet")]
    NothingFound,
    /// The session proposes no change.
    #[error("no proposed change")]
    NothingProposed,
    /// The session refused the command; holds its message.
    #[error("{0}")]
    Refused(String),
}

fn meant(near: &Option<&str>) -> String {
    near.map_or(String::new(), |n| format!("; did you mean `{n}`?"))
}

fn usage(name: &str, takes: &str) -> String {
    format!("expected: {name} {takes}").trim_end().to_owned()
}

impl LineError {
    /// Returns the error for an unknown command `name`.
    pub(super) fn unknown(name: &str) -> Self {
        LineError::Unknown {
            name: name.to_owned(),
            near: nearest(name, LINES.iter().map(|l| l.command.name)),
        }
    }
}

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

    fn wrong(&self) -> LineError {
        LineError::Words {
            name: self.form.command.name,
            takes: self.form.takes,
        }
    }

    /// Returns exactly `N` words.
    fn exactly<const N: usize>(&self) -> Result<[&'a str; N], LineError> {
        self.words.try_into().map_err(|_| self.wrong())
    }

    pub(super) fn none(&self) -> Result<(), LineError> {
        self.exactly::<0>().map(drop)
    }

    fn one<A: Argument>(&self, shown: &Snapshot) -> Result<A, LineError> {
        let [word] = self.exactly()?;
        read(word, shown)
    }

    /// Returns the words if their number is within these bounds.
    fn between(&self, least: usize, most: usize) -> Result<&'a [&'a str], LineError> {
        let right = (least..=most).contains(&self.words.len());
        if right {
            Ok(self.words)
        } else {
            Err(self.wrong())
        }
    }
}

fn read<A: Argument>(word: &str, shown: &Snapshot) -> Result<A, LineError> {
    A::read(word, shown).map_err(LineError::Argument)
}

pub(super) type Said = Result<Vec<String>, LineError>;

impl LineFront<'_> {
    /// Sends a command to the session.
    fn send(&mut self, command: Command) -> Said {
        let sent = self.session.command(command);
        sent.map_err(|refusal| LineError::Refused(refusal.to_string()))?;
        Ok(vec!["taken".into()])
    }

    /// Returns the staged changes with the running settings.
    pub(super) fn setup(&self) -> Result<Setup, LineError> {
        let staged = self.staged.applied_to(self.shown.setup());
        staged.ok_or(LineError::NothingStaged)
    }
}

/// Sends a command without words to the session.
pub(super) fn plain(front: &mut LineFront<'_>, words: LineWords<'_>, command: Command) -> Said {
    words.none()?;
    front.send(command)
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
    let NamedDevice(device) = read(device, shown)?;
    let NamedMember(member) = read(member, shown)?;
    let WrittenEntry(size) = read(size, shown)?;
    let cell = Cell { device, member };
    front.staged.set(&shown.matrix, cell, size)?;
    let size = size.map_or("no worker".into(), |s| format!("batches of {s}"));
    Ok(vec![format!(
        "staged: {}: {size}",
        words::cell(shown, cell)
    )])
}

pub(super) fn precision(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let [name, precision] = words.exactly()?;
    let NamedMember(member) = read(name, front.shown)?;
    let NamedPrecision(precision) = read(precision, front.shown)?;
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
    let best = best.ok_or(LineError::NothingFound)?;
    front.send(stage::apply_matrix(front.shown, best))
}

pub(super) fn apply_proposal(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    words.none()?;
    let proposal = front.shown.proposal.as_ref();
    let matrix = proposal.ok_or(LineError::NothingProposed)?.matrix.clone();
    front.send(stage::apply_matrix(front.shown, matrix))
}

pub(super) fn search(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let order = arguments::search(words.between(0, 3)?).map_err(LineError::Argument)?;
    front.send(Command::StartSearch(order))
}

pub(super) fn load(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let WishedLoad(pattern) = words.one(front.shown)?;
    front.send(stage::set_load(pattern))
}

pub(super) fn mix(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let WishedMix(mix) = words.one(front.shown)?;
    front.send(Command::SetMix(mix))
}

pub(super) fn policy(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let policy: PolicyKind = words.one(front.shown)?;
    front.send(stage::apply_policy(front.shown, policy))
}

pub(super) fn target(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let target = arguments::target(words.between(1, 2)?).map_err(LineError::Argument)?;
    front.send(Command::SetTarget(target))
}

pub(super) fn vote(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let [member, vote] = words.exactly()?;
    let OnOff(votes) = read(vote, front.shown)?;
    let NamedMember(member) = read(member, front.shown)?;
    front.send(Command::SetVote(member, votes))
}

pub(super) fn listen(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let OnOff(listens) = words.one(front.shown)?;
    front.send(Command::Listen(listens))
}

pub(super) fn scaling(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let [name] = words.exactly()?;
    front.send(Command::SetScalingPolicy(name.to_owned()))
}

pub(super) fn compare_policies(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    words.none()?;
    front.send(Command::ComparePolicies)
}

pub(super) fn load_model(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let LoadableModelName(name) = words.one(front.shown)?;
    front.send(Command::LoadModel(name))
}

pub(super) fn unload_model(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let all = words.between(1, 2)?;
    let ServedModelName(name) = read(all[0], front.shown)?;
    let dependents = match all.get(1) {
        None => false,
        Some(word) if *word == "all" => true,
        Some(word) => {
            let wrong = format!("expected `all` or no word, found `{word}`");
            return Err(LineError::Argument(wrong));
        }
    };
    front.send(Command::UnloadModel { name, dependents })
}

pub(super) fn plan_models(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let change = match words.between(1, 3)? {
        ["load", name] => {
            let LoadableModelName(name) = read(name, front.shown)?;
            CatalogueChange::Load(name)
        }
        ["unload", name, all @ ..] if matches!(all, [] | ["all"]) => {
            let ServedModelName(name) = read(name, front.shown)?;
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

pub(super) fn record(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let RecordTo(path) = words.one(front.shown)?;
    front.send(path.map_or(Command::StopRecording, Command::StartRecording))
}

pub(super) fn lose_device(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let NamedDevice(device) = words.one(front.shown)?;
    front.send(Command::LoseDevice(device))
}

pub(super) fn regain_device(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let NamedDevice(device) = words.one(front.shown)?;
    front.send(Command::RegainDevice(device))
}

pub(super) fn slow_device(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let [device, factor] = words.exactly()?;
    let NamedDevice(device) = read(device, front.shown)?;
    let factor: Slowdown = read(factor, front.shown)?;
    front.send(Command::SlowDevice(device, factor))
}

pub(super) fn max_inf(front: &mut LineFront<'_>, words: LineWords<'_>) -> Said {
    let [device, samples] = words.exactly()?;
    let NamedDevice(device) = read(device, front.shown)?;
    let SampleBound(most) = read(samples, front.shown)?;
    front.send(Command::SetMaxInf(device, most))
}
