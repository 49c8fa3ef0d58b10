//! The layout of a tensor's values in memory, as the file's axes in storage order.
//!
//! A file may reorder, split or merge axes; most of these changes move no value. Axes of one
//! position have no place in memory: they can be added and removed freely.

/// Dimensions in the file's order, and the axes of more than one position in storage order, the
/// slowest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    dims: Vec<usize>,
    order: Vec<usize>,
}

impl Layout {
    /// Creates the layout with the storage order `axes` of `dims`. Axes that are not listed have
    /// one position.
    pub(super) fn new(dims: Vec<usize>, axes: &[usize]) -> Self {
        let order = axes.iter().copied().filter(|&a| dims[a] > 1).collect();
        Layout { dims, order }
    }

    /// Creates the layout with the last axis fastest.
    pub(super) fn row_major(dims: Vec<usize>) -> Self {
        let axes: Vec<usize> = (0..dims.len()).collect();
        Layout::new(dims, &axes)
    }

    /// Creates the layout of a batch of one image, which is held with its channels last.
    pub(super) fn image(channels: usize, height: usize, width: usize) -> Self {
        Layout::new(vec![1, channels, height, width], &[2, 3, 1])
    }

    /// Returns the dimensions as the file sees them.
    pub(super) fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// Returns the axes of more than one position, the slowest first.
    pub(super) fn order(&self) -> &[usize] {
        &self.order
    }

    /// Returns the sizes of `axes`.
    pub(super) fn sizes(&self, axes: &[usize]) -> Vec<usize> {
        axes.iter().map(|&axis| self.dims[axis]).collect()
    }

    /// Returns whether the values have the order of `axes`, ignoring axes of one position.
    pub(super) fn lies_as(&self, axes: &[usize]) -> bool {
        let axes = axes.iter().filter(|&&axis| self.dims[axis] > 1);
        axes.eq(&self.order)
    }

    /// Returns the axes in storage order, plus those of `more` without a place in memory. If the
    /// axes ascend, they are inserted at their position, otherwise before all others.
    pub(super) fn axes_with(&self, more: &[usize]) -> Vec<usize> {
        inserted(&self.order, more)
    }

    /// Returns all axes except `last` in storage order, followed by `last`.
    pub(super) fn ending_in(&self, last: &[usize]) -> Vec<usize> {
        let others = self.order.iter().filter(|axis| !last.contains(axis));
        others.chain(last).copied().collect()
    }

    /// Returns the layout with dimensions of `rank`. Missing dimensions are added at the front.
    pub(super) fn with_rank(&self, rank: usize) -> Layout {
        let missing = rank.saturating_sub(self.dims.len());
        Layout {
            dims: [vec![1; missing], self.dims.clone()].concat(),
            order: self.order.iter().map(|axis| axis + missing).collect(),
        }
    }

    /// Returns the layout seen with its axes in the order `axes`.
    pub(super) fn transposed(&self, axes: &[usize]) -> Layout {
        let place = |axis: &usize| axes.iter().position(|a| a == axis);
        Layout {
            dims: self.sizes(axes),
            order: self.order.iter().filter_map(place).collect(),
        }
    }

    /// Returns the layout under other dimensions with the same number of values. Otherwise returns
    /// the storage order of axes that this needs.
    pub(super) fn reshaped(&self, dims: &[usize]) -> Result<Layout, Vec<usize>> {
        let groups = groups(&self.dims, dims);
        let mut order = Vec::new();
        let mut needed = Vec::new();
        let mut lies = true;
        for (at, axis) in self.order.iter().enumerate() {
            let Some((old, new)) = groups.iter().find(|(old, _)| old.contains(axis)) else {
                continue;
            };
            if needed.contains(axis) {
                continue;
            }
            lies &= self.order[at..].starts_with(old);
            needed.extend_from_slice(old);
            order.extend_from_slice(new);
        }
        let dims = dims.to_vec();
        match lies {
            true => Ok(Layout { dims, order }),
            false => Err(needed),
        }
    }
}

/// Returns `order` plus the missing axes of `more`.
pub(super) fn inserted(order: &[usize], more: &[usize]) -> Vec<usize> {
    let mut missing: Vec<usize> = more.to_vec();
    missing.retain(|axis| !order.contains(axis));
    missing.sort_unstable();
    missing.dedup();
    let mut all = [missing.as_slice(), order].concat();
    if order.is_sorted() {
        all.sort_unstable();
    }
    all
}

/// Returns a storage order that fits all `layouts` of one rank if it exists, else that of the
/// largest layout.
pub(super) fn common(layouts: &[&Layout]) -> Vec<usize> {
    let mut layouts = layouts.to_vec();
    layouts.sort_by_key(|l| std::cmp::Reverse(l.dims.iter().product::<usize>()));
    let orders = layouts.iter().map(|l| l.order.clone());
    let both = |all: Vec<usize>, next: Vec<usize>| {
        interleaved(&all, &next).unwrap_or_else(|| inserted(&all, &next))
    };
    orders.reduce(both).unwrap_or_default()
}

/// Returns the axes of both lists in an order that neither contradicts, or `None`.
fn interleaved(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    match (a, b) {
        ([], rest) | (rest, []) => Some(rest.to_vec()),
        (&[x, ref a_rest @ ..], &[y, ref b_rest @ ..]) => {
            let (next, rest) = if x == y {
                (x, interleaved(a_rest, b_rest))
            } else if b.contains(&x) {
                if a.contains(&y) {
                    return None;
                }
                (y, interleaved(a, b_rest))
            } else if a.contains(&y) || x < y {
                (x, interleaved(a_rest, b))
            } else {
                (y, interleaved(a, b_rest))
            };
            Some([vec![next], rest?].concat())
        }
    }
}

/// Axes of more than one position of both dimensions, the smallest runs of as many values
/// together.
type Groups = Vec<(Vec<usize>, Vec<usize>)>;

fn groups(old: &[usize], new: &[usize]) -> Groups {
    let axes = |dims: &[usize]| (0..dims.len()).filter(|&a| dims[a] > 1).collect();
    let (olds, news): (Vec<usize>, Vec<usize>) = (axes(old), axes(new));
    let mut groups = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < olds.len() && j < news.len() {
        let (first, start) = (i, j);
        let (mut a, mut b) = (old[olds[i]], new[news[j]]);
        while a != b {
            if a < b && i + 1 < olds.len() {
                i += 1;
                a *= old[olds[i]];
            } else if j + 1 < news.len() {
                j += 1;
                b *= new[news[j]];
            } else {
                break;
            }
        }
        groups.push((olds[first..=i].to_vec(), news[start..=j].to_vec()));
        (i, j) = (i + 1, j + 1);
    }
    groups
}
