//! The page `RESULTS.md`: what was compared, how, when and where.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use divisi_runtime::device::simulated::{OriginKind, built_in_profiles, find_profile};

use super::machine::ESTIMATE;

const HEAD: &str = "# The papers' tables on simulated devices

What `cargo bench --bench papers` prints (`-- --write` puts it here). All figures of ours are of **virtual
time**: what serving would take if devices followed their profiles' laws. All figures of
the papers are measured on real devices. They stand side by side to judge the laws, and
not to compare systems.

- *fitted*: a number of a profile was chosen so that this cell comes out.
- *seen*: of the half of Table I (IMN1 and IMN4) that the law was chosen by; no number was
  set to this cell.
- *judged*: of the other half (IMN12); no number was set to it. The form of the estimate
  of memory, the CPU's bandwidth and the size of the images were chosen with it in sight.
- *made up*: FOS14 and CIF36, whose networks the paper does not name. Ours are made after
  its description, so that these cells say little.
- *A2, ours* is the paper's algorithm 2 and nothing else: the best of 100 neighbours, while it
  is strictly better; the median of three searches, as in the paper. *With ties broken*
  is `divisi allocate --algorithm greedy`: of equal neighbours the one that is faster in the
  long run. `divisi allocate` alone searches by moves of one and two entries, knows no
  estimate but the profiles' memory, and finds a matrix wherever there is one.

";

/// Why cells miss: written by a person, for the figures of its day.
pub const CAUSES: &str = include_str!("CAUSES.md");

/// Returns the page's words on what profiles rest on.
pub fn provenance() -> String {
    let mut text = String::from(HEAD);
    let _ = writeln!(text, "Run on {}, on {}.\n", machine(), date());
    text += "## What is fitted, published and assumed\n\n| profile | number | value | | to what, or why |\n|---|---|---|---|---|\n";
    for name in built_in_profiles().into_iter().filter(|n| *n != "h200") {
        let profile = find_profile(name).expect("built in");
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
         | (the paper's algorithm 1) | the CPU's memory | a GPU's | assumed | the paper does not say; between 0.39 and 1.2 of a GPU's, IMN4 is as it was there |"
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
