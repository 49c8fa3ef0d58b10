//! The columns of the screen that names and versions of models take.

use divisi_session::CatalogueView;

use crate::text::format;

/// Columns for the signs before a name.
pub(super) const SIGNS: u16 = 3;
/// Columns of a kind, with the gap before it.
const KIND: u16 = 9;
/// Columns of a version: those of its head, and of the longest number that there is.
const VERSION: (u16, u16) = (3, 20);

/// The widths of what precedes the figures.
pub(super) struct ModelWidths {
    /// Columns of names.
    pub name: u16,
    /// Columns of versions, without the gap before them.
    pub version: u16,
}

impl ModelWidths {
    /// As wide as the longest, names up to a third of the panel, versions up to a fifth.
    pub(super) fn of(models: &[CatalogueView], width: u16) -> Self {
        let names = models.iter().map(|model| format::width(&model.name));
        let versions = models.iter().filter_map(|model| model.version);
        let versions = versions.map(|version| format::width(&version.to_string()));
        let (least, most) = VERSION;
        ModelWidths {
            name: names.max().unwrap_or(0).clamp(6, (width / 3).max(6)),
            version: versions
                .max()
                .unwrap_or(0)
                .clamp(least, (width / 5).clamp(least, most)),
        }
    }

    /// Returns the column after a version.
    pub(super) fn version_end(&self) -> u16 {
        SIGNS + self.name + 1 + self.version
    }

    /// Returns the column after a kind.
    pub(super) fn kind_end(&self) -> u16 {
        self.version_end() + KIND
    }

    /// Returns the columns that a row has for why a model is not served.
    pub(super) fn reason(&self, width: u16) -> u16 {
        width.saturating_sub(self.version_end() + 1)
    }
}
