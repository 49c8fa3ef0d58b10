//! Where values hold the samples of a batch after they were moved, cut or joined.

use super::followed::{BatchFault, Batched, Followed, FollowedAnswers, depends_on_batch, mixes};
use super::lookups;
use super::place::{SamplePlace, grown};
use crate::onnx::fold::{axes, order, taken};
use crate::onnx::node::axis;
use crate::onnx::shapes::{broadcast_dims, reshape_dims, reshape_kept, sizes, split_sizes};
use crate::onnx::tensor::{Constant, Values};

/// Returns the answers of an operator that moves values, or `None` if it is another one.
pub(super) fn answers(operator: &str, of: &Followed<'_, '_>) -> Option<FollowedAnswers> {
    Some(match operator {
        "Reshape" => reshape(of),
        "Flatten" => flatten(of),
        "Squeeze" => squeeze(of),
        "Unsqueeze" => unsqueeze(of),
        "Transpose" => transpose(of),
        "Concat" => concat(of),
        "Split" => split(of),
        "Slice" => slice(of),
        "Gather" => lookups::gather(of),
        "GatherElements" => lookups::gather_elements(of),
        "GatherND" => lookups::gather_nd(of),
        "Scatter" | "ScatterElements" | "ScatterND" => lookups::scatter(of),
        "Expand" => expand(of),
        "Tile" => tile(of),
        "Pad" => pad(of),
        "OneHot" => one_hot(of),
        "Trilu" => triangle(of),
        _ => return None,
    })
}

fn mixes_samples<T>() -> Result<T, BatchFault> {
    let why = "it mixes the samples of a batch";
    Err(BatchFault::Mixes(why.into()))
}

/// The place after a view, whose dimensions for the batch are `of_all`.
fn viewed(of: &Followed<'_, '_>, of_all: &[usize]) -> FollowedAnswers {
    let x = of.operand(0)?;
    let answer = of.answers.first().ok_or(BatchFault::Single)?;
    match of
        .sample_place(0)?
        .reshaped(x.dims, [answer, of_all], of.batch)
    {
        Some(place) => of.all_at(place),
        None => mixes_samples(),
    }
}

fn reshape(of: &Followed<'_, '_>) -> FollowedAnswers {
    let target = of.operand(1)?.of_all().and_then(Constant::as_integers);
    let from = of.operand(0)?.all_dims(of.batch);
    let target = target.ok_or(BatchFault::Single)?;
    viewed(of, &reshape_dims(&from, target, reshape_kept(of.node))?)
}

fn flatten(of: &Followed<'_, '_>) -> FollowedAnswers {
    let from = of.operand(0)?.all_dims(of.batch);
    let at = match of.node.integer("axis").unwrap_or(1) {
        at if at == from.len() as i64 => from.len(),
        at => axis(at, from.len())?,
    };
    let (before, behind) = from.split_at(at);
    viewed(of, &[before.iter().product(), behind.iter().product()])
}

/// If no axis is named, the axis of the batch stays.
fn squeeze(of: &Followed<'_, '_>) -> FollowedAnswers {
    let (place, dims) = (of.sample_place(0)?, of.operand(0)?.dims);
    let gone: Vec<usize> = match axes(of.node, &of.constants()) {
        Some(written) => {
            let each = written.iter().map(|a| axis(*a, dims.len()));
            each.collect::<Result<_, _>>()?
        }
        None => (0..dims.len())
            .filter(|&a| dims[a] == 1 && a != place.axis)
            .collect(),
    };
    if gone.contains(&place.axis) {
        return Err(BatchFault::Single);
    }
    let before = gone.iter().filter(|a| **a < place.axis).count();
    of.all_at(place.along(place.axis - before))
}

fn unsqueeze(of: &Followed<'_, '_>) -> FollowedAnswers {
    let place = of.sample_place(0)?;
    let written = axes(of.node, &of.constants()).unwrap_or_default();
    let rank = of.rank(0)? + written.len();
    let new = written.iter().map(|a| axis(*a, rank));
    let new: Vec<usize> = new.collect::<Result<_, _>>()?;
    let mut old = (0..rank).filter(|a| !new.contains(a));
    let axis = old.nth(place.axis).ok_or(BatchFault::Single)?;
    of.all_at(place.along(axis))
}

