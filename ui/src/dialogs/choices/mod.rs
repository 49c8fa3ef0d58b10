//! The forms and the commands built from their values; also the forms with a single choice: a
//! device, the segment size, the name of a layout, the service objective, the mix of models, the
//! terms of a probation.

mod search;
mod serving;

use std::num::NonZeroU32;
use std::time::Duration;

use divisi_model::catalogue::NamedMix;
use divisi_runtime::device::DeviceIndex;
use divisi_session::{Command, DeviceView, SetupFile, Slowdown, Target, Terms};

use super::DialogReply;
use super::field::{FormField, only_unexpected, unexpected};
use super::forms::{Form, FormChoice, FormKind};
use crate::layout::PanelLayout;
use crate::model::Setting;

impl Form {
    /// Returns the reply for the entered values.
    ///
    /// # Errors
    /// The first wrong value, with the expected values.
    pub(super) fn answer(&self) -> Result<DialogReply, String> {
        let name = self.choices[self.chosen].name;
        let command = match self.kind {
            FormKind::Load => self.load_command(name),
            FormKind::Policy => return self.policy_setting(name).map(DialogReply::Stage),
            FormKind::SegmentSize => return self.segment_setting().map(DialogReply::Stage),
            FormKind::Terms => return self.terms_filled().map(DialogReply::Apply),
            FormKind::Search => self.search_command(name),
            FormKind::MaxInf(device) => self.max_inf_command(device),
            FormKind::Slow(device) => self.slow_command(device),
            FormKind::Layout => return self.layout_name().map(DialogReply::SaveLayout),
            FormKind::Target => self.target_command(),
            FormKind::Mix => self.mix_command(),
        };
        command.map(DialogReply::Send)
    }
}

fn whole(text: &str, name: &'static str, least: u64) -> Result<u64, String> {
    let value = text.parse().ok().filter(|n| *n >= least && *n <= 1_000_000);
    let wrong = || unexpected(name, format!("a whole number from {least}"), text);
    value.ok_or_else(wrong)
}

/// Parses a number from `least` to `most`, or returns `None` for an empty text.
fn optional(text: &str, name: &'static str, least: f64, most: f64) -> Result<Option<f64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let value = text.parse().ok().filter(|n| (least..=most).contains(n));
    let wrong = || unexpected(name, format!("{least} to {most} or nothing"), text);
    value.map(Some).ok_or_else(wrong)
}

impl Form {
    /// Asks for the limit of samples in execution on the device, under elastic batching.
    pub fn max_inf(device: DeviceIndex, view: &DeviceView) -> Self {
        let now = view.max_inf.map_or(String::new(), |n| n.to_string());
        let fields = vec![FormField::number(
            "at most",
            now,
            "samples; empty: the policy's limit",
        )];
        let help = "limit of samples in execution, under elastic";
        let choice = FormChoice::new("MaxInf", help, fields);
        let title = format!("MaxInf of {}", view.name);
        Form::new(FormKind::MaxInf(device), title, vec![choice])
    }

    /// Asks for the factor by which a simulated device is slower.
    pub fn slow(device: DeviceIndex, view: &DeviceView) -> Self {
        let fields = vec![FormField::number(
            "factor",
            view.slowdown,
            "times slower; 1 is normal",
        )];
        let help = "simulates other users of the device";
        let choice = FormChoice::new("slow down", help, fields)
            .noting("Its workers become slower than their profiles; the console marks them and proposes a move.");
        let title = format!("slow {} down", view.name);
        Form::new(FormKind::Slow(device), title, vec![choice])
    }

    fn max_inf_command(&self, device: DeviceIndex) -> Result<Command, String> {
        let text = self.text("at most");
        if text.is_empty() {
            return Ok(Command::SetMaxInf(device, None));
        }
        let most: Result<NonZeroU32, _> = text.parse();
        let wrong = |_| only_unexpected("a whole number from 1 or nothing", text);
        let most = most.map_err(wrong)?;
        Ok(Command::SetMaxInf(device, Some(most)))
    }

    fn slow_command(&self, device: DeviceIndex) -> Result<Command, String> {
        let text = self.text("factor");
        let factor = text.parse().ok().and_then(|f| Slowdown::new(f).ok());
        let wrong = || only_unexpected("a factor from 0.1 to 100", text);
        let factor = factor.ok_or_else(wrong)?;
        Ok(Command::SlowDevice(device, factor))
    }
}

const EXTENTS: &str = "The extents of the sample pool have this size under every policy.";

impl Form {
    /// Asks for the segment size, starting from the staged or running one.
    pub fn segment_size(now: usize) -> Self {
        let fields = vec![FormField::number("at most", now, "samples")];
        let help = "consecutive samples processed together";
        let choice = FormChoice::new("segment size", help, fields).noting(EXTENTS);
        Form::new(FormKind::SegmentSize, "segment size", vec![choice])
    }

