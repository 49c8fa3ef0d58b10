//! A page confirms what its user has seen, and a paste confirms nothing.

use divisi_session::Command;
use serde_json::json;

use super::page::BrowserPage;
use super::{Served, served};

/// A page of a server whose first device can be lost on request.
fn page_of(served: &Served) -> BrowserPage {
    {
        let mut shown = served.desk.shown.lock().expect("no panic");
        for device in &mut shown.devices {
            device.kind = "simulated".into();
            device.faults_on_demand = true;
        }
    }
    let mut page = BrowserPage::join(served.address, None, (120, 40));
    page.paint();
    page
}

fn sent(served: &Served) -> Vec<Command> {
    served.desk.sent.lock().expect("no panic").clone()
}

const QUESTION: &str = "Simulate the loss of";

#[test]
fn a_question_is_answered_once_the_page_has_painted_it() {
    let served = served();
    let mut page = page_of(&served);
    page.press("D");
    while !page.text().contains(QUESTION) {
        page.next_of("frame");
    }
    page.press("y");
    while !page.text().contains("before the question appeared") {
        page.next_of("frame");
    }
    assert!(sent(&served).is_empty(), "nothing was confirmed unseen");
    page.confirm();
    page.press("y");
    crate::wait::wait_until("the command", || !sent(&served).is_empty());
    assert!(matches!(sent(&served)[..], [Command::LoseDevice(_)]));
}

#[test]
fn a_paste_answers_no_question() {
    let served = served();
    let mut page = page_of(&served);
    page.press("D");
    page.paint_until(QUESTION);
    page.send(&json!({"type": "paste", "text": "y\ny"}));
    page.paint_until("pasted text is ignored here");
    assert!(sent(&served).is_empty());
}

#[test]
fn a_paste_into_a_field_is_inserted() {
    let served = served();
    let mut page = page_of(&served);
    page.press(":");
    page.send(&json!({"type": "paste", "text": "latency\nlater"}));
    page.paint_until("latency later");
}

#[test]
fn a_page_has_no_access_to_files_of_the_server() {
    let served = served();
    let mut page = page_of(&served);
    page.press("r");
    page.paint_until("not available in a browser");
    assert!(sent(&served).is_empty(), "no recording was started");
}

#[test]
fn quitting_closes_the_page_and_leaves_the_server() {
    let served = served();
    {
        let mut shown = served.desk.shown.lock().expect("no panic");
        shown.audience.attached = true;
    }
    let mut page = page_of(&served);
    page.press("q");
    page.next_of("bye");
    assert!(page.next().is_none(), "the connection is closed");
    let mut other = page_of(&served);
    other.press("?");
    other.paint();
}
