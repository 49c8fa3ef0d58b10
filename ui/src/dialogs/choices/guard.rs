//! What serving is judged by: the service objective, and the terms of a probation.

use std::time::Duration;

use divisi::session::{Command, Target, Terms};

use super::{Form, FormChoice, FormField, FormKind, optional};

const WATCHED: &str = "What is applied comes back by itself, with the reason, where it does \
     worse than this within that time. Empty: does not matter.";

impl Form {
    /// The service objective, starting from the one in force.
    pub fn target(now: Option<Target>) -> Self {
        let latency = now.map_or(String::new(), |t| tidy(t.latency.as_secs_f64() * 1e3));
        let share = now.map_or(99.0, |t| t.share * 100.0);
        let fields = vec![
            FormField::number("within", latency, "ms; empty: no objective"),
            FormField::number("share", tidy(share), "% of requests"),
        ];
        let help = "requests are to be answered in time";
        let choice = FormChoice::new("objective", help, fields);
        Form::new(FormKind::Target, "service objective", vec![choice])
    }

    pub(super) fn target_command(&self) -> Result<Command, String> {
        let latency = optional(self.text("within"), "within", 0.001, 600_000.0)?;
        let Some(ms) = latency else {
            return Ok(Command::SetTarget(None));
        };
        let text = self.text("share");
        let share = text.parse().ok().filter(|s: &f64| *s > 0.0 && *s <= 100.0);
        let wrong = || format!("share: expected more than 0 and at most 100, found `{text}`");
        Ok(Command::SetTarget(Some(Target {
            latency: Duration::from_secs_f64(ms / 1e3),
            share: share.ok_or_else(wrong)? / 100.0,
        })))
    }

    /// The terms of a probation, starting from the last ones.
    pub fn terms(last: &Terms) -> Self {
        let percent = |share: f64| tidy(share * 100.0);
        let text = |n: Option<f64>, as_text: fn(f64) -> String| n.map_or(String::new(), as_text);
        let fields = vec![
            FormField::number("lasts", tidy(last.lasts.as_secs_f64()), "s"),
            FormField::number("p99", text(last.p99, tidy), "times what it was, at most"),
            FormField::number(
                "failures",
                text(last.failures, percent),
                "% more requests, at most",
            ),
            FormField::number("accuracy", text(last.accuracy, percent), "% lower, at most"),
        ];
        let choice = FormChoice::new("probation", "it rolls back if it does worse", fields);
        let choice = choice.noting(WATCHED);
        Form::new(FormKind::Terms, "apply on probation", vec![choice])
    }

    pub(super) fn terms_filled(&self) -> Result<Terms, String> {
        let field = |name: &str, least, most| optional(self.text(name), name, least, most);
        let lasts = field("lasts", 1.0, 86_400.0)?;
        let lasts = lasts.ok_or("lasts: expected 1 to 86400 s, found nothing")?;
        let share = |percent: Option<f64>| percent.map(|p| p / 100.0);
        let terms = Terms {
            lasts: Duration::from_secs_f64(lasts),
            p99: field("p99", 0.01, 1000.0)?,
            failures: share(field("failures", 0.0, 100.0)?),
            accuracy: share(field("accuracy", 0.0, 100.0)?),
        };
        match (terms.p99, terms.failures, terms.accuracy) {
            (None, None, None) => Err("expected at least one thing to watch".into()),
            _ => Ok(terms),
        }
    }
}

/// At most three digits behind the point, none that say nothing.
fn tidy(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
