//! Parts of reports that several commands share.

use std::io::{self, Write};
use std::sync::Arc;

use anyhow::{Result, bail};
use divisi::allocation::Matrix;
use divisi::device::Devices;
use divisi::device::gpu::GpuInfo;
use divisi::serving::Flaws;
use serde::Serialize;

/// A device in a report.
#[derive(Debug, Serialize)]
pub(crate) struct DeviceRow {
    pub name: String,
    pub kind: &'static str,
    /// Bytes that serving may book.
    pub memory_bytes: u64,
    /// The properties of the GPU, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<Arc<GpuInfo>>,
}

/// Returns the rows of all devices.
pub(crate) fn device_rows(devices: &Devices) -> Vec<DeviceRow> {
    let rows = devices.iter().enumerate().map(|(i, device)| DeviceRow {
        name: device.name.clone(),
        kind: device.kind.name(),
        memory_bytes: devices.memory_bytes(i),
        gpu: device.kind.gpu().cloned(),
    });
    rows.collect()
}

/// Writes a report as JSON to standard output.
pub(crate) fn print_json(report: &impl Serialize) -> Result<()> {
    print(&serde_json::to_string_pretty(report)?)
}

/// Writes a text and a line end to standard output.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", text.trim_end())?;
    Ok(out.flush()?)
}

/// Returns a matrix as a table.
pub(crate) fn matrix_table(matrix: &Matrix) -> String {
    let frame = matrix.frame();
    let first = frame.devices.iter().map(|d| d.chars().count()).max();
    let first = first.unwrap_or(0);
    let widths: Vec<usize> = frame
        .members
        .iter()
        .map(|m| m.chars().count().max(4))
        .collect();
    let mut text = format!("{:first$}", "");
    for (member, &width) in frame.members.iter().zip(&widths) {
        text += &format!("  {member:>width$}");
    }
    for (device, row) in frame.devices.iter().zip(matrix.rows()) {
        text += &format!("\n{device:first$}");
        for (entry, &width) in row.iter().zip(&widths) {
            let entry = match entry {
                0 => "·".to_owned(),
                n => n.to_string(),
            };
            text += &format!("  {entry:>width$}");
        }
    }
    text
}

/// A member with flawed answers, and for how many samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FlawedMember {
    pub member: String,
    #[serde(flatten)]
    pub flaws: Flaws,
}

impl FlawedMember {
    /// Returns the members that have flaws; `flaws` is in the order of `names`.
    pub(crate) fn of(names: &[String], flaws: &[Flaws]) -> Vec<Self> {
        let all = names.iter().zip(flaws);
        let some = all.filter(|(_, flaws)| !flaws.is_none());
        some.map(|(member, flaws)| FlawedMember {
            member: member.clone(),
            flaws: *flaws,
        })
        .collect()
    }

    fn words(&self) -> String {
        format!("member `{}` answered {}", self.member, self.flaws.words())
    }
}

/// Returns a line for each member, each after a line end.
pub(crate) fn flawed_lines(flawed: &[FlawedMember]) -> String {
    flawed.iter().map(|f| format!("\n{}", f.words())).collect()
}

/// Fails if any member is flawed: the figures reported are then not to be trusted.
pub(crate) fn refuse_flawed(
    flawed: &[FlawedMember],
    unanswered: usize,
    samples: usize,
) -> Result<()> {
    if flawed.is_empty() {
        return Ok(());
    }
    let words: Vec<String> = flawed.iter().map(FlawedMember::words).collect();
    let words = words.join("; ");
    match unanswered {
        0 => bail!("{words}"),
        n => bail!("{words}; {n} of {samples} samples have no answer"),
    }
}
