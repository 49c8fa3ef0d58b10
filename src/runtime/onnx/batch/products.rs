//! Where products hold the samples of a batch.

use super::followed::{
    BatchFault, Followed, FollowedAnswers, FollowedOperand, depends_on_batch, mixes,
};
use super::place::SamplePlace;

/// An axis of a factor, as the answer sees it.
#[derive(Clone, Copy, PartialEq)]
enum AxisRole {
    /// It is summed over.
    Summed,
    /// It is this axis of the answer.
    Kept(usize),
}

/// Returns the place of the answer from the place of each factor and the role of its axis.
fn answer_place(factors: &[Option<(SamplePlace, AxisRole)>]) -> Result<SamplePlace, BatchFault> {
    let mut found: Option<(SamplePlace, AxisRole)> = None;
    for &(place, role) in factors.iter().flatten() {
        match found {
            None => found = Some((place, role)),
            Some((other, its)) => {
                let alike = (place.outer, place.inner) == (other.outer, other.inner);
                if !alike || role != its {
                    return mixes(place.axis);
                }
            }
        }
    }
    let several = factors.iter().flatten().count() > 1;
    match found {
        Some((place, AxisRole::Kept(axis))) => Ok(place.along(axis)),
        // With one factor alone the other's axis is too short for a larger batch.
        Some((place, AxisRole::Summed)) if several => mixes(place.axis),
        _ => Err(BatchFault::Single),
    }
}

/// Returns where a factor holds samples, and the role of that axis.
fn factor(
    of: &Followed<'_, '_>,
    n: usize,
    role: impl Fn(usize) -> AxisRole,
) -> Result<Option<(SamplePlace, AxisRole)>, BatchFault> {
    let Some(operand) = of.operands.get(n).and_then(Option::as_ref) else {
        return Ok(None);
    };
    if operand.batched.is_none() {
        return Ok(None);
    }
    let place = of.sample_place(n)?;
    Ok(Some((place, role(place.axis))))
}

/// Products of matrices; several at once if there are more axes.
pub(super) fn matmul(of: &Followed<'_, '_>) -> FollowedAnswers {
    let rank = of.answers.first().map_or(0, Vec::len);
    let (a, b) = (of.rank(0)?, of.rank(1)?);
    // Vectors have no row or no column, and the answer lacks the same axis.
    let (row, column) = (usize::from(a > 1), usize::from(b > 1));
    let before = |axis: usize, own: usize| AxisRole::Kept(axis + (rank - row - column) + 2 - own);
    let left = factor(of, 0, |axis| match own_axis(axis, a) {
        0 => AxisRole::Summed,
        1 => AxisRole::Kept(rank - 1 - column),
        _ => before(axis, a),
    })?;
    let right = factor(of, 1, |axis| match own_axis(axis, b) {
        0 if b == 1 => AxisRole::Summed,
        0 => AxisRole::Kept(rank - 1),
        1 => AxisRole::Summed,
        _ => before(axis, b),
    })?;
    let place = answer_place(&[left, right])?;
    short(of, &[0, 1], place)?;
    of.all_at(place)
}

/// Returns an axis counted from the end.
fn own_axis(axis: usize, rank: usize) -> usize {
    rank - 1 - axis
}

/// Checks that a factor without samples is repeated along the axis that holds them.
fn short(of: &Followed<'_, '_>, factors: &[usize], place: SamplePlace) -> Result<(), BatchFault> {
    let rank = of.answers.first().map_or(0, Vec::len);
    if place.axis + 2 >= rank {
        return Ok(());
    }
    for &n in factors {
        let operand = of.operand(n)?;
        let own = (place.axis + operand.dims.len()).checked_sub(rank);
        let size = own.and_then(|axis| operand.dims.get(axis)).copied();
        if operand.batched.is_none() && size.is_some_and(|size| size != 1) {
            return Err(BatchFault::Single);
        }
    }
    Ok(())
}

pub(super) fn gemm(of: &Followed<'_, '_>) -> FollowedAnswers {
    let turned = |name| of.node.integer(name).unwrap_or(0) != 0;
    let role = |axis: usize, kept: usize, at: usize| match axis == kept {
        true => AxisRole::Kept(at),
        false => AxisRole::Summed,
    };
    let left = factor(of, 0, |axis| role(axis, usize::from(turned("transA")), 0))?;
    let right = factor(of, 1, |axis| role(axis, usize::from(!turned("transB")), 1))?;
    let rank = of
        .operands
        .get(2)
        .and_then(Option::as_ref)
        .map_or(2, |c| c.dims.len());
    let addend = factor(of, 2, |axis| AxisRole::Kept(axis + 2 - rank.min(2)))?;
    // An addend with its own rows has one for each sample of a batch of its size.
    let rows = of.operands.get(2).and_then(Option::as_ref);
    let is_fixed =
        |c: &FollowedOperand<'_>| c.batched.is_none() && c.dims.len() == 2 && c.dims[0] > 1;
    if rows.is_some_and(is_fixed) && (left.is_some() || right.is_some()) {
        return match of.is_fixed {
            true => Err(BatchFault::Single),
            false => mixes(0),
        };
    }
    if let (None, None, Some((place, AxisRole::Kept(axis)))) = (left, right, addend) {
        return of.all_at(place.along(axis));
    }
    of.all_at(answer_place(&[left, right, addend])?)
}

/// Letters of both inputs that are one axis of the answer hold the samples of both.
pub(super) fn einsum(of: &Followed<'_, '_>) -> FollowedAnswers {
    let equation = of.node.text("equation").unwrap_or_default();
    let equation = String::from_utf8_lossy(equation).replace(' ', "");
    let Some((read, written)) = equation.split_once("->") else {
        return Err(depends_on_batch());
    };
    let mut factors = Vec::new();
    for (n, letters) in read.split(',').enumerate() {
        let rank = of.rank(n)?;
        let answer = of.answers.first().map_or(0, Vec::len);
        factors.push(factor(of, n, |axis| {
            match at(letters, axis, rank).and_then(|letter| place_of(written, letter, answer)) {
                Some(axis) => AxisRole::Kept(axis),
                None => AxisRole::Summed,
            }
        })?);
    }
    of.all_at(answer_place(&factors)?)
}

/// A letter of an equation, or an axis of its ellipsis, counted from the last one.
#[derive(Clone, Copy)]
enum AxisLetter {
    Named(char),
    Dots(usize),
}

fn at(letters: &str, axis: usize, rank: usize) -> Option<AxisLetter> {
    let Some((before, behind)) = letters.split_once("...") else {
        return letters.chars().nth(axis).map(AxisLetter::Named);
    };
    let (first, last) = (before.chars().count(), behind.chars().count());
    let dots = rank.checked_sub(first + last)?;
    if axis < first {
        before.chars().nth(axis).map(AxisLetter::Named)
    } else if axis < first + dots {
        Some(AxisLetter::Dots(first + dots - 1 - axis))
    } else {
        behind
            .chars()
            .nth(axis - first - dots)
            .map(AxisLetter::Named)
    }
}

fn place_of(written: &str, letter: AxisLetter, rank: usize) -> Option<usize> {
    (0..rank).find(|&axis| match (at(written, axis, rank), letter) {
        (Some(AxisLetter::Named(a)), AxisLetter::Named(b)) => a == b,
        (Some(AxisLetter::Dots(a)), AxisLetter::Dots(b)) => a == b,
        _ => false,
    })
}
