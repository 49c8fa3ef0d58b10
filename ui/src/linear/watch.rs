//! Turns snapshots into lines: the news since the previous one, each once. The ends of changes and
//! probations come from the log.

use std::collections::BTreeMap;
use std::time::Duration;

use divisi_session::{
    LogEntry, ModelChangeState, Probation, ProbationState, ReloadState, SearchState, SearchView,
    Snapshot,
};

use super::tasks;
use crate::panels::lint_texts;
use crate::text::status as words;
use crate::text::{Condition, Severity, format};

/// The last reported state, to find news.
#[derive(Debug)]
pub struct Watcher {
    before: Option<Snapshot>,
    /// The interval between summaries, and the time of the last one.
    every: Duration,
    last: Option<Duration>,
    said: String,
    /// The active lints, by their text without numbers.
    lints: BTreeMap<String, String>,
}

impl Watcher {
    /// Creates a watcher that has reported nothing. Summaries come at this interval if they differ.
    pub fn new(every: Duration) -> Self {
        Watcher {
            before: None,
            every,
            last: None,
            said: String::new(),
            lints: BTreeMap::new(),
        }
    }

    /// Returns lines about the news in `now`, oldest first.
    pub fn news(&mut self, now: &Snapshot) -> Vec<String> {
        let mut lines = Vec::new();
        let before = self.before.take();
        let before = before.as_ref();
        let log = NewEntries::since(before, now);
        self.health(before, now, &mut lines);
        reload(before, now, log, &mut lines);
        lines.extend(log.0.iter().map(log_line));
        model_plan(before, now, &mut lines);
        search(before, now, &mut lines);
        probation(before, now, &mut lines);
        if let Some(scaling) = &now.scaling {
            let known = before.and_then(|before| before.scaling.as_ref());
            lines.extend(tasks::news(known, scaling));
        }
        audience(before, now, &mut lines);
        self.lints(now, log, &mut lines);
        self.summary(now, &mut lines);
        self.before = Some(now.clone());
        let at = format!("{:.1} s", now.now.as_secs_f64());
        lines.into_iter().map(|l| format!("{at}: {l}")).collect()
    }

    fn health(&self, before: Option<&Snapshot>, now: &Snapshot, lines: &mut Vec<String>) {
        let condition = Condition::from_snapshot(now);
        let kind = |shown| Condition::from_snapshot(shown).kind();
        if before.is_none_or(|b| kind(b) != condition.kind()) {
            lines.push(format!("{}: {}", now.ensemble, words::condition(condition)));
        }
    }

    fn lints(&mut self, now: &Snapshot, log: NewEntries<'_>, lines: &mut Vec<String>) {
        let found = lint_texts(now);
        let told =
            |text: &str| failure(now).is_some_and(|why| text.ends_with(why) && log.tell(why));
        for (severity, text) in &found {
            if !self.lints.contains_key(&without_numbers(text)) && !told(text) {
                lines.push(words::graded(*severity, text));
            }
        }
        let texts = found.into_iter().map(|(_, text)| text);
        let there: BTreeMap<String, String> = texts.map(|t| (without_numbers(&t), t)).collect();
        for (key, text) in &self.lints {
            if !there.contains_key(key) {
                lines.push(format!("resolved: {text}"));
            }
        }
        // The end of a lint repeats the numbers from its start.
        for (key, text) in there.clone() {
            self.lints.entry(key).or_insert(text);
        }
        self.lints.retain(|key, _| there.contains_key(key));
    }

    fn summary(&mut self, now: &Snapshot, lines: &mut Vec<String>) {
        // A recording may be played backward.
        let due = self
            .last
            .is_none_or(|l| now.now < l || now.now - l >= self.every);
        if !due {
            return;
        }
        self.last = Some(now.now);
        lines.extend(words::probation(now));
        let summary = words::summary(now);
        if summary != self.said {
            lines.push(summary.clone());
            self.said = summary;
        }
    }
}

/// Returns the words without numbers, which stay the same while the numbers change.
fn without_numbers(text: &str) -> String {
    let number = |w: &&str| !w.starts_with(|c: char| c.is_ascii_digit() || c == '×');
    text.split_whitespace()
        .filter(|w| number(w) || *w == "×")
        .collect::<Vec<_>>()
        .join(" ")
}

/// The new lines of the log.
#[derive(Clone, Copy)]
struct NewEntries<'a>(&'a [LogEntry]);

impl<'a> NewEntries<'a> {
    fn since(before: Option<&Snapshot>, now: &'a Snapshot) -> Self {
        let last = before.and_then(|b| b.log.last());
        let known = last.and_then(|l| now.log.iter().rposition(|e| e == l));
        NewEntries(&now.log[known.map_or(0, |at| at + 1)..])
    }

    /// Returns whether one of them contains `text`.
    fn tell(self, text: &str) -> bool {
        self.0.iter().any(|entry| entry.text.contains(text))
    }
}

