//! Messages to an operator who does not look at the screen: the terminal's bell, its notification
//! and a command of the user.

use std::io::Write;
use std::process::{Child, Command, Stdio};

use crate::config::Config;

/// The maximum number of characters of a notification.
const MOST: usize = 200;

/// The command of the user, while it runs.
#[derive(Default)]
pub(super) struct Notifier {
    running: Option<Child>,
}

impl Notifier {
    /// Tells the operator that an incident began. The terminal gets the bell and the notification
    /// only if this program may use it. Errors cannot be reported.
    pub(super) fn tell(&mut self, text: &str, config: &Config, terminal: Option<&mut dyn Write>) {
        let text = plain(text);
        if let Some(terminal) = terminal {
            let _ = terminal.write_all(signals(&text, config).as_bytes());
            let _ = terminal.flush();
        }
        self.run(&text, &config.incident_command);
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

/// Returns the bell and the notification (OSC 9).
fn signals(text: &str, config: &Config) -> String {
    let bell = if config.bell { "\u{7}" } else { "" };
    let notification = match config.notification {
        true => format!("\u{1b}]9;divisi: {text}\u{1b}\\"),
        false => String::new(),
    };
    format!("{notification}{bell}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_contains_no_control_characters_of_its_text() {
        let config = Config::default();
        let sent = signals(&plain("a\u{1b}]0;b\u{7}c\nd"), &config);
        assert_eq!(sent, "\u{1b}]9;divisi: a]0;bcd\u{1b}\\\u{7}");
    }

    #[test]
    fn nothing_is_sent_if_both_are_off() {
        let config = Config {
            bell: false,
            notification: false,
            ..Config::default()
        };
        assert_eq!(signals("a", &config), "");
    }

    #[test]
    fn the_command_gets_the_text_and_runs_once_at_a_time() {
        let mut notifier = Notifier::default();
        let folder = std::env::temp_dir().join(format!("divisi-notify-{}", std::process::id()));
        let file = folder.display();
        let command = format!("printf %s \"$DIVISI_INCIDENT\" > '{file}'");
        notifier.run("a device is lost", &command);
        let mut child = notifier.running.take().expect("it runs");
        assert!(child.wait().expect("it ends").success());
        let written = std::fs::read_to_string(&folder).expect("it wrote");
        let _ = std::fs::remove_file(&folder);
        assert_eq!(written, "a device is lost");
    }
}
