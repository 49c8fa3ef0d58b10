//! What load, policy and search ask for, and the commands they become.

use std::time::Duration;

use divisi::ensemble::PolicyKind;
use divisi::session::{Command, LoadPattern, SearchKind, SearchOrder};

use super::forms::{Choice, Form, Kind, Number};

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
    /// The load, starting from the one that runs.
    pub fn load(now: Option<LoadPattern>) -> Self {
        let (mut clients, mut samples, mut rate, mut fast) = (16, 32, 800.0, 400.0);
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
            Some(LoadPattern::Steady { rate: r }) => {
                rate = r;
                2
            }
            Some(LoadPattern::Burst { rate: r }) => {
                fast = r;
                3
            }
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
            choice(
                "steady",
                "one-sample requests at even intervals",
                vec![number("rate", rate, "requests/s")],
            ),
            choice(
                "burst",
                "150 requests slowly, then 250 fast, and again",
                vec![number("rate", fast, "requests/s when fast")],
            ),
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
                "the best batch size of each member alone on a device",
                Vec::new(),
            ),
        ];
        Form::new(Kind::Search, "search a better allocation", choices, 0)
    }

    /// The command that is filled in, or what is wrong with it.
    pub(super) fn command(&self) -> Result<Command, String> {
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
            open => format!("{open}:{}", self.text(0)),
        };
        let wrong = |_: String| match name {
            "closed" => "clients: expected 1 to 4096; samples: 1 to 65536",
            _ => "rate: expected 0.001 to 1000000",
        };
        let pattern = text.parse().map_err(wrong)?;
        Ok(Command::StartLoad(pattern))
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
            algorithm: kind,
            ..SearchOrder::default()
        };
        if kind == SearchKind::Greedy {
            order.bounds.seed = whole(self.text(0), "seed", 0)?;
            order.bounds.max_iter = whole(self.text(1), "max_iter", 1)? as usize;
            order.bounds.max_neighs = whole(self.text(2), "max_neighs", 1)? as usize;
        }
        Ok(Command::StartSearch(order))
    }
}

fn whole(text: &str, name: &str, least: u64) -> Result<u64, String> {
    let value = text.parse().ok().filter(|n| *n >= least && *n <= 1_000_000);
    value.ok_or_else(|| format!("{name}: expected a whole number from {least}, found `{text}`"))
}
