//! The model at the cursor, by name and version, since its place changes with other models.

use divisi_model::catalogue::Version;
use divisi_session::CatalogueView;

/// The cursor in the list of models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelCursor {
    /// The last known place of the model.
    at: usize,
    /// Its name and version, or `None` before there was any model.
    of: Option<(String, Option<Version>)>,
}

impl ModelCursor {
    /// Returns the current place of the model. If the model is gone, returns the nearest one of the
    /// same name, or else the nearest row.
    pub fn place(&self, models: &[CatalogueView]) -> usize {
        let last = models.len().saturating_sub(1);
        let Some((name, version)) = &self.of else {
            return self.at.min(last);
        };
        let it = self.nearest(models, |m| m.name == *name && m.version == *version);
        let namesake = || self.nearest(models, |m| m.name == *name);
        it.or_else(namesake).unwrap_or(self.at.min(last))
    }

    fn nearest(
        &self,
        models: &[CatalogueView],
        is_it: impl Fn(&CatalogueView) -> bool,
    ) -> Option<usize> {
        let places = models.iter().enumerate().filter(|(_, model)| is_it(model));
        let places = places.map(|(place, _)| place);
        places.min_by_key(|place| place.abs_diff(self.at))
    }

    /// Moves the cursor to the model at a place.
    pub fn go_to(&mut self, place: usize, models: &[CatalogueView]) {
        let model = models.get(place);
        self.of = model.map(|model| (model.name.clone(), model.version));
        self.at = place;
    }

    /// Updates the place of the model.
    pub fn follow(&mut self, models: &[CatalogueView]) {
        self.go_to(self.place(models), models);
    }
}
