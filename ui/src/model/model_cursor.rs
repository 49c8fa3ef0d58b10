//! The model that is looked at, by name and version: its place changes when models come and go.

use divisi_model::catalogue::Version;
use divisi_session::CatalogueView;

/// The cursor in the list of models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelCursor {
    /// The place at which the model was seen last.
    at: usize,
    /// Its name and version; `None` before any model was there.
    of: Option<(String, Option<Version>)>,
}

impl ModelCursor {
    /// Returns the place of the model among those of now. Where it is gone, that is the nearest of the
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

    /// Looks at the model at a place.
    pub fn go_to(&mut self, place: usize, models: &[CatalogueView]) {
        let model = models.get(place);
        self.of = model.map(|model| (model.name.clone(), model.version));
        self.at = place;
    }

    /// Follows the model to its place among those of now.
    pub fn follow(&mut self, models: &[CatalogueView]) {
        self.go_to(self.place(models), models);
    }
}
