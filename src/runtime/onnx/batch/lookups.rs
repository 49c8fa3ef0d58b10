//! Where lookups by index hold the samples of a batch.

use super::followed::{BatchFault, Batched, Followed, FollowedAnswers, mixes};
use super::place::{SamplePlace, grown};
use crate::onnx::indices;
use crate::onnx::node::axis;
use crate::onnx::tensor::Constant;

pub(super) fn gather(of: &Followed<'_, '_>) -> FollowedAnswers {
    let (data, which) = (of.operand(0)?, of.operand(1)?);
    let along = axis(of.node.integer("axis").unwrap_or(0), data.dims.len())?;
    let rank = which.dims.len();
    match (data.batched, which.batched) {
        (None, Some(_)) => {
            let place = of.sample_place(1)?;
            of.all_at(place.along(place.axis + along))
        }
        (Some(_), None) => {
            let place = of.sample_place(0)?;
            if place.axis < along {
                return of.all_at(place);
            } else if place.axis > along {
                return of.all_at(place.along(place.axis + rank - 1));
            }
            picked(of, place)
        }
        _ if of.sample_place(0)?.axis == along && which.differs() => {
            picked(of, of.sample_place(0)?)
        }
        _ => mixes(along),
    }
}

/// Positions along the axis that holds the samples.
fn picked(of: &Followed<'_, '_>, place: SamplePlace) -> FollowedAnswers {
    of.is_short(place)?;
    let (data, which) = (of.operand(0)?, of.operand(1)?);
    let listed = |constant: Option<&Constant>, size: usize| {
        let listed = constant?.as_integers()?;
        let each = listed.iter().map(|i| axis(*i, size).ok());
        each.collect::<Option<Vec<usize>>>()
    };
    let one = listed(which.constant, data.dims[place.axis]);
    let all = listed(which.of_all(), data.all_dims(of.batch)[place.axis]);
    let (Some(one), Some(all)) = (one, all) else {
        return mixes(place.axis);
    };
    if which.dims.len() == 1 {
        return match place.taken(&one, &all, of.batch) {
            Some(place) => of.all_at(place),
            None => mixes(place.axis),
        };
    }
    let of_all = which.of_all().map_or(&[][..], |c| c.dims.as_slice());
    let Some(longer) = grown(which.dims, of_all, of.batch) else {
        return mixes(place.axis);
    };
    let along = place.along(0);
    let rows = [place.outer * place.inner];
    let fits = |answer: &SamplePlace| {
        all.iter().enumerate().all(|(n, &position)| {
            let (sample, own) = answer.split(n, which.dims, of.batch);
            let (of_sample, inside) = along.split(position, &rows, of.batch);
            sample == of_sample && one.get(own) == Some(&inside)
        })
    };
    let mut places = SamplePlace::along_of(longer, which.dims[longer]);
    match places.find(fits) {
        Some(answer) => of.all_at(answer.along(place.axis + longer)),
        None => mixes(place.axis),
    }
}

pub(super) fn gather_elements(of: &Followed<'_, '_>) -> FollowedAnswers {
    let (data, which) = (of.operand(0)?, of.operand(1)?);
    let along = axis(of.node.integer("axis").unwrap_or(0), data.dims.len())?;
    if data.batched.is_none() {
        return Err(BatchFault::Single);
    }
    let place = of.sample_place(0)?;
    match which.batched {
        Some(_) if place.axis != along && of.sample_place(1)? == place => of.all_at(place),
        _ => mixes(place.axis),
    }
}

pub(super) fn gather_nd(of: &Followed<'_, '_>) -> FollowedAnswers {
    let (data, which) = (of.operand(0)?, of.operand(1)?);
    let batch = usize::try_from(of.node.integer("batch_dims").unwrap_or(0)).unwrap_or(0);
    let (rank, depth) = (which.dims.len(), which.dims.last().copied().unwrap_or(1));
    if data.batched.is_none() {
        return of.all_at(of.sample_place(1)?);
    }
    let place = of.sample_place(0)?;
    match which.batched {
        None if place.axis >= batch + depth => {
            of.all_at(place.along(place.axis + rank - 1 - batch - depth))
        }
        Some(Batched::Constant(_)) => match moved(of, place, batch as i64)? {
            Some(place) => of.all_at(place),
            None => mixes(place.axis),
        },
        Some(Batched::Numbered(own)) if place == SamplePlace::FIRST && batch == 0 => {
            of.all_at(*own)
        }
        Some(_) if place.axis < batch && of.sample_place(1)? == place => of.all_at(place),
        _ => mixes(place.axis),
    }
}

/// Returns where the answer of `GatherND` holds samples if its constant positions differ for the
/// batch and each sample has its own.
fn moved(
    of: &Followed<'_, '_>,
    place: SamplePlace,
    batch: i64,
) -> Result<Option<SamplePlace>, BatchFault> {
    of.is_short(place)?;
    let (data, which) = (of.operand(0)?, of.operand(1)?);
    let (Some(one), Some(all)) = (which.constant, which.of_all()) else {
        return Ok(None);
    };
    let (dims, one) = indices::nd(data.dims, one, batch)?;
    let (all_dims, all) = indices::nd(&data.all_dims(of.batch), all, batch)?;
    let Some(axis) = grown(&dims, &all_dims, of.batch) else {
        return Ok(None);
    };
    let fits = |answer: &SamplePlace| {
        all.iter().enumerate().all(|(n, &position)| {
            let (sample, own) = answer.split(n, &dims, of.batch);
            let (of_sample, inside) = place.split(position, data.dims, of.batch);
            sample == of_sample && one.get(own) == Some(&inside)
        })
    };
    let outers = (1..=dims[axis]).filter(|outer| dims[axis].is_multiple_of(*outer));
    let mut places = outers.map(|outer| SamplePlace {
        axis,
        outer,
        inner: dims[axis] / outer,
    });
    Ok(places.find(fits))
}

/// Updates have to lie in the sample that they are made of.
pub(super) fn scatter(of: &Followed<'_, '_>) -> FollowedAnswers {
    let (data, which, updates) = (of.operand(0)?, of.operand(1)?, of.operand(2)?);
    let place = of.sample_place(0)?;
    let at = |dims: &[usize], which: Option<&Constant>| {
        let which = which.ok_or(BatchFault::Single)?;
        Ok::<_, BatchFault>(match of.node.operator() {
            Some("ScatterND") => indices::nd(dims, which, 0)?.1,
            _ => indices::elements(dims, which, of.node.integer("axis"))?.1,
        })
    };
    let one = at(data.dims, which.constant)?;
    let all = at(&data.all_dims(of.batch), which.of_all())?;
    let own = match updates.batched {
        Some(_) => of.sample_place(2)?,
        None => return mixes(place.axis),
    };
    let fits = |(n, &position): (usize, &usize)| {
        let (sample, update) = own.split(n, updates.dims, of.batch);
        let (of_sample, inside) = place.split(position, data.dims, of.batch);
        sample == of_sample && one.get(update) == Some(&inside)
    };
    match all.iter().enumerate().all(fits) {
        true => of.all_at(place),
        false => mixes(place.axis),
    }
}
