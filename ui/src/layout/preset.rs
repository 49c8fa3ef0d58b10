//! The panels and the layouts with their sizes: serialisable values, and sizes shared out by
//! weights.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The panels, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Panel {
    /// 1
    Allocation,
    /// 2
    Search,
    /// 3
    Streams,
    /// 4
    Latency,
    /// 5
    Throughput,
    /// 6
    Log,
    /// 7
    Members,
    /// 8
    Steps,
    /// 9
    Models,
    /// 0, the tenth
    Clients,
    /// a
    Tasks,
}

impl Panel {
    /// All panels, in the order of the focus.
    pub const ALL: [Panel; 11] = [
        Panel::Allocation,
        Panel::Search,
        Panel::Streams,
        Panel::Latency,
        Panel::Throughput,
        Panel::Log,
        Panel::Members,
        Panel::Steps,
        Panel::Models,
        Panel::Clients,
        Panel::Tasks,
    ];

    /// Returns the name in its title and in layouts.
    pub fn name(self) -> &'static str {
        match self {
            Panel::Allocation => "allocation",
            Panel::Search => "search",
            Panel::Streams => "streams",
            Panel::Latency => "latency",
            Panel::Throughput => "throughput",
            Panel::Log => "log",
            Panel::Members => "members",
            Panel::Steps => "steps",
            Panel::Models => "models",
            Panel::Clients => "clients",
            Panel::Tasks => "tasks",
        }
    }

    /// Returns its place in the order, from 0.
    pub fn index(self) -> usize {
        Panel::ALL.iter().position(|p| *p == self).unwrap_or(0)
    }

    /// Returns the character in its title that also focuses it: a digit, or `a` for the eleventh.
    pub fn sign(self) -> char {
        let signs = "1234567890a".chars();
        signs.into_iter().nth(self.index()).unwrap_or(' ')
    }
}

/// The maximum number of rows in a layout, and of panels in a row.
const MOST: usize = 6;
/// The largest weight.
const HEAVIEST: u16 = 100;

/// The reason why a layout is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// It has no name.
    #[error("layout: name: expected a word, found nothing")]
    NoName,
    /// One of its parts is wrong.
    #[error("layout `{name}`: {wrong}")]
    Invalid {
        /// The layout.
        name: String,
        /// The invalid part.
        wrong: LayoutPart,
    },
}

/// An invalid part of a layout.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LayoutPart {
    /// Too few rows or too many.
    #[error("rows: expected 1 to {MOST}, found {0}")]
    Rows(usize),
    /// Too few panels in a row or too many.
    #[error("rows[{row}].panels: expected 1 to {MOST}, found {found}")]
    Panels {
        /// The row, from 0.
        row: usize,
        /// Their number.
        found: usize,
    },
    /// A weight out of range.
    #[error("rows[{row}].{name}: expected a weight from 1 to {HEAVIEST}, found {found}")]
    Weight {
        /// The row, from 0.
        row: usize,
        /// `height`, or a panel.
        name: &'static str,
        /// The weight.
        found: u16,
    },
    /// A panel that occurs twice.
    #[error("panel `{0}`: expected once")]
    Twice(&'static str),
}

/// A named arrangement of panels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PanelLayout {
    /// Its name. A user's layout replaces a built-in one of the same name.
    pub name: String,
    /// The rows, from the top.
    pub rows: Vec<LayoutRow>,
}

/// A row of panels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayoutRow {
    /// Its share of the height, relative to the other rows.
    pub height: u16,
    /// The panels from the left, each with its share of the width.
    pub panels: Vec<(Panel, u16)>,
}

impl PanelLayout {
    /// Returns whether a layout of this name is built in.
    pub fn is_built_in(name: &str) -> bool {
        built_in().iter().any(|l| l.name == name)
    }

    /// Checks that the layout can be shown.
    ///
    /// # Errors
    /// The invalid part, with the expected values.
    pub fn check(&self) -> Result<(), LayoutError> {
        if self.name.trim().is_empty() {
            return Err(LayoutError::NoName);
        }
        self.check_rows().map_err(|wrong| LayoutError::Invalid {
            name: self.name.clone(),
            wrong,
        })
    }

    fn check_rows(&self) -> Result<(), LayoutPart> {
        if self.rows.is_empty() || self.rows.len() > MOST {
            return Err(LayoutPart::Rows(self.rows.len()));
        }
        for (at, row) in self.rows.iter().enumerate() {
            row.check(at)?;
        }
        match self.twice() {
            Some(panel) => Err(LayoutPart::Twice(panel.name())),
            None => Ok(()),
        }
    }

    fn twice(&self) -> Option<Panel> {
        let shown: Vec<Panel> = self.panels().collect();
        let again = |(i, panel): (usize, &Panel)| shown[..i].contains(panel);
        let found = shown.iter().enumerate().find(|s| again(*s));
        found.map(|(_, panel)| *panel)
    }

