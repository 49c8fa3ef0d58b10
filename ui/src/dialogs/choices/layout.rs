//! A layout to be saved.

use super::{Form, FormChoice, FormField, FormKind};
use crate::layout::PanelLayout;

const NOTE: &str = "Lies in layouts/ of the configuration; one of the same name is replaced.";
/// A longer name has no room in a header.
const MOST: usize = 32;

impl Form {
    /// Asks what the layout that is shown is to be called.
    pub fn layout(now: &str) -> Self {
        let name = match PanelLayout::is_built_in(now) {
            true => format!("my-{now}"),
            false => now.to_owned(),
        };
        let help = "the panels that are shown, and their sizes";
        let choice =
            FormChoice::new("layout", help, vec![FormField::free("name", name)]).noting(NOTE);
        Form::new(FormKind::Layout, "save layout", vec![choice])
    }

    pub(super) fn layout_name(&self) -> Result<String, String> {
        let name = self.text("name").trim();
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.len() > MOST || !name.chars().all(plain) {
            let found = format!("found `{name}`");
            return Err(format!(
                "name: expected a-z, 0-9 and -, at most {MOST}, {found}"
            ));
        }
        match PanelLayout::is_built_in(name) {
            true => Err(format!("name: `{name}` is built in; expected another")),
            false => Ok(name.to_owned()),
        }
    }
}
