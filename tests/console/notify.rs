//! Messages about an incident to an operator who does not look at the screen.

use divisi_console::config::Config;
use divisi_console::console::notify::{Notifier, signals};

use crate::folder::Folder;
use crate::wait::wait_until;

#[test]
fn a_notification_contains_no_control_characters_of_its_text() {
    let sent = signals("a\u{1b}]0;b\u{7}c\nd", &Config::default());
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
fn the_command_gets_the_text() {
    let folder = Folder::new();
    let file = folder.path().join("told");
    let partial = folder.path().join("partial");
    let config = Config {
        incident_command: format!(
            "printf %s \"$DIVISI_INCIDENT\" > '{}' && mv '{}' '{}'",
            partial.display(),
            partial.display(),
            file.display()
        ),
        ..Config::default()
    };
    Notifier::default().tell("cpu:0 is lost", &config, None);
    wait_until("it wrote", || file.exists());
    let written = std::fs::read_to_string(&file).expect("a text");
    assert_eq!(written, "cpu:0 is lost");
}
