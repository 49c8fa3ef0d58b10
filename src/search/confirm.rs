//! What is reported was run beside the start, whatever it was found by.

use crate::allocation::Matrix;

use super::comparison::{Comparison, compare};
use super::control::Control;
use super::doubt::Doubt;
use super::evaluator::{Evaluator, SearchError};
use super::found::Found;
use super::model::RUN;

/// What a search over runs `found`, run once more in turn with the `start`: its score was
/// the best of many and is too good. The start stays unless this is faster for sure.
/// Exact scores stand as they are.
///
/// # Errors
/// A run broke down, or the search was cancelled.
pub fn confirm(
    start: &Matrix,
    found: Found,
    judge: &mut dyn Evaluator,
    control: &Control,
) -> Result<Found, SearchError> {
    if found.matrix == *start {
        return Ok(found);
    }
    if found.doubt == Doubt::Exact {
        let gain = Comparison::exact(found.start_score, found.score);
        return Ok(Found {
            gain: Some(gain),
            ..found
        });
    }
    Ok(match compare(start, &found.matrix, RUN, judge, control)? {
        Some(compared) => found.compared(compared).or(start),
        None => found,
    })
}

/// What a rule gives, scored beside the start where that is another.
pub(super) fn measured(
    start: &Matrix,
    matrix: Matrix,
    judge: &mut dyn Evaluator,
    control: &Control,
) -> Result<Found, SearchError> {
    control.checkpoint()?;
    let first = judge.score(start, 0.0)?;
    control.update(|p| {
        p.evaluations += 1;
        p.set_out(start, first);
    });
    let found = Found {
        evaluations: 1,
        ..Found::of(start.clone(), first, first)
    };
    if matrix == *start {
        return Ok(found);
    }
    let compared = compare(start, &matrix, RUN, judge, control)?;
    let found = Found { matrix, ..found };
    Ok(match compared {
        Some(compared) => found.compared(compared),
        None => {
            let score = judge.score(&found.matrix, 0.0)?;
            Found {
                score: score.samples_per_s,
                doubt: score.doubt,
                ..found
            }
        }
    })
}
