//! Messages to an operator who does not look at the screen: the terminal's bell, its notification
//! and a command of the user.

use std::io::Write;
use std::process::{Child, Command, Stdio};

use crate::config::Config;

/// The maximum number of characters of a notification.
const MOST: usize = 200;

/// The command of the user, while it runs.
#[derive(Default)]
pub struct Notifier {
    running: Option<Child>,
}

impl Notifier {
    /// Tells the operator that an incident began. The terminal gets the bell and the notification
    /// only if this program may use it. Errors cannot be reported.
    pub fn tell(&mut self, text: &str, config: &Config, terminal: Option<&mut dyn Write>) {
        if let Some(terminal) = terminal {
            let _ = terminal.write_all(signals(text, config).as_bytes());
            let _ = terminal.flush();
        }
        self.run(&plain(text), &config.incident_command);
    }

    /// Runs the command, unless the previous one still runs.
    fn run(&mut self, text: &str, command: &str) {
        let still_runs = |child: &mut Child| matches!(child.try_wait(), Ok(None));
        if command.is_empty() || self.running.as_mut().is_some_and(still_runs) {
            return;
        }
        let started = Command::new("sh")
            .args(["-c", command])
            .env("DIVISI_INCIDENT", text)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.running = started.ok();
    }
}

/// Returns the text without control characters, which a terminal would interpret.
fn plain(text: &str) -> String {
    let plain = text.chars().filter(|sign| !sign.is_control());
    plain.take(MOST).collect()
}

/// Returns the bell and the notification (OSC 9) for a text, as far as they are configured.
pub fn signals(text: &str, config: &Config) -> String {
    let text = plain(text);
    let bell = if config.bell { "\u{7}" } else { "" };
    let notification = match config.notification {
        true => format!("\u{1b}]9;divisi: {text}\u{1b}\\"),
        false => String::new(),
    };
    format!("{notification}{bell}")
}
