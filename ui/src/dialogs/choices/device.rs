//! One device: samples alive at most, and how slow it is.

use std::num::NonZeroU32;

use divisi::session::{Command, DeviceView, Slowdown};

use super::{Form, FormChoice, FormField, FormKind};

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
