//! One choice and its numbers: what load, policy and search ask for.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use divisi::ensemble::PolicyKind;
use divisi::session::{Command, LoadPattern, SearchKind, SearchOrder};

use super::{Answer, field};
use crate::console::format;
use crate::console::pen::Pen;
use crate::console::theme::Role;

/// A number to type.
#[derive(Clone, Debug)]
struct Number {
    name: &'static str,
    text: String,
    unit: &'static str,
}

/// One thing that can be chosen.
#[derive(Clone, Debug)]
struct Choice {
    name: &'static str,
    help: &'static str,
    numbers: Vec<Number>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Load,
    Policy,
    Search,
}

/// A dialog of choices.
#[derive(Clone, Debug)]
pub struct Form {
    kind: Kind,
    title: &'static str,
    choices: Vec<Choice>,
    chosen: usize,
    /// The number that is typed into.
    field: usize,
    error: Option<String>,
}

fn number(name: &'static str, value: impl ToString, unit: &'static str) -> Number {
    let text = value.to_string();
    Number { name, text, unit }
}

fn choice(name: &'static str, help: &'static str, numbers: Vec<Number>) -> Choice {
    Choice {
        name,
        help,
        numbers,
    }
}

impl Form {
    fn new(kind: Kind, title: &'static str, choices: Vec<Choice>, chosen: usize) -> Self {
        Form {
            kind,
            title,
            choices,
            chosen,
            field: 0,
            error: None,
        }
    }

    /// The load, starting from the one that runs.
    pub fn load(now: Option<LoadPattern>) -> Self {
        let (mut clients, mut samples, mut rate) = (16, 32, 800.0);
        let chosen = match now {
            Some(LoadPattern::Closed {
                clients: c,
                samples: s,
            }) => {
                (clients, samples) = (c, s);
                0
            }
            Some(LoadPattern::Poisson { rate: r }) => {
                rate = r;
                1
            }
            Some(LoadPattern::Burst) => 2,
            None => 0,
        };
        let closed = vec![
            number("clients", clients, ""),
            number("samples", samples, "a request"),
        ];
        let choices = vec![
            choice(
                "closed",
                "each client sends again as soon as it is answered",
                closed,
            ),
            choice(
                "poisson",
                "one-sample requests at random moments",
                vec![number("rate", rate, "requests/s")],
            ),
            choice("burst", "150 requests slowly, then 250 fast", Vec::new()),
            choice("stop", "send nothing", Vec::new()),
        ];
        Form::new(Kind::Load, "load", choices, chosen)
    }

    /// The batching policy, starting from the one that runs.
    pub fn policy(now: PolicyKind) -> Self {
        let wait = if now.wait().is_zero() {
            5.0
        } else {
            now.wait().as_secs_f64() * 1e3
        };
        let waiting = || vec![number("wait", wait, "ms at most")];
        let choices = vec![
            choice(
                "no-wait",
                "whatever waits, up to the batch size, at once",
                Vec::new(),
            ),
            choice(
                "opt-wait",
                "a full batch, or what is there after the wait",
                waiting(),
            ),
            choice("static", "the same, padded to the full batch", waiting()),
            choice(
                "segment",
                "whole segments, closed when full or after the wait",
                waiting(),
            ),
        ];
        let chosen = choices
            .iter()
            .position(|c| c.name == now.name())
            .unwrap_or(0);
        Form::new(Kind::Policy, "batching policy", choices, chosen)
    }

    /// The algorithms with their defaults.
    pub fn search() -> Self {
        let greedy = vec![
            number("seed", 1, ""),
            number("max_iter", 10, "iterations"),
            number("max_neighs", 100, "neighbours each"),
        ];
        let choices = vec![
            choice(
                "greedy",
                "bounded greedy from worst-fit, one entry at a time",
                greedy,
            ),
            choice(
                "worst-fit",
                "worst-fit decreasing: a matrix that fits, at once",
                Vec::new(),
            ),
            choice(
                "best-batch",
                "the best batch size of each worker in place",
                Vec::new(),
            ),
        ];
        Form::new(Kind::Search, "search a better allocation", choices, 0)
    }

    /// Arrows choose, `Tab` goes on to the next number, `Enter` does it.
    pub fn on_key(&mut self, key: &KeyEvent) -> Answer {
        self.error = None;
        match key.code {
            KeyCode::Esc => return Answer::Close,
            KeyCode::Enter => return self.submit(),
            KeyCode::Up | KeyCode::Char('k') => self.choose(-1),
            KeyCode::Down | KeyCode::Char('j') => self.choose(1),
            KeyCode::Tab | KeyCode::Right => self.next(1),
            KeyCode::BackTab | KeyCode::Left => self.next(-1),
            _ => self.type_number(key),
        }
        Answer::Stay
    }

    fn choose(&mut self, step: isize) {
        let last = self.choices.len().saturating_sub(1);
        self.chosen = self.chosen.saturating_add_signed(step).min(last);
        self.field = 0;
    }

