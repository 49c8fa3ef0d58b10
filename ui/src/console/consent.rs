//! Whether a key may answer a question: it is another one than the key that asked, and
//! it was pressed once the question was there to be read.

use crate::commands::Key;

/// How the dialog on top came there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Consent {
    /// The key that was pressed last.
    last: Option<Key>,
    /// The key that opened the dialog, until another is pressed.
    opener: Option<Key>,
    /// The dialog has been on the screen.
    seen: bool,
}

impl Consent {
    /// A key was pressed.
    pub fn press(&mut self, key: Key) {
        self.last = Some(key);
        self.opener = self.opener.filter(|opener| *opener == key);
    }

    /// Another dialog is on top now, by the key that was pressed last.
    pub fn ask(&mut self) {
        self.opener = self.last;
        self.seen = false;
    }

    /// All that is there was drawn.
    pub fn see(&mut self) {
        self.seen = true;
    }

    /// Why the key that was pressed last is no answer; `None` if it is one.
    pub fn refusal(&self) -> Option<String> {
        if !self.seen {
            return Some("that key came before the question did: read it, then press".into());
        }
        let opener = self.opener?.label();
        Some(format!(
            "{opener} opened this and does not answer it: press another key first"
        ))
    }
}
