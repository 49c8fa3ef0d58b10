//! The layouts with their sizes: serialisable values, and sizes shared out by weights.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::panel::Panel;

/// The maximum number of rows in a layout, and of panels in a row.
const MOST: usize = 6;
/// The largest weight.
const HEAVIEST: u16 = 100;

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
    pub fn check(&self) -> Result<(), String> {
        if self.name.trim().is_empty() {
            return Err("layout: name: expected a word, found nothing".to_owned());
        }
        let rows = self.check_rows();
        rows.map_err(|wrong| format!("layout `{}`: {wrong}", self.name))
    }

    fn check_rows(&self) -> Result<(), String> {
        if self.rows.is_empty() || self.rows.len() > MOST {
            let found = self.rows.len();
            return Err(format!("rows: expected 1 to {MOST}, found {found}"));
        }
        for (at, row) in self.rows.iter().enumerate() {
            row.check().map_err(|wrong| format!("rows[{at}].{wrong}"))?;
        }
        match self.twice() {
            Some(panel) => Err(format!("panel `{}`: expected once", panel.name())),
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

/// The built-in layouts, as a file.
const BUILT_IN: &str = include_str!("layouts.toml");

#[derive(Default, Deserialize)]
struct LayoutsFile {
    layouts: Vec<PanelLayout>,
}

/// Returns the built-in layouts. A test checks that their file has no errors.
pub(super) fn built_in() -> Vec<PanelLayout> {
    static READ: LazyLock<LayoutsFile> =
        LazyLock::new(|| toml::from_str(BUILT_IN).unwrap_or_default());
    READ.layouts.clone()
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