fn log_line(entry: &LogEntry) -> String {
    match Severity::from(entry.level) {
        Severity::Information => entry.text.clone(),
        grave => words::graded(grave, &entry.text),
    }
}

/// Returns the steps of a reload. Settings are applied in one step, which the log also reports.
fn reload(before: Option<&Snapshot>, now: &Snapshot, log: NewEntries<'_>, lines: &mut Vec<String>) {
    let Some(reload) = &now.reload else { return };
    let old = before.and_then(|b| b.reload.as_ref());
    // Steps are only added; a shorter or different list belongs to another reload.
    let same =
        old.filter(|o| reload.steps.starts_with(&o.steps) && o.state == ReloadState::Running);
    if old.is_some_and(|o| o.steps == reload.steps && o.state == reload.state) {
        return;
    }
    let said = same.map_or(0, |o| o.steps.len());
    let steps = reload.steps[said..].iter().filter(|step| !log.tell(step));
    lines.extend(steps.map(|step| format!("reload: {step}")));
}

/// Adds a planned change of models.
fn model_plan(before: Option<&Snapshot>, now: &Snapshot, lines: &mut Vec<String>) {
    let Some(change) = &now.model_change else {
        return;
    };
    let ModelChangeState::Planned(preview) = &change.state else {
        return;
    };
    if before.and_then(|b| b.model_change.as_ref()) == Some(change) {
        return;
    }
    lines.extend(words::model_plan(change, preview));
}

fn search(before: Option<&Snapshot>, now: &Snapshot, lines: &mut Vec<String>) {
    let Some(search) = &now.search else { return };
    let old = before.and_then(|b| b.search.as_ref());
    // The clock of another search starts again.
    let old = old.filter(|o| o.elapsed <= search.elapsed && o.algorithm == search.algorithm);
    if old.is_none() {
        let (name, scores) = (&search.algorithm, &search.evaluator);
        lines.push(format!("search: {name} begins, scored by {scores}"));
    }
    if best(search) > old.and_then(best) {
        lines.push(better(search));
    }
    if old.map(|o| &o.state) != Some(&search.state) {
        lines.extend(ended(search));
    }
}

fn best(search: &SearchView) -> Option<f64> {
    search.progress.best_score
}

fn better(search: &SearchView) -> String {
    let progress = &search.progress;
    let score = progress.best_score.unwrap_or_default().round();
    let gain = progress.start_score.zip(progress.best_score);
    let gain = gain.and_then(|(start, best)| format::gain(start, best));
    let gain = gain.map_or(String::new(), |g| format!(", {g} over the start"));
    let count = progress.evaluations;
    let doubt = progress.best_doubt;
    format!("search: best {score} samples/s ({doubt}){gain}, after {count} evaluations")
}

fn ended(search: &SearchView) -> Option<String> {
    let took = format::duration(search.elapsed);
    Some(match &search.state {
        SearchState::Running => return None,
        SearchState::Paused => "search: paused".into(),
        SearchState::Finished => {
            let gain = search.progress.gain.as_ref();
            let gain = gain.map_or(String::new(), |g| format!(", {g} over the start"));
            let occasion = search.occasion.as_ref();
            let occasion = occasion.map_or(String::new(), |occasion| format!(", {occasion}"));
            format!("search: finished in {took}{occasion}{gain}; apply-best applies it")
        }
        SearchState::Cancelled => format!("search: cancelled after {took}"),
        SearchState::Failed(why) => format!("search: failed: {why}"),
    })
}

/// Adds the start of a probation.
fn probation(before: Option<&Snapshot>, now: &Snapshot, lines: &mut Vec<String>) {
    let Some(begun) = watched(now) else { return };
    if before
        .and_then(watched)
        .is_some_and(|old| old.since == begun.since)
    {
        return;
    }
    let lasts = format::duration(begun.terms.lasts);
    lines.push(format!("probation: {lasts}; keep or roll-back ends it"));
}

/// Returns the running probation, or `None` without a probation.
fn watched(shown: &Snapshot) -> Option<&Probation> {
    let probation = shown.probation.as_ref();
    probation.filter(|p| p.state == ProbationState::Watching)
}

/// Returns the reason why the last probation failed, or `None` if it did not.
fn failure(shown: &Snapshot) -> Option<&str> {
    match &shown.probation.as_ref()?.state {
        ProbationState::Failed(why) => Some(why),
        _ => None,
    }
}

fn audience(before: Option<&Snapshot>, now: &Snapshot, lines: &mut Vec<String>) {
    let editor = |s: &Snapshot| s.audience.editor.clone();
    let Some(before) = before else { return };
    match (editor(before), editor(now)) {
        (old, new) if old == new => {}
        (_, Some(_)) if now.audience.you_edit => lines.push("you are editing now".into()),
        (_, Some(name)) => lines.push(format!("{name} is editing now")),
        (_, None) => lines.push("no editor".into()),
    }
}
