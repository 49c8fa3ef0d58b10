//! The panels: their names, the keys that focus them, and their contents in words.

use serde::{Deserialize, Serialize};

/// Calls a macro with every panel, in the order of the focus: its variant, its module in `panels`,
/// the key that focuses it, and its contents. The module declares its size and draws it.
#[rustfmt::skip]
macro_rules! each_panel {
    ($with:ident) => { $with! {
        Allocation allocation '1' "devices × members, batch sizes and their load",
        Search search '2' "the search for a better matrix",
        Streams streams '3' "the work of each worker over time",
        Latency latency '4' "latency distribution and percentiles",
        Throughput throughput '5' "samples answered over time",
        Log log '6' "messages of the program",
        Members members '7' "each member's contribution to the ensemble",
        Steps steps '8' "the graph of served steps with their figures; wait ms: mean wait of a ready row",
        Models models '9' "served models, pipelines and ensembles by name and version",
        Clients clients '0' "network clients: connections, callers and errors",
        Tasks tasks 'a' "goals met, the policy for loading variants, and its decisions",
        Incident incident '!' "current problems: their causes and the keys that help",
        Time time 't' "latency, rates, queue, refusals and load over time, with the changes",
        Requests requests 'y' "the slowest and the failed requests, with their waits and their last worker",
    } };
}
pub(crate) use each_panel;

macro_rules! declare {
    ($($panel:ident $name:ident $sign:literal $help:literal,)*) => {
        /// The panels, by their numbers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Panel {
            $(#[doc = $help] $panel,)*
        }

        impl Panel {
            /// All panels, in the order of the focus.
            pub const ALL: [Panel; [$($sign),*].len()] = [$(Panel::$panel),*];

            /// Returns the facts of its row.
            pub(crate) fn facts(self) -> &'static PanelFacts {
                match self {
                    $(Panel::$panel => &PanelFacts {
                        name: stringify!($name),
                        sign: $sign,
                        title: concat!("focus ", stringify!($name)),
                        help: $help,
                    },)*
                }
            }
        }
    };
}
each_panel!(declare);

/// The facts of a panel.
pub(crate) struct PanelFacts {
    name: &'static str,
    /// The key that focuses it.
    pub sign: char,
    /// The title of the command that focuses it.
    pub title: &'static str,
    /// Its contents in words.
    pub help: &'static str,
}

impl Panel {
    /// Returns the name in its title and in layouts.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// Returns its place in the order, from 0.
    pub fn index(self) -> usize {
        self as usize
    }

    /// Returns the character in its title that also focuses it.
    pub fn sign(self) -> char {
        self.facts().sign
    }
}
