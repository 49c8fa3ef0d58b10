//! The layouts, the current one, and its hidden panels.

mod panel;
mod preset;

pub use panel::Panel;
pub(crate) use panel::each_panel;
pub use preset::{LayoutRow, PanelLayout};
pub(crate) use preset::{SizeShare, share};

use preset::built_in;

/// The current layout among all layouts.
#[derive(Clone, Debug)]
pub struct PanelArrangement {
    layouts: Vec<PanelLayout>,
    chosen: usize,
    hidden: Vec<Panel>,
    /// Panels added by the user to the layout, each in its own row.
    added: Vec<Panel>,
}

impl PanelArrangement {
    /// Creates an arrangement of the built-in layouts and a user's valid layouts.
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

    /// Replaces the user's layouts after the built-in ones. The current layout stays, by its name,
    /// if it still exists.
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

    /// Returns all layouts.
    pub fn layouts(&self) -> &[PanelLayout] {
        &self.layouts
    }

    /// Returns the name of the current layout.
    pub fn name(&self) -> &str {
        self.layouts.get(self.chosen).map_or("", |l| &l.name)
    }

    /// Switches to the layout of this name, with all of its panels. Returns whether it exists.
    pub fn choose(&mut self, name: &str) -> bool {
        let at = self.layouts.iter().position(|l| l.name == name);
        if let Some(at) = at {
            self.chosen = at;
            self.hidden.clear();
            self.added.clear();
        }
        at.is_some()
    }

    /// Switches to the next layout, cyclically.
    pub fn next(&mut self) {
        let next = (self.chosen + 1) % self.layouts.len().max(1);
        let name = self.layouts.get(next).map(|l| l.name.clone());
        self.choose(&name.unwrap_or_default());
    }

    /// Hides or shows a panel; the last one stays.
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

    /// Returns whether the panel is shown.
    pub fn shows(&self, panel: Panel) -> bool {
        let chosen = self.layouts.get(self.chosen);
        let listed = chosen.is_some_and(|l| l.panels().any(|p| p == panel));
        (listed && !self.hidden.contains(&panel)) || self.added.contains(&panel)
    }

    /// Returns the shown panels, by their numbers.
    pub fn panels(&self) -> Vec<Panel> {
        let shown = |panel: &Panel| self.shows(*panel);
        Panel::ALL.into_iter().filter(shown).collect()
    }

    /// Returns the rows to draw.
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

    /// Returns the shown panels as a layout called `name`, to save it.
    pub fn named(&self, name: &str) -> PanelLayout {
        PanelLayout {
            name: name.into(),
            rows: self.rows(),
        }
    }
}
