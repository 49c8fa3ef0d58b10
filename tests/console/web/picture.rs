//! The picture of a page, and the frames that change it.

use divisi_console::console::{Colours, Console, ConsoleEvent, Options, TerminalLook};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use serde_json::{Value, json};

use crate::fake::FakeSession;

use super::page::BrowserPage;
use super::{Served, served};

const COLOURED: TerminalLook = TerminalLook {
    colours: Colours::True,
    ascii: false,
};

/// Returns the screen that a terminal shows of the same session.
fn on_a_terminal(served: &Served, width: u16, height: u16) -> String {
    let session = Box::new(FakeSession::at(served.desk.clone()));
    let options = Options {
        read_only: false,
        mouse: true,
        title: "divisi".into(),
        layouts: Vec::new(),
        demo: None,
    };
    let mut console = Console::new(session, &options, COLOURED);
    console.handle(ConsoleEvent::Resize(width, height));
    console.refresh();
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    console.draw(&mut buffer);
    let rows = buffer.content.chunks(usize::from(width));
    let line = |row: &[ratatui::buffer::Cell]| row.iter().map(|c| c.symbol()).collect::<String>();
    rows.map(|row| format!("{}\n", line(row).trim_end()))
        .collect()
}

#[test]
fn a_page_shows_the_screen_that_a_terminal_of_its_size_shows() {
    for size in [(120, 40), (40, 12)] {
        let served = served();
        let mut page = BrowserPage::join(served.address, None, size);
        let expected = on_a_terminal(&served, size.0, size.1);
        while page.text() != expected {
            page.paint();
        }
        assert_eq!(page.size, (size.0.into(), size.1.into()));
    }
}

#[test]
fn a_frame_after_the_first_has_only_changed_cells() {
    let served = served();
    let mut page = BrowserPage::join(served.address, None, (120, 40));
    let first = page.paint();
    assert_eq!(first["size"], json!([120, 40]));
    page.press("ArrowRight");
    let moved = page.paint();
    assert!(moved["size"].is_null(), "{moved}");
    let bytes = |frame: &Value| frame.to_string().len();
    assert!(bytes(&moved) * 4 < bytes(&first), "{moved}");
}

#[test]
fn every_style_of_a_frame_is_defined_before() {
    let served = served();
    let mut page = BrowserPage::join(served.address, None, (120, 40));
    let frame = page.paint();
    let defined = frame["styles"].as_array().expect("styles").len() as u64;
    let runs = frame["runs"].as_array().expect("runs");
    assert!(
        runs.iter()
            .all(|run| run[2].as_u64().expect("a style") < defined)
    );
    assert!(defined > 3, "{frame}");
}

#[test]
fn a_resized_page_gets_a_whole_picture() {
    let served = served();
    let mut page = BrowserPage::join(served.address, None, (80, 24));
    page.paint();
    page.send(&json!({"type": "resize", "size": [100, 30]}));
    while page.size != (100, 30) {
        page.paint();
    }
    assert_eq!(page.text(), on_a_terminal(&served, 100, 30));
}

#[test]
fn a_page_that_paints_nothing_skips_frames() {
    let served = served();
    let mut page = BrowserPage::join(served.address, None, (120, 40));
    page.next_of("frame");
    page.press(":");
    page.next_of("frame");
    // Two frames are on their way. The next pictures are drawn once one of them is painted.
    for key in ["a", "b", "c", "d", "e"] {
        page.press(key);
    }
    page.confirm();
    page.next_of("frame");
    assert_eq!(page.frame, 3, "no frame was queued");
    while !page.text().contains("abcde") {
        page.paint();
    }
}

#[test]
fn a_click_focuses_the_panel_under_it() {
    let served = served();
    let mut page = BrowserPage::join(served.address, None, (120, 40));
    page.paint_until(" log");
    let text = page.text();
    let row = text.lines().position(|line| line.contains(" log"));
    let row = row.expect("the panel's title");
    page.send(&json!({"type": "mouse", "kind": "down", "column": 118, "row": row}));
    // The title of the focused panel has another style.
    let is_there = |run: &Value| run[0] == json!(row);
    while !page.paint()["runs"]
        .as_array()
        .expect("runs")
        .iter()
        .any(is_there)
    {}
}

#[test]
fn news_are_sent_as_lines_for_screen_readers() {
    let served = served();
    let mut page = BrowserPage::join(served.address, None, (80, 24));
    let said = page.next_of("say");
    let lines = said["lines"].as_array().expect("lines");
    assert!(!lines.is_empty(), "{said}");
}
