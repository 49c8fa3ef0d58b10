//! Which panels are shown and how much room each has: values that can be written down.

use serde::{Deserialize, Serialize};

use super::panel::Panel;

/// Rows in one layout, and panels in one row, at most.
const MOST: usize = 6;
/// The largest weight.
const HEAVIEST: u16 = 100;

/// A named arrangement of panels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PanelLayout {
    /// What it is called; one of a user's replaces a built-in one of the same name.
    pub name: String,
    /// From the top.
    pub rows: Vec<LayoutRow>,
}

/// Panels side by side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayoutRow {
    /// Its share of the height against those of the other rows.
    pub height: u16,
    /// From the left, each with its share of the width.
    pub panels: Vec<(Panel, u16)>,
}

impl PanelLayout {
    /// Whether a layout of that name comes with the program.
    pub fn is_built_in(name: &str) -> bool {
        built_in().iter().any(|l| l.name == name)
    }

    /// Whether it can be shown.
    ///
    /// # Errors
    /// Which part is wrong and what was expected.
    pub fn check(&self) -> Result<(), String> {
        let wrong = |why: String| Err(format!("layout `{}`: {why}", self.name));
        if self.name.trim().is_empty() {
            return Err("layout: name: expected a word, found nothing".into());
        }
        if self.rows.is_empty() || self.rows.len() > MOST {
            return wrong(format!(
                "rows: expected 1 to {MOST}, found {}",
                self.rows.len()
            ));
        }
        for (i, row) in self.rows.iter().enumerate() {
            if let Err(why) = row.check() {
                return wrong(format!("rows[{i}].{why}"));
            }
        }
        match self.twice() {
            Some(panel) => wrong(format!("panel `{}`: expected once", panel.name())),
            None => Ok(()),
        }
    }

    fn twice(&self) -> Option<Panel> {
        let shown: Vec<Panel> = self.panels().collect();
        let again = |(i, panel): (usize, &Panel)| shown[..i].contains(panel);
        let found = shown.iter().enumerate().find(|s| again(*s));
        found.map(|(_, panel)| *panel)
    }

    /// Its panels, row by row.
    pub fn panels(&self) -> impl Iterator<Item = Panel> + '_ {
        let rows = self.rows.iter();
        rows.flat_map(|row| row.panels.iter().map(|(panel, _)| *panel))
    }
}

impl LayoutRow {
    fn check(&self) -> Result<(), String> {
        let weights = self.panels.iter().map(|(panel, w)| (panel.name(), *w));
        let mut all = std::iter::once(("height", self.height)).chain(weights);
        if self.panels.is_empty() || self.panels.len() > MOST {
            let found = self.panels.len();
            return Err(format!("panels: expected 1 to {MOST}, found {found}"));
        }
        match all.find(|(_, weight)| !(1..=HEAVIEST).contains(weight)) {
            Some((name, found)) => Err(format!(
                "{name}: expected a weight from 1 to {HEAVIEST}, found {found}"
            )),
            None => Ok(()),
        }
    }
}

/// The layouts that every console has.
pub fn built_in() -> Vec<PanelLayout> {
    use Panel::{Allocation, Latency, Log, Members, Search, Streams, Throughput};
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
