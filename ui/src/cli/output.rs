//! The output of commands: parts of reports on standard output, files, and progress on standard
//! error.

use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use divisi_engine::serving::Flaws;
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
    /// Memory available to serving, in bytes.
    pub memory_bytes: u64,
    /// The properties of the GPU, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<Arc<GpuInfo>>,
    /// A remark on the profile of a simulated device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remark: Option<&'static str>,
}

/// Returns the rows of all devices.
pub(crate) fn device_rows(devices: &Devices) -> Vec<DeviceRow> {
    let rows = devices.enumerate().map(|(i, device)| DeviceRow {
        name: device.name.clone(),
        kind: device.kind.name(),
        memory_bytes: devices.memory_bytes(i),
        gpu: device.kind.gpu().cloned(),
        remark: device.kind.profile().and_then(|p| p.remark()),
    });
    rows.collect()
}

/// Whether the command line forbids notes and progress.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Drops notes and progress from now on, if `quiet`.
pub(crate) fn be_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Writes a note on standard error, unless the command is quiet.
pub(crate) fn note(text: &str) {
    if !is_quiet() {
        // A note that cannot be written is no reason to fail.
        let _ = writeln!(io::stderr(), "{text}");
    }
}

/// Writes a text and a newline to standard output.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", text.trim_end())?;
    Ok(out.flush()?)
}

/// A member with flawed answers, and the number of affected samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FlawedMember {
    pub member: String,
    #[serde(flatten)]
    pub flaws: Flaws,
}

impl FlawedMember {
    /// Returns the members with flaws; `flaws` is in the order of `names`.
    pub(crate) fn from_flaws(names: &[String], flaws: &[Flaws]) -> Vec<Self> {
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

/// Returns a line for each member, each preceded by a newline.
pub(crate) fn flawed_lines(flawed: &[FlawedMember]) -> String {
    flawed.iter().map(|f| format!("\n{}", f.words())).collect()
}

/// Fails if any member is flawed, since the reported figures are unreliable then.
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

/// Returns the number of truncated texts in words, or `None` if no text was truncated.
pub(crate) fn cut_line(samples: &Samples) -> Option<String> {
    let (cut, all) = (samples.cut_texts(), samples.len());
    (cut > 0).then(|| format!("{cut} of {all} texts were truncated to the length of a sample"))
}

/// A file to write, checked before the work that produces its contents.
pub(crate) struct OutputFile {
    path: PathBuf,
    way: WritingWay,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WritingWay {
    /// Replaced as a whole.
    Replaced,
    /// A device or a pipe is written to in place.
    InPlace,
    /// Standard output.
    Standard,
}

impl OutputFile {
    /// Checks that `path` can be written, as far as that can be known. `-` is standard output.
    ///
    /// # Errors
    /// It is a folder, its folder does not exist, or it exists and is not to be replaced.
    pub(crate) fn new(path: &Path, replaces: bool) -> Result<Self> {
        let as_named = |way| OutputFile {
            path: path.to_owned(),
            way,
        };
        if path == Path::new("-") {
            return Ok(as_named(WritingWay::Standard));
        }
        let Ok(found) = fs::metadata(path) else {
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
            if !folder.is_none_or(Path::is_dir) {
                bail!("{}: the folder does not exist", path.display());
            }
            return Ok(as_named(WritingWay::Replaced));
        };
        if found.is_dir() {
            bail!("{}: expected a file, found a folder", path.display());
        }
        if !found.is_file() {
            return Ok(as_named(WritingWay::InPlace));
        }
        if !replaces {
            bail!("{}: exists; --force replaces it", path.display());
        }
        Ok(OutputFile {
            // The target of a link is replaced, not the link.
            path: fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()),
            way: WritingWay::Replaced,
        })
    }

    /// Returns whether this is, or will be, an ordinary file.
    pub(crate) fn is_file(&self) -> bool {
        self.way == WritingWay::Replaced
    }

    /// Returns whether this is standard output.
    pub(crate) fn is_standard(&self) -> bool {
        self.way == WritingWay::Standard
    }

    /// Writes `text` next to the file, to be put in its place. Returns `None` for a file that is
    /// written in place.
    pub(crate) fn prepare(&self, text: &str) -> Result<Option<PreparedFile>> {
        let prepared = self
            .is_file()
            .then(|| PreparedFile::new(&self.path, text.as_bytes()));
        let prepared = prepared.transpose();
        prepared.with_context(|| format!("writing {}", self.path.display()))
    }

    /// Writes `text`: to a new file, which is then renamed, so that no reader finds half of it.
    pub(crate) fn write(&self, text: &str) -> Result<()> {
        self.write_bytes(text.as_bytes())
    }

    /// Writes `bytes` like [`OutputFile::write`].
    pub(crate) fn write_bytes(&self, bytes: &[u8]) -> Result<()> {
        let written = match self.way {
            WritingWay::Replaced => replace_file(&self.path, bytes),
            WritingWay::Standard => io::stdout().lock().write_all(bytes),
            WritingWay::InPlace => {
                let file = OpenOptions::new().write(true).open(&self.path);
                file.and_then(|mut f| f.write_all(bytes))
            }
        };
        written.with_context(|| format!("writing {}", self.path.display()))
    }
}

/// Returns an estimate of the time that is left, to follow other words, or nothing before any of `all`
/// parts is done. Parts are taken to be alike.
pub(crate) fn time_left(elapsed: Duration, done: usize, all: usize) -> String {
    if done == 0 || done > all {
        return String::new();
    }
    let left = elapsed.mul_f64((all - done) as f64 / done as f64);
    format!(", about {:.0} s left", left.as_secs_f64().ceil())
}

/// A line of progress on standard error for work of more than two seconds. It is rewritten in place
/// on a terminal, else repeated now and then.
pub(crate) struct ProgressLine {
    started: Instant,
    said: Option<Instant>,
    terminal: bool,
}

/// Work of less than this shows no progress.
const SHORT: Duration = Duration::from_secs(2);
/// The interval between two checks of watched work.
const LOOK: Duration = Duration::from_millis(20);

impl ProgressLine {
    pub(crate) fn new() -> Self {
        ProgressLine {
            started: Instant::now(),
            said: None,
            terminal: io::stderr().is_terminal(),
        }
    }

    /// Runs `work` in its own thread and shows the progress that `far` returns. Returns `None` if
    /// the work panicked.
    pub(crate) fn watch<T: Send>(
        work: impl FnOnce() -> T + Send,
        far: impl Fn(Duration) -> String,
    ) -> Option<T> {
        let mut progress = ProgressLine::new();
        thread::scope(|scope| {
            let working = scope.spawn(work);
            while !working.is_finished() {
                thread::park_timeout(LOOK);
                let elapsed = progress.started.elapsed();
                progress.say(|| far(elapsed));
            }
            working.join().ok()
        })
    }

    /// Shows `text` if enough time has passed since the last line.
    pub(crate) fn say(&mut self, text: impl FnOnce() -> String) {
        let pause = Duration::from_millis(if self.terminal { 200 } else { 5000 });
        let early = is_quiet() || self.started.elapsed() < SHORT;
        if early || self.said.is_some_and(|at| at.elapsed() < pause) {
            return;
        }
        self.said = Some(Instant::now());
        let text = text();
        // A failure to show progress is not an error.
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
