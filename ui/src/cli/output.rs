//! The output of commands: parts of reports on standard output, files, progress on standard error.

use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use divisi_engine::serving::Flaws;
use divisi_model::allocation::Matrix;
use divisi_model::ensemble::Samples;
use divisi_model::replace::{PreparedFile, replace_file};
use divisi_runtime::device::Devices;
use divisi_runtime::device::gpu::GpuInfo;
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
    let rows = devices.enumerate().map(|(i, device)| DeviceRow {
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

/// Returns rows as a table of columns that begin below each other.
pub(crate) fn columns<R: AsRef<[String]>>(rows: &[R]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.as_ref().get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let most = rows.iter().map(|row| row.as_ref().len()).max();
    let widths: Vec<usize> = (0..most.unwrap_or(0)).map(width).collect();
    let lines = rows.iter().map(|row| {
        let cells = row.as_ref().iter().zip(&widths);
        let cells = cells.map(|(cell, width)| format!("{cell:width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        format!("{}\n", line.trim_end())
    });
    lines.collect()
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

/// Returns how many texts lost their end, if any did.
pub(crate) fn cut_line(samples: &Samples) -> Option<String> {
    let (cut, all) = (samples.cut_texts(), samples.len());
    (cut > 0).then(|| format!("{cut} of {all} texts are longer than a sample: their ends were cut"))
}

/// A file to write, checked before the work that makes its contents.
pub(crate) struct OutputFile {
    path: PathBuf,
    /// The file is replaced as a whole. A device or a pipe is written to in place.
    replaced: bool,
}

impl OutputFile {
    /// Checks that `path` can be written, as far as that can be known.
    pub(crate) fn at(path: &Path) -> Result<Self> {
        let Ok(found) = fs::metadata(path) else {
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
            if !folder.is_none_or(Path::is_dir) {
                bail!("{}: its folder does not exist", path.display());
            }
            return Ok(OutputFile {
                path: path.to_owned(),
                replaced: true,
            });
        };
        if found.is_dir() {
            bail!("{}: expected a file, found a folder", path.display());
        }
        Ok(OutputFile {
            // What a link points to is written, not the link.
            path: fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()),
            replaced: found.is_file(),
        })
    }

    /// Returns whether this is, or will be, an ordinary file.
    pub(crate) fn is_file(&self) -> bool {
        self.replaced
    }

    /// Writes `text` beside the file, to be put in its place; none where it is written to in place.
    pub(crate) fn prepare(&self, text: &str) -> Result<Option<PreparedFile>> {
        let prepared = self
            .replaced
            .then(|| PreparedFile::new(&self.path, text.as_bytes()));
        let prepared = prepared.transpose();
        prepared.with_context(|| format!("writing {}", self.path.display()))
    }

    /// Writes `text`: to a file beside the final one, which is then renamed, so that no reader
    /// finds half of it.
    pub(crate) fn write(&self, text: &str) -> Result<()> {
        self.write_bytes(text.as_bytes())
    }

    /// Writes `bytes`, as [`OutputFile::write`] does.
    pub(crate) fn write_bytes(&self, bytes: &[u8]) -> Result<()> {
        let written = if self.replaced {
            replace_file(&self.path, bytes)
        } else {
            let file = OpenOptions::new().write(true).open(&self.path);
            file.and_then(|mut f| f.write_all(bytes))
        };
        written.with_context(|| format!("writing {}", self.path.display()))
    }
}

/// A line of progress on standard error, for work that takes longer than two seconds:
/// rewritten in place on a terminal, else repeated now and then.
pub(crate) struct ProgressLine {
    started: Instant,
    said: Option<Instant>,
    terminal: bool,
}

const QUIET: Duration = Duration::from_secs(2);
/// Time between two checks whether watched work is done.
const LOOK: Duration = Duration::from_millis(20);

impl ProgressLine {
    pub(crate) fn new() -> Self {
        ProgressLine {
            started: Instant::now(),
            said: None,
            terminal: io::stderr().is_terminal(),
        }
    }

    /// Runs `work` in its own thread and shows how `far` it is. Returns `None` if it panicked.
    pub(crate) fn watch<T: Send>(
        work: impl FnOnce() -> T + Send,
        far: impl Fn() -> String,
    ) -> Option<T> {
        let mut progress = ProgressLine::new();
        thread::scope(|scope| {
            let working = scope.spawn(work);
            while !working.is_finished() {
                thread::park_timeout(LOOK);
                progress.say(&far);
            }
            working.join().ok()
        })
    }

    /// Shows `text` if enough time has passed.
    pub(crate) fn say(&mut self, text: impl FnOnce() -> String) {
        let pause = Duration::from_millis(if self.terminal { 200 } else { 5000 });
        let early = self.started.elapsed() < QUIET;
        if early || self.said.is_some_and(|at| at.elapsed() < pause) {
            return;
        }
        self.said = Some(Instant::now());
        let text = text();
        // Progress that cannot be shown is no reason to fail.
        let _ = if self.terminal {
            write!(io::stderr(), "\r{text:<78}")
        } else {
            writeln!(io::stderr(), "{text}")
        };
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.terminal && self.said.is_some() {
            let _ = write!(io::stderr(), "\r{:78}\r", "");
        }
    }
}