    fn segment_setting(&self) -> Result<Setting, String> {
        let (text, most) = (self.text("at most"), SetupFile::MOST_SEGMENT);
        let size = text.parse().ok().filter(|n| (1..=most).contains(n));
        let wrong = || only_unexpected(format!("a whole number from 1 to {most}"), text);
        size.map(Setting::SegmentSize).ok_or_else(wrong)
    }
}

const REPLACED: &str =
    "Saved in layouts/ of the configuration; replaces a layout of the same name.";
/// The longest name that fits in a header.
const MOST: usize = 32;

impl Form {
    /// Asks for a name for the shown layout.
    pub fn layout(now: &str) -> Self {
        let name = match PanelLayout::is_built_in(now) {
            true => format!("my-{now}"),
            false => now.to_owned(),
        };
        let help = "the shown panels and their sizes";
        let choice =
            FormChoice::new("layout", help, vec![FormField::free("name", name)]).noting(REPLACED);
        Form::new(FormKind::Layout, "save layout", vec![choice])
    }

    fn layout_name(&self) -> Result<String, String> {
        let name = self.text("name").trim();
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.len() > MOST || !name.chars().all(plain) {
            let expected = format!("a-z, 0-9 and -, at most {MOST}");
            return Err(unexpected("name", expected, name));
        }
        match PanelLayout::is_built_in(name) {
            true => Err(format!("name: `{name}` is built in; expected another")),
            false => Ok(name.to_owned()),
        }
    }
}

const SEEN: &str = "Empty: load on the first model only; searches use the observed traffic.";

impl Form {
    /// Asks for the traffic shares of models, starting from the current ones.
    pub fn mix(now: Option<&NamedMix>) -> Self {
        let shares = now.map_or(String::new(), ToString::to_string);
        let help = "traffic shares of models, such as digits=3,imn4=1";
        let fields = vec![FormField::free("shares", shares)];
        let choice = FormChoice::new("mix", help, fields).noting(SEEN);
        Form::new(FormKind::Mix, "mix of models", vec![choice])
    }

    fn mix_command(&self) -> Result<Command, String> {
        let text = self.text("shares").trim();
        if text.is_empty() {
            return Ok(Command::SetMix(None));
        }
        let mix = text.parse::<NamedMix>();
        let mix = mix.map_err(|e| e.to_string())?;
        Ok(Command::SetMix(Some(mix)))
    }
}

const WATCHED: &str = "The change is rolled back, with the reason, if it exceeds a limit within \
     this time. Empty: no limit.";

impl Form {
    /// Asks for the service objective, starting from the current one.
    pub fn target(now: Option<Target>) -> Self {
        let latency = now.map_or(String::new(), |t| tidy(t.latency.as_secs_f64() * 1e3));
        let share = now.map_or(99.0, |t| t.share * 100.0);
        let fields = vec![
            FormField::number("within", latency, "ms; empty: no objective"),
            FormField::number("share", tidy(share), "% of requests"),
        ];
        let help = "latency limit for a share of requests";
        let choice = FormChoice::new("objective", help, fields);
        Form::new(FormKind::Target, "service objective", vec![choice])
    }

    fn target_command(&self) -> Result<Command, String> {
        let latency = optional(self.text("within"), "within", 0.001, 600_000.0)?;
        let Some(ms) = latency else {
            return Ok(Command::SetTarget(None));
        };
        let text = self.text("share");
        let share = text.parse().ok().filter(|s: &f64| *s > 0.0 && *s <= 100.0);
        let wrong = || unexpected("share", "more than 0 and at most 100", text);
        Ok(Command::SetTarget(Some(Target {
            latency: Duration::from_secs_f64(ms / 1e3),
            share: share.ok_or_else(wrong)? / 100.0,
        })))
    }

    /// Asks for the terms of a probation, starting from the last ones.
    pub fn terms(last: &Terms) -> Self {
        let percent = |share: f64| tidy(share * 100.0);
        let text = |n: Option<f64>, as_text: fn(f64) -> String| n.map_or(String::new(), as_text);
        let fields = vec![
            FormField::number("lasts", tidy(last.lasts.as_secs_f64()), "s"),
            FormField::number(
                "p99",
                text(last.p99, tidy),
                "times its earlier value, at most",
            ),
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

    fn terms_filled(&self) -> Result<Terms, String> {
        let field = |name, least, most| optional(self.text(name), name, least, most);
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
            (None, None, None) => Err("expected at least one limit".to_owned()),
            _ => Ok(terms),
        }
    }
}

/// Formats a number with at most three decimals, without trailing zeros.
fn tidy(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