fn transpose(of: &Followed<'_, '_>) -> FollowedAnswers {
    let place = of.sample_place(0)?;
    let order = order(of.rank(0)?, of.node.integers("perm"))?;
    let axis = order.iter().position(|a| *a == place.axis);
    of.all_at(place.along(axis.unwrap_or(0)))
}

fn concat(of: &Followed<'_, '_>) -> FollowedAnswers {
    let parts: Vec<usize> = (0..of.operands.len())
        .filter(|&n| of.operands[n].is_some())
        .collect();
    let placed = parts.iter().copied();
    let mut placed = placed.filter(|&n| of.operand(n).is_ok_and(|o| o.place().is_some()));
    let differs = || {
        parts
            .iter()
            .copied()
            .find(|&n| of.operand(n).is_ok_and(|o| o.differs()))
    };
    let first = placed.next().or_else(differs).ok_or(BatchFault::Single)?;
    let place = of.sample_place(first)?;
    let along = axis(of.node.integer("axis").unwrap_or(1), of.rank(first)?)?;
    if along == place.axis {
        return stacked(of, &parts, place);
    }
    let numbered = along > place.axis
        && of
            .operand(parts[0])
            .is_ok_and(|o| numbers(o.constant, o.of_all(), place, of.batch));
    for &n in &parts {
        let operand = of.operand(n)?;
        match (operand.constant, operand.batched) {
            _ if numbered && n == parts[0] => {}
            _ if operand.dims.contains(&0) => {}
            (_, None) => return Err(BatchFault::Single),
            (Some(one), Some(Batched::Constant(all))) if place.repeats(one, all, of.batch) => {}
            (_, Some(Batched::Constant(_))) => return Err(depends_on_batch()),
            _ if operand.place() == Some(place) => {}
            _ => return mixes(place.axis),
        }
    }
    Ok(vec![Some(match numbered {
        true => Batched::Numbered(place),
        false => Batched::Samples(place),
    })])
}

/// Returns whether a constant is the number of each sample of a batch.
fn numbers(
    of_one: Option<&Constant>,
    of_all: Option<&Constant>,
    place: SamplePlace,
    batch: usize,
) -> bool {
    let (Some(one), Some(all)) = (of_one, of_all) else {
        return false;
    };
    let (Values::Integers(first), Values::Integers(each)) = (&one.values, &all.values) else {
        return false;
    };
    let number = |(at, value): (usize, &i64)| {
        let (sample, _) = place.split(at, &one.dims, batch);
        *value == sample as i64
    };
    all.dims == place.dims(&one.dims, batch)
        && first.iter().all(|v| *v == 0)
        && each.iter().enumerate().all(number)
}

/// Parts one after another along the axis that holds the samples.
fn stacked(of: &Followed<'_, '_>, parts: &[usize], place: SamplePlace) -> FollowedAnswers {
    let mut outer = 0;
    for &n in parts {
        let own = of.sample_place(n);
        match own {
            Ok(own) if (own.axis, own.inner) == (place.axis, place.inner) => outer += own.outer,
            _ => return mixes(place.axis),
        }
    }
    of.all_at(SamplePlace { outer, ..place })
}

fn split(of: &Followed<'_, '_>) -> FollowedAnswers {
    let place = of.sample_place(0)?;
    of.is_short(place)?;
    let dims = of.operand(0)?.all_dims(of.batch);
    let along = axis(of.node.integer("axis").unwrap_or(0), dims.len())?;
    let given = of.operands.get(1).and_then(Option::as_ref);
    let all = split_sizes(of.node, given.and_then(|o| o.of_all()), dims[along])?;
    let single = of.operand(0)?.dims[along];
    let one = split_sizes(of.node, given.and_then(|o| o.constant), single)?;
    if along != place.axis {
        return match all == one {
            true => of.all_at(place),
            false => Err(depends_on_batch()),
        };
    }
    let (mut from, mut from_all) = (0, 0);
    let parts = one.iter().zip(&all).map(|(&count, &count_all)| {
        let own: Vec<usize> = (from..from + count).collect();
        let every: Vec<usize> = (from_all..from_all + count_all).collect();
        (from, from_all) = (from + count, from_all + count_all);
        match place.taken(&own, &every, of.batch) {
            Some(place) => Ok(Some(Batched::Samples(place))),
            None => mixes(along),
        }
    });
    parts.collect()
}

