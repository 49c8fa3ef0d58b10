//! Forms of one choice: a device, the segment size, the name of a layout.

use std::num::NonZeroU32;

use divisi::session::{Command, DeviceView, SetupFile, Slowdown};

use super::{Form, FormChoice, FormField, FormKind};
use crate::layout::PanelLayout;
use crate::model::Setting;

impl Form {
    /// Samples alive at most on the device, under elastic batching.
    pub fn max_inf(device: usize, view: &DeviceView) -> Self {
        let now = view.max_inf.map_or(String::new(), |n| n.to_string());
        let fields = vec![FormField::number(
            "at most",
            now,
            "samples; empty: as the policy says",
        )];
        let help = "samples in execution on the device under elastic";
        let choice = FormChoice::new("MaxInf", help, fields);
        let title = format!("MaxInf of {}", view.name);
        Form::new(FormKind::MaxInf(device), title, vec![choice])
    }

    /// How many times as long a simulated device takes.
    pub fn slow(device: usize, view: &DeviceView) -> Self {
        let fields = vec![FormField::number(
            "factor",
            view.slowdown,
            "times as long; 1 is normal",
        )];
        let help = "as if others were using the device";
        let choice = FormChoice::new("slow down", help, fields)
            .noting("Its workers are then slower than their profiles and marked so, with a move that relieves them.");
        let title = format!("slow {} down", view.name);
        Form::new(FormKind::Slow(device), title, vec![choice])
    }

    pub(super) fn max_inf_command(&self, device: usize) -> Result<Command, String> {
        let text = self.text("at most");
        if text.is_empty() {
            return Ok(Command::SetMaxInf(device, None));
        }
        let most: Result<NonZeroU32, _> = text.parse();
        let wrong = |_| format!("expected a whole number from 1 or nothing, found `{text}`");
        let most = most.map_err(wrong)?;
        Ok(Command::SetMaxInf(device, Some(most)))
    }

    pub(super) fn slow_command(&self, device: usize) -> Result<Command, String> {
        let text = self.text("factor");
        let factor = text.parse().ok().and_then(|f| Slowdown::new(f).ok());
        let factor = factor.ok_or(format!("expected a factor from 0.1 to 100, found `{text}`"))?;
        Ok(Command::SlowDevice(device, factor))
    }
}

const EXTENTS: &str = "Extents of the sample pool are as large, whatever the policy.";

impl Form {
    /// Samples in a segment, starting from what is staged or runs.
    pub fn segment_size(now: usize) -> Self {
        let fields = vec![FormField::number("at most", now, "samples")];
        let help = "consecutive samples that travel together";
        let choice = FormChoice::new("segment size", help, fields).noting(EXTENTS);
        Form::new(FormKind::SegmentSize, "segment size", vec![choice])
    }

    pub(super) fn segment_setting(&self) -> Result<Setting, String> {
        let (text, most) = (self.text("at most"), SetupFile::MOST_SEGMENT);
        let size = text.parse().ok().filter(|n| (1..=most).contains(n));
        let wrong = || format!("expected a whole number from 1 to {most}, found `{text}`");
        size.map(Setting::SegmentSize).ok_or_else(wrong)
    }
}

const REPLACED: &str = "Lies in layouts/ of the configuration; one of the same name is replaced.";
/// A longer name has no room in a header.
const MOST: usize = 32;

impl Form {
    /// Asks what the layout that is shown is to be called.
    pub fn layout(now: &str) -> Self {
        let name = match PanelLayout::is_built_in(now) {
            true => format!("my-{now}"),
            false => now.to_owned(),
        };
        let help = "the panels that are shown, and their sizes";
        let choice =
            FormChoice::new("layout", help, vec![FormField::free("name", name)]).noting(REPLACED);
        Form::new(FormKind::Layout, "save layout", vec![choice])
    }

    pub(super) fn layout_name(&self) -> Result<String, String> {
        let name = self.text("name").trim();
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.len() > MOST || !name.chars().all(plain) {
            let found = format!("found `{name}`");
            return Err(format!(
                "name: expected a-z, 0-9 and -, at most {MOST}, {found}"
            ));
        }
        match PanelLayout::is_built_in(name) {
            true => Err(format!("name: `{name}` is built in; expected another")),
            false => Ok(name.to_owned()),
        }
    }
}
