//! The built-in load and the batching policy, as text for the engine's own parsers.

use divisi_model::ensemble::PolicyKind;
use divisi_session::{Command, LoadPattern};

use super::{Form, FormChoice, FormField, FormKind};
use crate::model::Setting;

/// The initial values of the fields.
struct LoadValues {
    clients: String,
    samples: String,
    rate: String,
    fast: String,
    peak: String,
    period: String,
    file: String,
    speed: String,
}

impl Form {
    /// Asks for the load, starting from the running one.
    pub fn load(now: Option<&LoadPattern>) -> Self {
        let text = now.map_or("closed".to_owned(), ToString::to_string);
        let (name, numbers) = text.split_once(':').unwrap_or((&text, ""));
        let values = LoadValues::from_text(name, numbers);
        Form::new(FormKind::Load, "load", choices(&values)).choosing(name)
    }

    /// The engine's own parser knows the bounds.
    pub(super) fn load_command(&self, name: &str) -> Result<Command, String> {
        let field = |name| self.text(name);
        let text = match name {
            "stop" => return Ok(Command::StopLoad),
            "closed" => format!("closed:{}x{}", field("clients"), field("samples")),
            "diurnal" => format!("diurnal:{}:{}", field("peak"), seconds(field("period"))),
            "replay" if field("file").is_empty() => {
                return Err("file: expected a path".to_owned());
            }
            "replay" => format!("replay:{}:{}", field("file"), field("speed")),
            open => format!("{open}:{}", field("rate")),
        };
        let bounds = match name {
            "closed" => "clients: expected 1 to 4096; samples: 1 to 65536",
            "diurnal" => "peak: expected 0.001 to 1000000000; period: 0.1 to 604800 s",
            "replay" => "speed: expected 0.001 to 1000",
            _ => "rate: expected 0.001 to 1000000000",
        };
        let pattern: Result<LoadPattern, _> = text.parse();
        let pattern = pattern.map_err(|_| bounds)?;
        Ok(Command::StartLoad(pattern))
    }
}

fn seconds(text: &str) -> String {
    match text {
        "" => String::new(),
        number => format!("{number}s"),
    }
}

impl LoadValues {
    /// Fills in the `numbers` of the load called `name`, as written in its text form.
    fn from_text(name: &str, numbers: &str) -> Self {
        let mut values = LoadValues {
            clients: "16".into(),
            samples: "32".into(),
            rate: "800".into(),
            fast: "400".into(),
            peak: "800".into(),
            period: "60".into(),
            file: String::new(),
            speed: "1".into(),
        };
        let halves = |at: char| numbers.split_once(at).unwrap_or((numbers, ""));
        match name {
            _ if numbers.is_empty() => {}
            "closed" => {
                let (clients, samples) = halves('x');
                (values.clients, values.samples) = (clients.into(), samples.into());
            }
            "burst" => values.fast = numbers.into(),
            "diurnal" => {
                let (peak, period) = halves(':');
                let period = period.trim_end_matches('s');
                (values.peak, values.period) = (peak.into(), period.into());
            }
            "replay" => values.replay(numbers),
            _ => values.rate = numbers.into(),
        }
        values
    }

    /// File names may contain colons; only a number after the last colon is a speed.
    fn replay(&mut self, numbers: &str) {
        let last = numbers.rsplit_once(':');
        let (file, speed) = match last.filter(|(_, s)| s.parse::<f64>().is_ok()) {
            Some((file, speed)) => (file, speed),
            None => (numbers, "1"),
        };
        (self.file, self.speed) = (file.into(), speed.into());
    }
}

fn choices(values: &LoadValues) -> Vec<FormChoice> {
    let rated = |rate: &String, unit| vec![FormField::number("rate", rate, unit)];
    vec![
        FormChoice::new(
            "closed",
            "each client sends again after each answer",
            vec![
                FormField::number("clients", &values.clients, ""),
                FormField::number("samples", &values.samples, "a request"),
            ],
        ),
        FormChoice::new(
            "poisson",
            "one-sample requests at random moments",
            rated(&values.rate, "requests/s"),
        ),
        FormChoice::new(
            "steady",
            "one-sample requests at even intervals",
            rated(&values.rate, "requests/s"),
        ),
        FormChoice::new(
            "burst",
            "150 requests slowly, then 250 fast, repeatedly",
            rated(&values.fast, "requests/s in the fast part"),
        ),
        FormChoice::new(
            "diurnal",
            "the rate rises and falls like over a day",
            vec![
                FormField::number("peak", &values.peak, "requests/s at most"),
                FormField::number("period", &values.period, "s a day"),
            ],
        ),
        FormChoice::new(
            "replay",
            "requests at the recorded times of a file",
            vec![
                FormField::free("file", &values.file),
                FormField::number("speed", &values.speed, "times faster"),
            ],
        ),
        FormChoice::new("stop", "send nothing", Vec::new()),
    ]
}

/// A note on when elastic batching helps.
const ELASTIC: &str = "Helps if lanes run in parallel (GPUs); on CPU partitions it equals no-wait. \
     MaxInf limits the samples in execution on a device.";
const PIPELINED: &str = "Separates the gain of overlapping copies from the gain of elastic; \
     on CPU partitions it equals opt-wait.";

impl Form {
    /// Asks for the batching policy, starting from the staged or running one.
    pub fn policy(now: PolicyKind) -> Self {
        let choices = PolicyKind::names().map(|name| choice(name, now));
        Form::new(FormKind::Policy, "batching policy", choices.into()).choosing(now.name())
    }

    /// The engine's own parser knows the bounds.
    pub(super) fn policy_setting(&self, name: &str) -> Result<Setting, String> {
        let (wait, most) = (self.text("wait"), self.text("MaxInf"));
        let text = match name {
            "no-wait" => name.to_owned(),
            "elastic" if most.is_empty() => name.to_owned(),
            "elastic" => format!("{name}:{most}"),
            _ => format!("{name}:{wait}ms"),
        };
        let policy: Result<PolicyKind, _> = text.parse();
        policy.map(Setting::Policy).map_err(|e| e.to_string())
    }
}

fn choice(name: &'static str, now: PolicyKind) -> FormChoice {
    let wait = match now.wait() {
        none if none.is_zero() => 5.0,
        wait => wait.as_secs_f64() * 1e3,
    };
    let starts = PolicyKind::starts(name).unwrap_or_default();
    let fields = match name {
        "no-wait" => Vec::new(),
        "elastic" => elastic(now),
        _ => vec![FormField::number("wait", wait, "ms at most")],
    };
    let choice = FormChoice::new(name, starts, fields);
    match name {
        "pipelined-opt-wait" => choice.noting(PIPELINED),
        "elastic" => choice.noting(ELASTIC),
        _ => choice,
    }
}

fn elastic(now: PolicyKind) -> Vec<FormField> {
    let most = match now {
        PolicyKind::Elastic { max_inf } => max_inf,
        _ => None,
    };
    let most = most.map_or(String::new(), |n| n.to_string());
    vec![FormField::number(
        "MaxInf",
        most,
        "samples; empty: sum of the batch sizes",
    )]
}