fn slice(of: &Followed<'_, '_>) -> FollowedAnswers {
    let mut place = of.sample_place(0)?;
    of.is_short(place)?;
    let x = of.operand(0)?;
    let one = taken(x.dims, of.node, &of.constants())?;
    let all = taken(&x.all_dims(of.batch), of.node, &of.all_constants())?;
    for (one, all) in one.iter().zip(&all) {
        if one.axis == place.axis {
            let taken = place.taken(&one.positions, &all.positions, of.batch);
            place = match taken {
                Some(place) => place,
                None => return mixes(one.axis),
            };
        } else if one.positions != all.positions {
            return Err(depends_on_batch());
        }
    }
    of.all_at(place)
}

fn expand(of: &Followed<'_, '_>) -> FollowedAnswers {
    let x = of.operand(0)?;
    let target = of.operand(1)?.of_all().ok_or(BatchFault::Single)?;
    let all = broadcast_dims(&x.all_dims(of.batch), &sizes(target)?)?;
    repeated(of, &all, false)
}

fn tile(of: &Followed<'_, '_>) -> FollowedAnswers {
    let repeats = sizes(of.operand(1)?.of_all().ok_or(BatchFault::Single)?)?;
    let dims = of.operand(0)?.all_dims(of.batch);
    let all: Vec<usize> = dims
        .iter()
        .zip(&repeats)
        .map(|(d, r)| d.saturating_mul(*r))
        .collect();
    if of.operand(0)?.batched.is_some() {
        let place = of.sample_place(0)?;
        let times = repeats.get(place.axis).copied().unwrap_or(1);
        let outer = place.outer.saturating_mul(times);
        let answer = of.answers.first().ok_or(BatchFault::Single)?;
        let place = SamplePlace { outer, ..place };
        return match place.dims(answer, of.batch) == all {
            true => of.all_at(place),
            false => Err(depends_on_batch()),
        };
    }
    repeated(of, &all, true)
}

/// Returns the place of a value that is repeated, perhaps for each sample: as a `whole`, or along a
/// dimension of 1.
fn repeated(of: &Followed<'_, '_>, all: &[usize], whole: bool) -> FollowedAnswers {
    let (x, answer) = (
        of.operand(0)?,
        of.answers.first().ok_or(BatchFault::Single)?,
    );
    let axis = grown(answer, all, of.batch).ok_or_else(depends_on_batch)?;
    let own = (axis + x.dims.len()).checked_sub(answer.len());
    if x.batched.is_some() {
        let place = of.sample_place(0)?;
        return match own == Some(place.axis) {
            true => of.all_at(place.along(axis)),
            false => mixes(axis),
        };
    }
    match whole || own.is_none_or(|own| x.dims[own] == 1) {
        true => of.all_at(SamplePlace {
            axis,
            outer: 1,
            inner: answer[axis],
        }),
        false => Err(depends_on_batch()),
    }
}

fn pad(of: &Followed<'_, '_>) -> FollowedAnswers {
    let place = of.sample_place(0)?;
    let x = of.operand(0)?;
    let answer = of.answers.first().ok_or(BatchFault::Single)?;
    let differs = of
        .operands
        .iter()
        .skip(1)
        .flatten()
        .any(|o| o.batched.is_some());
    match answer.get(place.axis) == x.dims.get(place.axis) {
        true if differs => Err(depends_on_batch()),
        true => of.all_at(place),
        false => mixes(place.axis),
    }
}

fn one_hot(of: &Followed<'_, '_>) -> FollowedAnswers {
    let place = of.sample_place(0)?;
    let along = axis(of.node.integer("axis").unwrap_or(-1), of.rank(0)? + 1)?;
    let behind = usize::from(along <= place.axis);
    of.all_at(place.along(place.axis + behind))
}

fn triangle(of: &Followed<'_, '_>) -> FollowedAnswers {
    let place = of.sample_place(0)?;
    match place.axis + 2 >= of.rank(0)? && of.rank(0)? >= 2 {
        true => mixes(place.axis),
        false => of.all_at(place),
    }
}
