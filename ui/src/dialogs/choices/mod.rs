//! What forms ask for, and the commands they become.

mod guard;
mod load;
mod policy;
mod search;
mod single;

use super::DialogReply;
use super::forms::{Form, FormChoice, FormField, FormKind};

impl Form {
    /// Returns the reply for the values that were filled in, or what is wrong with them.
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
        };
        command.map(DialogReply::Send)
    }
}

fn whole(text: &str, name: &str, least: u64) -> Result<u64, String> {
    let value = text.parse().ok().filter(|n| *n >= least && *n <= 1_000_000);
    value.ok_or_else(|| format!("{name}: expected a whole number from {least}, found `{text}`"))
}

/// A number from `least` to `most`, or none where nothing is typed.
fn optional(text: &str, name: &str, least: f64, most: f64) -> Result<Option<f64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let value = text.parse().ok().filter(|n| (least..=most).contains(n));
    let wrong = || format!("{name}: expected {least} to {most} or nothing, found `{text}`");
    value.map(Some).ok_or_else(wrong)
}
