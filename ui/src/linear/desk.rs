//! Does what lines ask of a session, and answers in lines.

use divisi::allocation::{Matrix, WorkerChange};
use divisi::session::{Command, EditPreview, Session, Setup, Snapshot, Terms};

use super::ask::{Ask, COMMANDS};
use super::{parse, words};
use crate::console::format;

/// What a line came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineAnswer {
    pub lines: Vec<String>,
    /// The program is to end.
    pub leave: bool,
}

/// Staged changes, and what may be done.
#[derive(Debug)]
pub struct LineDesk {
    read_only: bool,
    /// What `apply probation` asks.
    terms: Terms,
    staged: Option<Matrix>,
}

impl LineDesk {
    /// Nothing is staged.
    pub fn new(read_only: bool, terms: Terms) -> Self {
        LineDesk {
            read_only,
            terms,
            staged: None,
        }
    }

    /// Does what a line asks for.
    pub fn line(&mut self, line: &str, session: &mut dyn Session) -> LineAnswer {
        let shown = session.snapshot();
        let asked = parse::ask(line, &shown, self.read_only);
        let leave = matches!(asked, Ok(Some(Ask::Quit)));
        let lines = match asked {
            Ok(None) => Ok(Vec::new()),
            Ok(Some(ask)) => self.follow(ask, session, &shown),
            Err(wrong) => Err(wrong),
        };
        let lines = lines.unwrap_or_else(|wrong| vec![format!("no: {wrong}")]);
        LineAnswer { lines, leave }
    }

    fn follow(
        &mut self,
        ask: Ask,
        session: &mut dyn Session,
        shown: &Snapshot,
    ) -> Result<Vec<String>, String> {
        match ask {
            Ask::Help => return Ok(help()),
            Ask::Status => return Ok(words::status(shown)),
            Ask::Quit => return Ok(Vec::new()),
            Ask::Stage(cell, size) => {
                let staged = self.staged.as_ref().unwrap_or(&shown.matrix);
                let staged = staged.with(cell, size).map_err(|e| e.to_string())?;
                let size = size.map_or("no worker".into(), |s| format!("batches of {s}"));
                let text = format!("staged: {}: {size}", words::cell(shown, cell));
                self.staged = Some(staged);
                return Ok(vec![text]);
            }
            Ask::Unstage => {
                self.staged = None;
                return Ok(vec!["nothing is staged".into()]);
            }
            Ask::Compare => return compare(session, shown, self.setup(shown)?),
            Ask::Apply { probation } => {
                let terms = probation.then_some(self.terms);
                let setup = Box::new(self.setup(shown)?);
                send(session, Command::Apply(setup, terms))?;
                self.staged = None;
            }
            Ask::ApplyBest => {
                let best = shown.search.as_ref().and_then(|s| s.progress.best.clone());
                let best = best.ok_or("no search has found a matrix yet")?;
                apply(session, shown, best)?;
            }
            Ask::ApplyProposal => {
                let proposal = shown.proposal.as_ref().ok_or("nothing is proposed")?;
                apply(session, shown, proposal.matrix.clone())?;
            }
            Ask::Send(command) => send(session, command)?,
        }
        Ok(vec!["taken".into()])
    }

    fn setup(&self, shown: &Snapshot) -> Result<Setup, String> {
        let staged = self.staged.clone();
        let staged = staged.ok_or("nothing is staged: set DEVICE MEMBER SIZE stages")?;
        Ok(shown.setup().with_matrix(staged))
    }
}

fn send(session: &mut dyn Session, command: Command) -> Result<(), String> {
    session.command(command).map_err(|refusal| refusal.0)
}

fn apply(session: &mut dyn Session, shown: &Snapshot, matrix: Matrix) -> Result<(), String> {
    let setup = Box::new(shown.setup().with_matrix(matrix));
    send(session, Command::Apply(setup, None))
}

fn help() -> Vec<String> {
    let lines = COMMANDS.iter().map(|c| {
        let name = format!("{} {}", c.name, c.takes);
        format!("{}: {}", name.trim_end(), c.help)
    });
    lines.collect()
}

fn compare(
    session: &mut dyn Session,
    shown: &Snapshot,
    setup: Setup,
) -> Result<Vec<String>, String> {
    let preview = session.preview(&setup).map_err(|refusal| refusal.0)?;
    let mut lines: Vec<String> = changes(shown, &preview).collect();
    if lines.is_empty() {
        lines.push("nothing changes".into());
    }
    lines.extend(preview.settings.iter().cloned());
    lines.extend(memory(shown, &preview));
    lines.extend(
        preview
            .paused_members
            .iter()
            .map(|m| format!("{m} waits for a moment")),
    );
    let prediction = &preview.prediction;
    if let (Some(before), Some(after)) = (prediction.before, prediction.after) {
        let gain = format::gain(before, after).unwrap_or_default();
        let (before, after) = (before.round(), after.round());
        lines.push(format!("predicted: {before} to {after} samples/s, {gain}"));
    }
    Ok(lines)
}

fn changes<'a>(shown: &'a Snapshot, preview: &'a EditPreview) -> impl Iterator<Item = String> + 'a {
    let changed = preview.difference.changed();
    changed.map(|entry| {
        let place = words::cell(shown, entry.cell);
        match entry.change {
            WorkerChange::Keep(size) => format!("keep {place}, batch {size}"),
            WorkerChange::Start(size) => format!("start {place}, batch {size}"),
            WorkerChange::Stop(size) => format!("stop {place}, batch {size}"),
            WorkerChange::Resize { from, to } => format!("change {place}, batch {from} to {to}"),
        }
    })
}

fn memory<'a>(shown: &'a Snapshot, preview: &'a EditPreview) -> impl Iterator<Item = String> + 'a {
    let pairs = shown.devices.iter().zip(&preview.memory);
    let differ = pairs.filter(|(_, (now, after))| now != after);
    differ.map(|(device, (now, after))| {
        let (now, after) = (format::bytes(*now), format::bytes(*after));
        format!("{}: memory {now} to {after}", device.name)
    })
}
