//! Who may change things is said as it is: on the screen, in the footer, in lines.

use std::time::Duration;

use divisi_console::commands::BINDINGS;
use divisi_console::linear::Watcher;
use divisi_session::{Audience, Health};

use crate::fake::{Bench, PLAIN, snapshot};
use crate::rich::{on_probation, recorded};

fn attached(editor: Option<&str>, you_edit: bool) -> Audience {
    Audience {
        viewers: 2,
        editor: editor.map(str::to_owned),
        you_edit,
        attached: true,
        ..Audience::default()
    }
}

#[test]
fn the_header_names_who_edits() {
    for (audience, said) in [
        (
            attached(None, false),
            "attached · 2 viewers · no editor, E edits",
        ),
        (
            attached(None, true),
            "attached · 2 viewers · no editor, E edits",
        ),
        (
            attached(Some("ada@pts/4"), false),
            "attached · 2 viewers · ada@pts/4 edits",
        ),
        (
            attached(Some("me@pts/1"), true),
            "attached · 2 viewers · you edit",
        ),
    ] {
        let mut bench = Bench::new(120, 40);
        bench.show(|s| s.audience = audience);
        assert!(bench.text().contains(said), "{said}: {}", bench.text());
    }
}

#[test]
fn while_another_edits_no_command_that_changes_anything_is_offered() {
    let mut bench = Bench::new(120, 40);
    bench.show(|s| s.audience = attached(Some("ada@pts/4"), false));
    for entry in BINDINGS.iter().filter(|b| b.command.changes) {
        let refusal = bench.console.model().check(entry);
        let refusal = refusal.expect_err(entry.name()).to_string();
        let said = format!("cannot {} while ada@pts/4 is editing", entry.title);
        assert_eq!(refusal, said);
    }
    bench.keys("l");
    assert!(
        bench
            .text()
            .contains("cannot change the load while ada@pts/4 is editing")
    );
    assert!(bench.sent().is_empty());
    bench.show(|s| s.audience = attached(None, false));
    bench.keys("l");
    assert_eq!(bench.console.dialogs().len(), 1, "whoever asks first edits");
}

#[test]
fn lines_say_who_edits() {
    let mut watcher = Watcher::new(Duration::from_secs(3600));
    let mut shown = snapshot();
    shown.audience = attached(None, false);
    watcher.news(&shown);
    shown.audience = attached(Some("me@pts/1"), true);
    assert!(watcher.news(&shown)[0].ends_with("you are editing now"));
    shown.audience = attached(Some("ada@pts/4"), false);
    assert!(watcher.news(&shown)[0].ends_with("ada@pts/4 is editing now"));
}

#[test]
fn who_may_edit_is_said_on_a_small_screen_whatever_goes_on() {
    let mut bench = Bench::with(80, 24, true, PLAIN);
    bench.show(on_probation);
    bench.show(recorded);
    let text = bench.text();
    let second = text.lines().nth(1).expect("a header");
    let said = "read-only  attached · 3 viewers · ada@pts/4 edits";
    assert!(second.contains(said), "{second}");
    bench.show(|s| s.audience = attached(None, false));
    let text = bench.text();
    let second = text.lines().nth(1).expect("a header");
    assert!(second.contains("no editor"), "{second}");
    assert!(!second.contains("E edits"), "it may not: {second}");
}

#[test]
fn a_read_only_viewer_is_not_told_how_to_change_things() {
    let mut bench = Bench::with(120, 40, true, PLAIN);
    bench.show(|s| s.search = Some(crate::fake::search()));
    bench.keys("2");
    let text = bench.text();
    for offered in ["e edit", "u undo", "b take the best", "s search"] {
        assert!(!text.contains(offered), "{offered}:\n{text}");
    }
    assert!(text.contains("f freeze"), "{text}");
}

#[test]
fn a_lost_server_offers_no_changes_and_shows_no_rate() {
    let mut bench = Bench::new(160, 50);
    bench.show(|s| {
        s.health = Health::Closed("the connection to the server was lost".to_owned());
        s.audience = Audience {
            lost: true,
            you_edit: false,
            ..attached(None, false)
        };
    });
    let text = bench.text();
    assert!(
        text.contains("attaches again when the server is back"),
        "{text}"
    );
    assert!(text.contains("the server is gone; latencies"), "{text}");
    assert!(
        !text.lines().next().is_some_and(|l| l.contains("samples/s")),
        "{text}"
    );
    bench.keys("e");
    assert!(!bench.text().contains("EDITING"));
    assert!(
        bench
            .text()
            .contains("cannot edit the allocation until it is back")
    );
}
