//! The place of the samples of a batch in a tensor, and how it changes with the dimensions.

use crate::onnx::tensor::{Constant, Values};

/// The samples of a batch along one axis, which has `outer · batch · inner` positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::onnx) struct SamplePlace {
    pub(super) axis: usize,
    pub(super) outer: usize,
    pub(super) inner: usize,
}

impl SamplePlace {
    /// The first axis, which belongs only to the batch.
    pub(super) const FIRST: SamplePlace = SamplePlace {
        axis: 0,
        outer: 1,
        inner: 1,
    };

    /// Returns the place along another axis.
    pub(super) const fn along(self, axis: usize) -> Self {
        SamplePlace { axis, ..self }
    }

    /// Returns all places along an axis that has `size` positions for one sample.
    pub(super) fn along_of(axis: usize, size: usize) -> impl Iterator<Item = SamplePlace> {
        let outers = (1..=size).filter(move |outer| size.is_multiple_of(*outer));
        outers.map(move |outer| SamplePlace {
            axis,
            outer,
            inner: size / outer,
        })
    }

    /// Returns the dimensions of a batch from those of one sample.
    pub(in crate::onnx) fn dims(self, of_one: &[usize], batch: usize) -> Vec<usize> {
        let mut dims = of_one.to_vec();
        if let Some(size) = dims.get_mut(self.axis) {
            *size = size.saturating_mul(batch);
        }
        dims
    }

    /// Returns the place under other dimensions with the same number of values, for one sample and
    /// for a batch, or `None` if samples do not stay apart.
    pub(super) fn reshaped(
        self,
        from: &[usize],
        [of_one, of_all]: [&[usize]; 2],
        batch: usize,
    ) -> Option<Self> {
        let before = from[..self.axis].iter().product::<usize>() * self.outer;
        let axis = grown(of_one, of_all, batch)?;
        let outside: usize = of_one[..axis].iter().product();
        let outer = before.checked_div(outside)?;
        let inner = of_one[axis].checked_div(outer)?;
        let fits = outer * outside == before && outer * inner == of_one[axis];
        fits.then_some(SamplePlace { axis, outer, inner })
    }

    /// Returns the place after positions along its axis were taken: those of one sample, and those
    /// of a batch. Returns `None` if samples do not have their own positions.
    pub(super) fn taken(self, of_one: &[usize], of_all: &[usize], batch: usize) -> Option<Self> {
        let count = of_one.len();
        if count == 0 {
            return None;
        }
        let samples = 0..batch;
        let inner = self.inner;
        let (expected, place): (Vec<usize>, SamplePlace) = if inner == 1 {
            let runs = of_one
                .iter()
                .flat_map(|p| samples.clone().map(move |s| p * batch + s));
            (
                runs.collect(),
                SamplePlace {
                    outer: count,
                    ..self
                },
            )
        } else if self.outer == 1 {
            let runs = samples.flat_map(|s| of_one.iter().map(move |p| s * inner + p));
            (
                runs.collect(),
                SamplePlace {
                    inner: count,
                    ..self
                },
            )
        } else {
            let all = 0..self.outer * inner;
            return of_one.iter().copied().eq(all).then_some(self);
        };
        (expected == of_all).then_some(place)
    }

    /// Returns the sample that a position of a batch belongs to, and its position in it.
    pub(super) fn split(self, position: usize, of_one: &[usize], batch: usize) -> (usize, usize) {
        let behind = of_one[self.axis + 1..].iter().product::<usize>() * self.inner;
        let sample = position / behind % batch;
        let own = position / (behind * batch) * behind + position % behind;
        (sample, own)
    }

    /// Returns whether a constant for a batch is the constant for one sample, repeated for each
    /// sample.
    pub(super) fn repeats(self, of_one: &Constant, of_all: &Constant, batch: usize) -> bool {
        of_all.dims == self.dims(&of_one.dims, batch)
            && (0..of_all.values.len()).all(|at| {
                let (_, own) = self.split(at, &of_one.dims, batch);
                alike(&of_one.values, own, &of_all.values, at)
            })
    }

    /// Returns the place at which a constant for a batch repeats the constant for one sample.
    pub(super) fn of_constant(of_one: &Constant, of_all: &Constant, batch: usize) -> Option<Self> {
        let axis = grown(&of_one.dims, &of_all.dims, batch)?;
        let size = of_one.dims[axis];
        let outers = (1..=size).filter(|outer| size.is_multiple_of(*outer));
        let mut places = outers.map(|outer| SamplePlace {
            axis,
            outer,
            inner: size / outer,
        });
        places.find(|place| place.repeats(of_one, of_all, batch))
    }
}

/// Returns the only axis that is larger for a batch, if it is larger by the batch size.
pub(super) fn grown(of_one: &[usize], of_all: &[usize], batch: usize) -> Option<usize> {
    let mut other = (0..of_one.len()).filter(|&axis| of_one.get(axis) != of_all.get(axis));
    let axis = other.next()?;
    let alone = other.next().is_none() && of_one.len() == of_all.len();
    (alone && of_one[axis].checked_mul(batch) == Some(of_all[axis])).then_some(axis)
}

/// Returns whether two values are equal bit by bit.
fn alike(a: &Values, at: usize, b: &Values, other: usize) -> bool {
    match (a, b) {
        (Values::Floats(a), Values::Floats(b)) => a[at].to_bits() == b[other].to_bits(),
        (Values::Integers(a), Values::Integers(b)) => a[at] == b[other],
        (Values::Booleans(a), Values::Booleans(b)) => a[at] == b[other],
        _ => false,
    }
}
