//! The built-in load.

use divisi::session::{Command, LoadPattern};

use super::{Choice, Field, Form, Kind};

impl Form {
    /// The load, starting from the one that runs.
    pub fn load(now: Option<LoadPattern>) -> Self {
        let (mut clients, mut samples, mut rate, mut fast) = (16, 32, 800.0, 400.0);
        let mut name = "closed";
        match now {
            Some(LoadPattern::Closed {
                clients: c,
                samples: s,
            }) => (clients, samples) = (c, s),
            Some(LoadPattern::Poisson { rate: r }) => (rate, name) = (r, "poisson"),
            Some(LoadPattern::Steady { rate: r }) => (rate, name) = (r, "steady"),
            Some(LoadPattern::Burst { rate: r }) => (fast, name) = (r, "burst"),
            Some(LoadPattern::Diurnal { rate: r, .. }) => rate = r,
            Some(LoadPattern::Replay { .. }) | None => {}
        }
        let closed = vec![
            Field::number("clients", clients, ""),
            Field::number("samples", samples, "a request"),
        ];
        let rated = |rate, unit| vec![Field::number("rate", rate, unit)];
        let choices = vec![
            Choice::new(
                "closed",
                "each client sends again as soon as it is answered",
                closed,
            ),
            Choice::new(
                "poisson",
                "one-sample requests at random moments",
                rated(rate, "requests/s"),
            ),
            Choice::new(
                "steady",
                "one-sample requests at even intervals",
                rated(rate, "requests/s"),
            ),
            Choice::new(
                "burst",
                "150 requests slowly, then 250 fast, and again",
                rated(fast, "requests/s when fast"),
            ),
            Choice::new("stop", "send nothing", Vec::new()),
        ];
        Form::new(Kind::Load, "load", choices).choosing(name)
    }

    /// The engine's own parser knows the bounds.
    pub(super) fn load_command(&self, name: &str) -> Result<Command, String> {
        let text = match name {
            "stop" => return Ok(Command::StopLoad),
            "closed" => format!("closed:{}x{}", self.text("clients"), self.text("samples")),
            open => format!("{open}:{}", self.text("rate")),
        };
        let wrong = |_: String| match name {
            "closed" => "clients: expected 1 to 4096; samples: 1 to 65536",
            _ => "rate: expected 0.001 to 1000000",
        };
        let pattern = text.parse().map_err(wrong)?;
        Ok(Command::StartLoad(pattern))
    }
}
