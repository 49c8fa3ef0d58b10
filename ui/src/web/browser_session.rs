//! A session for a browser: commands that name a file of the server are refused, since a browser is
//! on another machine or belongs to another user.

use std::time::Duration;

use divisi_model::codes::Code;
use divisi_model::trace::Span;
use divisi_session::{
    Command, EditPreview, FigureHistory, LoadPattern, Refusal, Session, Setup, Snapshot, WhatIf,
    WhatIfReply,
};

/// Why a browser does not read or write files.
pub(super) const NO_FILES: &str =
    "not available in a browser: it would use a file of the server; use `divisi attach` there";

/// A session without commands on files.
pub(super) struct BrowserSession(pub Box<dyn Session>);

fn names_a_file(command: &Command) -> bool {
    matches!(
        command,
        Command::StartRecording(_) | Command::StartLoad(LoadPattern::Replay { .. })
    )
}

impl Session for BrowserSession {
    fn snapshot(&mut self) -> Snapshot {
        self.0.snapshot()
    }

    fn now(&mut self) -> Duration {
        self.0.now()
    }

    fn drain_spans(&mut self, into: &mut Vec<Span>) -> u64 {
        self.0.drain_spans(into)
    }

    fn history(&mut self) -> Result<FigureHistory, Refusal> {
        self.0.history()
    }

    fn command(&mut self, command: Command) -> Result<(), Refusal> {
        match names_a_file(&command) {
            true => Err(Refusal::new(Code::ReadOnly, NO_FILES)),
            false => self.0.command(command),
        }
    }

    fn preview(&mut self, setup: &Setup) -> Result<EditPreview, Refusal> {
        self.0.preview(setup)
    }

    fn what_if(&mut self, question: &WhatIf) -> Result<WhatIfReply, Refusal> {
        self.0.what_if(question)
    }
}
