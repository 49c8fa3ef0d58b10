//! The page `RESULTS.md`: what was compared, how, when and where.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use divisi_runtime::device::simulated::{OriginKind, built_in_profiles, find_profile};

use super::machine::ESTIMATE;

const HEAD: &str = "# The papers' tables on simulated devices

`cargo bench --bench papers` prints this page; `-- --write` writes it. Our figures are **virtual time**:
the speed of serving if devices followed the laws of their profiles. The papers' figures are
measured on real devices. The comparison judges the laws; it does not compare systems.

- *fitted*: a number of a profile was chosen to reproduce this cell.
- *seen*: a cell of the half of Table I (IMN1 and IMN4) from which the law was chosen; no
  number was fitted to this cell.
- *judged*: a cell of the other half (IMN12); no number was fitted to it. The form of the
  memory estimate, the CPU's bandwidth and the size of the images were chosen with these cells
  in view.
- *made up*: FOS14 and CIF36, whose networks the paper does not name. Our networks follow its
  description, so these cells have little meaning.
- *A2, ours* is the paper's algorithm 2 without changes: the best of 100 neighbours, as long as it
  is strictly better; the median of three searches, as in the paper. *With ties broken* is
  `divisi allocate --algorithm greedy`: among equal neighbours it takes the one that is faster in
  the long run. `divisi allocate` alone searches by moves of one and two entries, uses only the
  memory of the profiles as its estimate, and finds a matrix whenever one exists.

";

/// The causes of deviations: written by hand, for the figures of that day.
pub const CAUSES: &str = include_str!("CAUSES.md");

/// Returns the page's words on what profiles rest on.
pub fn provenance() -> String {
    let mut text = String::from(HEAD);
    let _ = writeln!(text, "Run on {}, on {}.\n", machine(), date());
    text += "## Fitted, published and assumed numbers\n\n| profile | number | value | origin | reference or reason |\n|---|---|---|---|---|\n";
    for name in built_in_profiles() {
        let profile = find_profile(name).expect("built in");
        // The papers did not use these devices.
        if profile.remark().is_some() {
            continue;
        }
        for origin in &profile.origins {
            let from = match origin.from {
                OriginKind::Fitted => "**fitted**",
                other => other.name(),
            };
            let _ = writeln!(
                text,
                "| {name} | {} | {} | {from} | {} |",
                origin.field, origin.value, origin.note
            );
        }
    }
    let _ = writeln!(
        text,
        "| (the paper's algorithm 1) | estimate of memory | {ESTIMATE} × (weights + activations of a batch) | **fitted** | that IMN4 runs out of memory on 1 GPU, leaves a network to the CPU on 2 and none on 3 |\n\
         | (the paper's algorithm 1) | the CPU's memory | a GPU's | assumed | not in the paper; between 0.39 and 1.2 of a GPU's, IMN4 is as in the paper |"
    );
    text
}

/// Writes the page.
///
/// # Errors
/// The file cannot be written.
pub fn write(text: &str) -> io::Result<()> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    fs::write(folder.join("../../benches/papers/RESULTS.md"), text)
}

fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let models = info.lines().filter(|l| l.starts_with("model name"));
    let model = models.filter_map(|l| l.split(": ").nth(1)).next();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{cores} cores of {}", model.unwrap_or("a processor"))
}

fn date() -> String {
    let output = Command::new("date").arg("+%F").output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned());
    text.unwrap_or_else(|_| "an unknown day".into())
}
