//! Pasted text is never taken for keys.

use crossterm::event::KeyCode;

use crate::fake::Bench;
use crate::terminal::serving;

const NOTICE: &str = "pasted text is ignored here";

/// Keys that would do something, as text of others might have them.
const HOSTILE: &str = "quick xylophones, by ?:e+ay\nqs\u{3}\u{1b}[A\r\n";

#[test]
fn where_nothing_is_typed_it_is_ignored_with_a_word() {
    for keys in ["", "e", "q", "u", "Y", "H", "s", "V"] {
        let mut bench = Bench::new(120, 40);
        bench.show(|s| s.can_undo = true);
        bench.keys(keys);
        let before = format!("{:?}", bench.console.dialogs());
        assert!(bench.paste(HOSTILE).is_empty(), "{keys}");
        assert!(bench.sent().is_empty(), "{keys}");
        assert!(bench.text().contains(NOTICE), "{keys}: {}", bench.text());
        assert_eq!(format!("{:?}", bench.console.dialogs()), before);
    }
}

/// The key that opens a field, the text that is pasted, and what the field shows then.
const FIELDS: [(&str, &str, &str); 7] = [
    ("?", "freeze", "search freeze"),
    (":", "free\nze", ": free ze"),
    ("3/", "cpu:0\n", "cpu:0"),
    ("O", "/tmp/a.toml\r\n", "/tmp/a.toml"),
    ("N", "64", "64"),
    (":save layout\n", "mi\u{1b}ne\n", "mine"),
    ("Vj", "2.5", "2.5"),
];

#[test]
fn a_field_takes_it_as_one_line() {
    for (keys, pasted, shown) in FIELDS {
        let mut bench = Bench::new(120, 40);
        for c in keys.chars() {
            match c {
                '\n' => bench.press(KeyCode::Enter),
                c => bench.press(KeyCode::Char(c)),
            };
        }
        assert!(bench.paste(pasted).is_empty(), "{keys}");
        let text = bench.text();
        assert!(
            text.contains(shown) && !text.contains(NOTICE),
            "{keys}: {text}"
        );
    }
}

#[test]
fn a_number_is_not_made_of_words() {
    let mut bench = Bench::new(120, 40);
    bench.keys("N");
    let before = bench.text();
    bench.paste("all of them");
    assert!(bench.text().contains(NOTICE));
    bench.press(KeyCode::F(5));
    assert_eq!(bench.text(), before);
}

#[test]
fn a_paste_leaves_a_service_running() {
    let mut terminal = serving(100, 30);
    terminal.send(&format!("\u{1b}[200~{HOSTILE}{HOSTILE}\u{1b}[201~"));
    terminal.shows(NOTICE);
    terminal.send("?");
    terminal.shows("type to search");
    terminal.send("\u{1b}[200~freeze\u{1b}[201~");
    terminal.shows("search freeze");
    terminal.send("\u{1b}");
    terminal.hides("search freeze");
    terminal.leave();
}

/// Terminals that do not mark what is pasted send it as keys, all at once.
#[test]
fn a_paste_without_marks_is_text_as_well() {
    let mut terminal = serving(100, 30);
    terminal.send("quit this session? yes\rqs qy qs\r");
    terminal.shows(NOTICE);
    terminal.send("?");
    terminal.shows("type to search");
    terminal.send("freeze the streams");
    terminal.shows("search freeze the streams");
    terminal.send("\u{1b}");
    terminal.hides("search freeze");
    terminal.leave();
}

#[test]
fn a_few_keys_at_once_do_not_answer_what_they_ask() {
    let mut terminal = serving(100, 30);
    terminal.send("qs");
    terminal.shows("key pressed before the question appeared");
    terminal.send("\u{1b}");
    terminal.hides("s stop");
    terminal.leave();
}

#[test]
fn marks_are_asked_for_and_unasked_on_every_way_out() {
    let (on, off) = ("\u{1b}[?2004h", "\u{1b}[?2004l");
    let mut terminal = crate::terminal::Terminal::start(80, 24, &["--load", "none"]);
    let begun = terminal.until("serving");
    assert!(begun.contains(on));
    terminal.send("\u{1a}");
    terminal.until(off);
    terminal.proceeds(on);
    terminal.leave();
}
