//! The layouts there are, the one that is shown, and what is hidden of it.

mod preset;

pub use preset::{LayoutRow, Panel, PanelLayout};
pub(crate) use preset::{SizeShare, share};

use preset::built_in;

/// Where the user is among the layouts.
#[derive(Clone, Debug)]
pub struct PanelArrangement {
    layouts: Vec<PanelLayout>,
    chosen: usize,
    hidden: Vec<Panel>,
    /// Panels that the layout leaves out and the user wants, each in a row of its own.
    added: Vec<Panel>,
}

impl PanelArrangement {
    /// The built-in layouts and a user's, of which those that cannot be shown are left
    /// out.
    pub fn new(own: &[PanelLayout]) -> Self {
        let mut arrangement = PanelArrangement {
            layouts: built_in(),
            chosen: 0,
            hidden: Vec::new(),
            added: Vec::new(),
        };
        arrangement.take(own);
        arrangement
    }

    /// Takes a user's layouts in, after the built-in ones; the one shown stays by its
    /// name where it is still there.
    pub fn take(&mut self, own: &[PanelLayout]) {
        let name = self.name().to_owned();
        self.layouts = built_in();
        for layout in own.iter().filter(|l| l.check().is_ok()) {
            match self.layouts.iter_mut().find(|l| l.name == layout.name) {
                Some(same) => *same = layout.clone(),
                None => self.layouts.push(layout.clone()),
            }
        }
        let at = self.layouts.iter().position(|l| l.name == name);
        self.chosen = at.unwrap_or(0);
    }

    /// All of them.
    pub fn layouts(&self) -> &[PanelLayout] {
        &self.layouts
    }

    /// The name of the one that is shown.
    pub fn name(&self) -> &str {
        self.layouts.get(self.chosen).map_or("", |l| &l.name)
    }

    /// The one of this name, all of its panels shown; whether there is one.
    pub fn choose(&mut self, name: &str) -> bool {
        let at = self.layouts.iter().position(|l| l.name == name);
        if let Some(at) = at {
            self.chosen = at;
            self.hidden.clear();
            self.added.clear();
        }
        at.is_some()
    }

    /// The next one, round and round.
    pub fn next(&mut self) {
        let next = (self.chosen + 1) % self.layouts.len().max(1);
        let name = self.layouts.get(next).map(|l| l.name.clone());
        self.choose(&name.unwrap_or_default());
    }

    /// Hides a panel or shows it; the last one stays.
    pub fn toggle(&mut self, panel: Panel) {
        if !self.shows(panel) {
            self.hidden.retain(|p| *p != panel);
            if !self.shows(panel) {
                self.added.push(panel);
            }
        } else if self.panels().len() > 1 {
            self.added.retain(|p| *p != panel);
            self.hidden.push(panel);
        }
    }

    /// Whether the panel has a place.
    pub fn shows(&self, panel: Panel) -> bool {
        let chosen = self.layouts.get(self.chosen);
        let listed = chosen.is_some_and(|l| l.panels().any(|p| p == panel));
        (listed && !self.hidden.contains(&panel)) || self.added.contains(&panel)
    }

    /// The panels that have a place, by their numbers.
    pub fn panels(&self) -> Vec<Panel> {
        let shown = |panel: &Panel| self.shows(*panel);
        Panel::ALL.into_iter().filter(shown).collect()
    }

    /// The rows to draw.
    pub fn rows(&self) -> Vec<LayoutRow> {
        let chosen = self.layouts.get(self.chosen);
        let rows = chosen.map_or(&[][..], |l| &l.rows);
        let left = |row: &LayoutRow| LayoutRow {
            height: row.height,
            panels: row
                .panels
                .iter()
                .copied()
                .filter(|(p, _)| !self.hidden.contains(p))
                .collect(),
        };
        let own = |panel: &Panel| LayoutRow {
            height: 2,
            panels: vec![(*panel, 1)],
        };
        let rows = rows.iter().map(left).filter(|r| !r.panels.is_empty());
        rows.chain(self.added.iter().map(own)).collect()
    }

    /// Returns the panels shown now as a layout called `name`, to be saved.
    pub fn named(&self, name: &str) -> PanelLayout {
        PanelLayout {
            name: name.into(),
            rows: self.rows(),
        }
    }
}