    /// Returns its panels, row by row.
    pub fn panels(&self) -> impl Iterator<Item = Panel> + '_ {
        let rows = self.rows.iter();
        rows.flat_map(|row| row.panels.iter().map(|(panel, _)| *panel))
    }
}

impl LayoutRow {
    fn check(&self, row: usize) -> Result<(), LayoutPart> {
        let weights = self.panels.iter().map(|(panel, w)| (panel.name(), *w));
        let mut all = std::iter::once(("height", self.height)).chain(weights);
        if self.panels.is_empty() || self.panels.len() > MOST {
            let found = self.panels.len();
            return Err(LayoutPart::Panels { row, found });
        }
        match all.find(|(_, weight)| !(1..=HEAVIEST).contains(weight)) {
            Some((name, found)) => Err(LayoutPart::Weight { row, name, found }),
            None => Ok(()),
        }
    }
}

/// Returns the built-in layouts.
pub(super) fn built_in() -> Vec<PanelLayout> {
    use Panel::{
        Allocation, Clients, Latency, Log, Members, Models, Search, Steps, Streams, Tasks,
        Throughput,
    };
    let layout = |name: &str, rows: &[(u16, &[(Panel, u16)])]| PanelLayout {
        name: name.into(),
        rows: rows
            .iter()
            .map(|(height, panels)| LayoutRow {
                height: *height,
                panels: panels.to_vec(),
            })
            .collect(),
    };
    let plots: &[(Panel, u16)] = &[(Latency, 1), (Throughput, 1), (Log, 1)];
    vec![
        layout(
            "overview",
            &[
                (3, &[(Allocation, 3), (Search, 2)]),
                (3, &[(Streams, 1)]),
                (3, plots),
            ],
        ),
        layout(
            "allocation",
            &[
                (3, &[(Allocation, 1)]),
                (2, &[(Search, 1), (Throughput, 1)]),
            ],
        ),
        layout(
            "streams",
            &[(4, &[(Streams, 1)]), (1, &[(Latency, 1), (Throughput, 1)])],
        ),
        layout(
            "latency",
            &[
                (3, &[(Latency, 1)]),
                (2, &[(Throughput, 3), (Allocation, 4)]),
            ],
        ),
        layout(
            "members",
            &[(2, &[(Members, 1)]), (2, &[(Latency, 1), (Throughput, 1)])],
        ),
        layout(
            "steps",
            &[(3, &[(Steps, 1)]), (2, &[(Latency, 1), (Throughput, 1)])],
        ),
        layout(
            "models",
            &[
                (2, &[(Models, 1)]),
                (2, &[(Allocation, 1)]),
                (2, &[(Streams, 1)]),
            ],
        ),
        layout(
            "clients",
            &[(3, &[(Clients, 1)]), (2, &[(Latency, 1), (Throughput, 1)])],
        ),
        layout(
            "tasks",
            &[
                (3, &[(Tasks, 1)]),
                (2, &[(Models, 1)]),
                (2, &[(Allocation, 1)]),
            ],
        ),
        layout("search", &[(3, &[(Search, 1)]), (2, &[(Allocation, 1)])]),
        layout(
            "presenter",
            &[
                (2, &[(Allocation, 1)]),
                (3, &[(Streams, 1)]),
                (2, &[(Throughput, 1), (Latency, 1)]),
            ],
        ),
    ]
}

/// A part of a shared size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SizeShare {
    /// Its weight relative to the other parts.
    pub weight: u16,
    /// The minimum useful size.
    pub least: u16,
    /// The maximum useful size.
    pub most: u16,
}

/// Returns sizes with the sum `room`. Each part gets its minimum, then a share by weight up to its
/// maximum.
pub(crate) fn share(room: u16, parts: &[SizeShare]) -> Vec<u16> {
    let mut sizes: Vec<u16> = parts.iter().map(|p| p.least).collect();
    squeeze(&mut sizes, room);
    let mut spare = room.saturating_sub(sizes.iter().sum());
    while spare > 0 {
        let Some(at) = poorest(&sizes, parts) else {
            break;
        };
        sizes[at] += 1;
        spare -= 1;
    }
    sizes
}

/// Shrinks the largest sizes if the minimums do not fit.
fn squeeze(sizes: &mut [u16], room: u16) {
    let mut over = sizes.iter().sum::<u16>().saturating_sub(room);
    while over > 0 {
        let Some(largest) = sizes.iter_mut().max() else {
            return;
        };
        *largest = largest.saturating_sub(1);
        over -= 1;
    }
}

/// Returns the part with the least size per weight among those below their maximum, else among all.
fn poorest(sizes: &[u16], parts: &[SizeShare]) -> Option<usize> {
    let open = |at: &usize| sizes[*at] < parts[*at].most;
    let rich = |at: &usize| u32::from(sizes[*at]) * 1000 / u32::from(parts[*at].weight.max(1));
    let all = 0..parts.len();
    let wanting = all.clone().filter(open).min_by_key(rich);
    wanting.or_else(|| all.min_by_key(rich))
}
