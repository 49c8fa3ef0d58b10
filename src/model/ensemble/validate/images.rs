//! Reads how images become samples.

use crate::ensemble::ImageFit;
use crate::ensemble::manifest::{CropTable, EnsembleError, InputTable, ManifestSource};
use divisi_runtime::network::Shape;

/// The maximum number of pixels of a side after resizing.
const MOST_SIDE: i64 = 1 << 14;

/// Reads how images become samples of `shape`.
pub(super) fn fit(
    source: &ManifestSource<'_>,
    table: &InputTable,
    shape: Shape,
) -> Result<ImageFit, EnsembleError> {
    let resize = table.resize.as_ref();
    let written = resize.map(|r| ("resize", r.span().start));
    let written = written.or(table.crop.as_ref().map(|c| ("crop", c.span().start)));
    let Some((field, at)) = written else {
        return Ok(ImageFit::Stretch);
    };
    let Shape::Image { height, width, .. } = shape else {
        let why = format!("input.{field}: expected an input of images, found {shape}");
        return Err(source.wrong(at, why));
    };
    check_crop(source, table, [height, width])?;
    let resize = resize.map(|r| source.count("input.resize", r, MOST_SIDE));
    let resize = resize.transpose()?;
    match resize {
        Some(side) if side < height.min(width) => Err(source.wrong(
            at,
            format!(
                "input.resize: expected at least {}, the shorter side of the input, found {side}",
                height.min(width)
            ),
        )),
        resize => Ok(ImageFit::Crop { resize }),
    }
}

/// Checks that the crop has the input's height and width.
fn check_crop(
    source: &ManifestSource<'_>,
    table: &InputTable,
    [height, width]: [usize; 2],
) -> Result<(), EnsembleError> {
    let Some(crop) = &table.crop else {
        return Ok(());
    };
    let found = match *crop.get_ref() {
        CropTable::Side(side) => [side; 2],
        CropTable::HeightAndWidth(both) => both,
    };
    if found == [height as i64, width as i64] {
        return Ok(());
    }
    let why = format!(
        "input.crop: expected {height}×{width}, the input's height and width, found {}×{}",
        found[0], found[1]
    );
    Err(source.wrong(crop.span().start, why))
}
