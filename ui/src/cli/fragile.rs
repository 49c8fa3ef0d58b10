//! A panic after a while, so that tests see the state after it. Only in builds with debug assertions.

use std::thread;

use clap::ValueEnum;

/// The thread that panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PanicPlace {
    Console,
    Other,
}

/// The number of the snapshot that panics: the first one with a screen.
const LOOKS: u32 = 2;

/// A panic to come.
pub(crate) struct DuePanic {
    place: PanicPlace,
    left: u32,
}

impl DuePanic {
    pub(crate) fn new(place: PanicPlace) -> Self {
        DuePanic { place, left: LOOKS }
    }

    /// Counts a snapshot, and panics if it is its turn.
    pub(crate) fn count(&mut self) {
        let is_due = self.left == 1;
        self.left = self.left.saturating_sub(1);
        if is_due {
            self.break_down();
        }
    }

    #[expect(clippy::panic, reason = "its purpose is to panic")]
    fn break_down(&self) {
        match self.place {
            PanicPlace::Console => panic!("requested by a test"),
            PanicPlace::Other => {
                // The panic of this thread is the purpose; its result is not needed.
                let _ = thread::spawn(|| panic!("elsewhere, requested by a test")).join();
            }
        }
    }
}
