//! Weights as brain floats, laid out for products: two of a column in the space of a float.

use half::bf16;

use super::super::panels::{Filters, Panels};

/// Inputs that are multiplied at a time.
const GROUP: usize = 2;

/// Lays weights out; `packed` has as many zeros as the panels have floats.
pub(super) fn pack(filters: Filters<'_>, panels: Panels, packed: &mut [f32]) {
    let bits: &mut [u16] = bytemuck::cast_slice_mut(packed);
    filters.columns(panels, GROUP, |column| {
        for (place, weight) in column.places(GROUP).zip(column.raw) {
            bits[place] = bf16::from_f32(column.factor * weight).to_bits();
        }
    });
}
