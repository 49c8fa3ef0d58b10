//! What lines ask of a session, and the answers.

use divisi::allocation::Matrix;
use divisi::session::{Session, Terms};

use crate::actions;
use crate::actions::LineFront;

/// The answer to a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineAnswer {
    /// The lines to print.
    pub lines: Vec<String>,
    /// The program is to end.
    pub leave: bool,
}

/// The matrix that lines have staged so far, and what lines may do.
#[derive(Debug)]
pub struct LineDesk {
    read_only: bool,
    /// The terms of `apply probation`.
    terms: Terms,
    staged: Option<Matrix>,
}

impl LineDesk {
    /// A desk on which nothing is staged.
    pub fn new(read_only: bool, terms: Terms) -> Self {
        LineDesk {
            read_only,
            terms,
            staged: None,
        }
    }

    /// Does what a line asks for.
    pub fn line(&mut self, line: &str, session: &mut dyn Session) -> LineAnswer {
        let shown = session.snapshot();
        let mut front = LineFront {
            session,
            shown: &shown,
            staged: &mut self.staged,
            terms: self.terms,
            read_only: self.read_only,
            leave: false,
        };
        let said = actions::say(&mut front, line);
        LineAnswer {
            leave: front.leave,
            lines: said.unwrap_or_else(|wrong| vec![format!("no: {wrong}")]),
        }
    }
}
