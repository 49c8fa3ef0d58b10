//! The nested lists of a tensor's values: a single list, or one level for each dimension.

/// The lengths of the lists, from the outermost.
#[derive(Debug, Default)]
pub(super) struct ListLengths {
    lengths: Vec<Option<usize>>,
    /// The number of lists around each value.
    depth: Option<usize>,
    is_uneven: bool,
}

impl ListLengths {
    /// Records a value within `depth` lists.
    pub(super) fn value(&mut self, depth: usize) {
        self.is_uneven |= *self.depth.get_or_insert(depth) != depth;
    }

    /// Records a list of `length` values or lists, within `depth` others.
    pub(super) fn list(&mut self, depth: usize, length: usize) {
        if self.lengths.len() <= depth {
            self.lengths.resize(depth + 1, None);
        }
        self.is_uneven |= *self.lengths[depth].get_or_insert(length) != length;
    }

    /// Checks the lists against the dimensions of the tensor. A single list, or none, matches any
    /// dimensions.
    ///
    /// # Errors
    /// Returns a description of lists that do not match.
    pub(super) fn check(&self, dims: &[usize]) -> Result<(), String> {
        let lengths: Vec<usize> = self.lengths.iter().copied().flatten().collect();
        if self.is_uneven || self.depth.is_some_and(|depth| depth != lengths.len()) {
            return Err(format!(
                "uneven lists for the shape {dims:?}; expected one list, or nested lists with one level \
                 for each dimension"
            ));
        }
        // Empty dimensions have no nested lists.
        let empty = dims.iter().position(|size| *size == 0);
        let own = empty.map_or(dims, |at| &dims[..=at]);
        match lengths.len() < 2 || lengths == own {
            true => Ok(()),
            false => Err(format!(
                "lists of lengths {lengths:?} for the shape {dims:?}"
            )),
        }
    }
}
