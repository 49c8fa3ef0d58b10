//! The ensemble's input, and what members take in its place.

use toml::Spanned;

use super::super::Input;
use super::super::error::EnsembleError;
use super::super::manifest::{InputTable, MemberInput};
use super::page::Page;
use crate::network::Shape;

pub(super) fn ensemble(page: &Page<'_>, table: &InputTable) -> Result<Input, EnsembleError> {
    Ok(Input {
        shape: shape(page, "input.shape", &table.shape)?,
        scale: number(page, "input.scale", table.scale.as_ref(), 1.0)?,
        shift: number(page, "input.shift", table.shift.as_ref(), 0.0)?,
    })
}

/// A member's own input; what it does not say is the ensemble's.
pub(super) fn member(
    page: &Page<'_>,
    table: Option<&MemberInput>,
    of_ensemble: &Input,
) -> Result<Input, EnsembleError> {
    let Some(table) = table else {
        return Ok(*of_ensemble);
    };
    let field = |name: &str| format!("members.input.{name}");
    let shape = match &table.shape {
        None => of_ensemble.shape,
        Some(written) => {
            let own = shape(page, &field("shape"), written)?;
            check_resize(of_ensemble.shape, own).map_err(|why| {
                let why = format!("{}: {why}", field("shape"));
                page.wrong(written.span().start, why)
            })?;
            own
        }
    };
    let (scale, shift) = (table.scale.as_ref(), table.shift.as_ref());
    Ok(Input {
        shape,
        scale: number(page, &field("scale"), scale, of_ensemble.scale)?,
        shift: number(page, &field("shift"), shift, of_ensemble.shift)?,
    })
}

/// Images of as many channels can be resized; anything else has to be equal.
fn check_resize(sample: Shape, own: Shape) -> Result<(), String> {
    match (sample, own) {
        _ if sample == own => Ok(()),
        (Shape::Image { channels, .. }, Shape::Image { channels: c, .. }) if channels == c => {
            Ok(())
        }
        (Shape::Image { channels, .. }, _) => Err(format!(
            "expected an image of {channels} channels, as the ensemble's input ({sample}) has, found {own}"
        )),
        (Shape::Vector { .. }, _) => Err(format!(
            "expected {sample}, the ensemble's input: a vector cannot be resized, found {own}"
        )),
    }
}

fn shape(
    page: &Page<'_>,
    field: &str,
    written: &Spanned<Vec<i64>>,
) -> Result<Shape, EnsembleError> {
    let dims = written.get_ref().iter().map(|&d| usize::try_from(d).ok());
    dims.collect::<Option<Vec<usize>>>()
        .ok_or_else(|| "no dimension may be negative".to_owned())
        .and_then(Shape::try_from)
        .map_err(|why| page.wrong(written.span().start, format!("{field}: {why}")))
}

fn number(
    page: &Page<'_>,
    field: &str,
    written: Option<&Spanned<f64>>,
    default: f32,
) -> Result<f32, EnsembleError> {
    match written {
        None => Ok(default),
        Some(v) if (*v.get_ref() as f32).is_finite() => Ok(*v.get_ref() as f32),
        Some(v) => Err(page.wrong(v.span().start, format!("{field}: expected a finite number"))),
    }
}