    fn next(&mut self, step: isize) {
        let count = self.choices[self.chosen].numbers.len().max(1) as isize;
        self.field = (self.field as isize + step).rem_euclid(count) as usize;
    }

    fn type_number(&mut self, key: &KeyEvent) {
        let part = |c: char| c.is_ascii_digit() || c == '.';
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if matches!(key.code, KeyCode::Char(c) if !control && !part(c)) {
            return;
        }
        if let Some(number) = self.choices[self.chosen].numbers.get_mut(self.field) {
            field::typed(&mut number.text, key);
        }
    }

    fn submit(&mut self) -> Answer {
        match self.command() {
            Ok(command) => Answer::Send(command),
            Err(error) => {
                self.error = Some(error);
                Answer::Stay
            }
        }
    }

    fn text(&self, number: usize) -> &str {
        let numbers = &self.choices[self.chosen].numbers;
        numbers.get(number).map_or("", |n| n.text.as_str())
    }

    fn command(&self) -> Result<Command, String> {
        let name = self.choices[self.chosen].name;
        match self.kind {
            Kind::Load => self.load_command(name),
            Kind::Policy => self.policy_command(name),
            Kind::Search => self.search_command(name),
        }
    }

    /// The engine's own parser knows the bounds.
    fn load_command(&self, name: &str) -> Result<Command, String> {
        let text = match name {
            "stop" => return Ok(Command::StopLoad),
            "closed" => format!("closed:{}x{}", self.text(0), self.text(1)),
            "poisson" => format!("poisson:{}", self.text(0)),
            other => other.to_owned(),
        };
        text.parse().map(Command::StartLoad)
    }

    fn policy_command(&self, name: &str) -> Result<Command, String> {
        if name == "no-wait" {
            let policy = PolicyKind::named(name, Duration::ZERO)?;
            return Ok(Command::SetPolicy(policy));
        }
        let text = format!("{name}:{}ms", self.text(0));
        text.parse().map(Command::SetPolicy)
    }

    fn search_command(&self, name: &str) -> Result<Command, String> {
        let kind = match name {
            "worst-fit" => SearchKind::WorstFit,
            "best-batch" => SearchKind::BestBatch,
            _ => SearchKind::Greedy,
        };
        let mut order = SearchOrder {
            kind,
            seed: 1,
            max_iter: 10,
            max_neighs: 100,
        };
        if kind == SearchKind::Greedy {
            order.seed = whole(self.text(0), "seed", 0)?;
            order.max_iter = whole(self.text(1), "max_iter", 1)? as usize;
            order.max_neighs = whole(self.text(2), "max_neighs", 1)? as usize;
        }
        Ok(Command::StartSearch(order))
    }

    /// Draws it in the middle.
    pub fn draw(&self, pen: &mut Pen<'_>) {
        let width = pen.width().saturating_sub(2).min(70);
        let rows: usize = self.choices.iter().map(|c| 1 + c.numbers.len()).sum();
        let mut window = pen.centred(width, rows as u16 + 5);
        let mut inside = window.framed(self.title, true);
        let mut y = 0;
        for (i, choice) in self.choices.iter().enumerate() {
            y = self.draw_choice(&mut inside, y, choice, i == self.chosen);
        }
        if let Some(error) = &self.error {
            inside.text(
                1,
                y + 1,
                &format::fit(&format!("✗ {error}"), width.saturating_sub(4)),
                Role::Bad,
            );
        }
        let keys = [
            ("↑ ↓", Role::Accent),
            (" choose   ", Role::Dim),
            ("Tab", Role::Accent),
            (" number   ", Role::Dim),
            ("Enter", Role::Accent),
            (" do it   ", Role::Dim),
            ("Esc", Role::Accent),
            (" back", Role::Dim),
        ];
        inside.pieces(1, inside.height().saturating_sub(1), &keys);
    }

    fn draw_choice(&self, inside: &mut Pen<'_>, y: u16, choice: &Choice, chosen: bool) -> u16 {
        let (sign, role) = if chosen {
            ("●", Role::Strong)
        } else {
            ("○", Role::Text)
        };
        inside.pieces(
            1,
            y,
            &[(sign, Role::Accent), (" ", role), (choice.name, role)],
        );
        let room = inside.width().saturating_sub(17);
        inside.text(16, y, &format::fit(choice.help, room), Role::Dim);
        for (i, number) in choice.numbers.iter().enumerate() {
            let row = y + 1 + i as u16;
            let role = if chosen { Role::Text } else { Role::Dim };
            inside.text(5, row, number.name, role);
            let after = inside.text(16, row, &number.text, role);
            let typing = chosen && i == self.field;
            let after = if typing {
                inside.text(after, row, " ", Role::Cursor)
            } else {
                after
            };
            inside.text(after + 1, row, number.unit, Role::Dim);
        }
        y + 1 + choice.numbers.len() as u16
    }
}

fn whole(text: &str, name: &str, least: u64) -> Result<u64, String> {
    let value = text.parse().ok().filter(|n| *n >= least && *n <= 1_000_000);
    value.ok_or_else(|| format!("{name}: expected a whole number from {least}, found `{text}`"))
}
