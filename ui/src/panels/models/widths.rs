//! The widths of the names and versions of models.

use divisi_session::CatalogueView;

use crate::text::format;

/// The width of the signs before a name.
pub(super) const SIGNS: u16 = 3;
/// The width of a kind, with the gap before it.
const KIND: u16 = 9;
/// The widths of a version: its heading, and the longest number.
const VERSION: (u16, u16) = (3, 20);

/// The widths of the columns before the figures.
pub(super) struct ModelWidths {
    /// The width of names.
    pub name: u16,
    /// The width of versions, without the gap before them.
    pub version: u16,
}

impl ModelWidths {
    /// Returns the widths of the longest, for names up to a third of the panel, for versions up to
    /// a fifth.
    pub(super) fn for_models(models: &[CatalogueView], width: u16) -> Self {
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

    /// Returns the width for the reason why a model is not served.
    pub(super) fn reason(&self, width: u16) -> u16 {
        width.saturating_sub(self.version_end() + 1)
    }
}
