//! A session that panics after a while, so that tests see the state after a panic. Only in builds
//! with debug assertions.

use std::thread;
use std::time::Duration;

use clap::ValueEnum;
use divisi_model::trace::Span;
use divisi_session::{Command, EditPreview, Refusal, Session, Setup, Snapshot};

/// The thread that panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PanicPlace {
    Console,
    Other,
}

/// The number of the snapshot that panics: the first one with a screen.
const LOOKS: u32 = 2;

pub(crate) struct PanickingSession {
    session: Box<dyn Session>,
    panics: PanicPlace,
    left: u32,
}

impl PanickingSession {
    pub(crate) fn new(session: Box<dyn Session>, panics: PanicPlace) -> Self {
        PanickingSession {
            session,
            panics,
            left: LOOKS,
        }
    }

    #[expect(clippy::panic, reason = "its purpose is to panic")]
    fn break_down(&self) {
        match self.panics {
            PanicPlace::Console => panic!("requested by a test"),
            PanicPlace::Other => {
                // The panic of this thread is the purpose; its result is not needed.
                let _ = thread::spawn(|| panic!("elsewhere, requested by a test")).join();
            }
        }
    }
}

impl Session for PanickingSession {
    fn snapshot(&mut self) -> Snapshot {
        match self.left {
            0 => {}
            1 => {
                self.left = 0;
                self.break_down();
            }
            _ => self.left -= 1,
        }
        self.session.snapshot()
    }

    fn now(&mut self) -> Duration {
        self.session.now()
    }

    fn drain_spans(&mut self, into: &mut Vec<Span>) -> u64 {
        self.session.drain_spans(into)
    }

    fn command(&mut self, command: Command) -> Result<(), Refusal> {
        self.session.command(command)
    }

    fn preview(&mut self, setup: &Setup) -> Result<EditPreview, Refusal> {
        self.session.preview(setup)
    }
}
