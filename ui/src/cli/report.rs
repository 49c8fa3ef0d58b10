//! What several commands report the same way.

use std::io::{self, Write};
use std::sync::Arc;

use anyhow::Result;
use divisi::allocation::Matrix;
use divisi::device::Devices;
use divisi::device::gpu::GpuInfo;
use serde::Serialize;

/// A device in a report.
#[derive(Debug, Serialize)]
pub struct DeviceRow {
    pub name: String,
    pub kind: &'static str,
    /// Bytes that serving may book.
    pub memory_bytes: u64,
    /// What it is, where it is a GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<Arc<GpuInfo>>,
}

/// All devices of a run.
pub fn device_rows(devices: &Devices) -> Vec<DeviceRow> {
    let rows = devices.iter().enumerate().map(|(i, device)| DeviceRow {
        name: device.name.clone(),
        kind: device.kind.name(),
        memory_bytes: devices.memory_bytes(i),
        gpu: device.kind.gpu().cloned(),
    });
    rows.collect()
}

/// Writes a report as JSON to standard output.
pub fn print_json(report: &impl Serialize) -> Result<()> {
    print(&serde_json::to_string_pretty(report)?)
}

/// Writes a text and a line end to standard output.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", text.trim_end())?;
    Ok(out.flush()?)
}

/// A matrix as a table.
pub fn matrix_table(matrix: &Matrix) -> String {
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
