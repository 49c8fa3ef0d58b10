//! Box targets: COCO annotations, or a list of boxes for each sample.

use std::collections::HashMap;
use std::fmt::Display;

use serde::Deserialize;

use crate::ensemble::boxes::{Corners, TargetBox};
use divisi_runtime::network::Shape;
use divisi_runtime::reading::ReadError;
use divisi_runtime::words::one_line;

use super::form::{Classes, SampleForm};
use super::images::{self, ImageFit};
use super::targets::Targets;

/// Reads COCO annotations, or lines of boxes, from the bytes of the file `name`, for samples from
/// the files `names`. Returns `None` for other files.
pub(super) fn targets(
    name: &str,
    bytes: &[u8],
    names: &[String],
    form: &SampleForm<'_>,
) -> Result<Option<Targets>, ReadError> {
    let classes = form.boxes.unwrap_or(Classes::any());
    let end = name
        .rsplit_once('.')
        .map(|(_, end)| end.to_ascii_lowercase());
    let text = bytes.trim_ascii_start();
    let boxes = match (end.as_deref(), text.first()) {
        (Some("jsonl"), _) => lines(bytes, &classes)?,
        (Some("json"), Some(b'{')) => coco(text, names, form, &classes)?,
        _ => return Ok(None),
    };
    Ok(Some(Targets::Boxes(boxes)))
}

fn parse<'de, T: Deserialize<'de>>(text: &'de [u8]) -> Result<T, ReadError> {
    serde_json::from_slice(text).map_err(|e| {
        ReadError::new(e).at(
            "expected COCO's `images`, `annotations` and `categories`, or lists of [class, x, y, \
             width, height]",
        )
    })
}

/// A class by its number or its name.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected the number or name of a class")]
enum WrittenClass {
    Number(u32),
    Name(String),
}

/// A class, left, top, width and height.
#[derive(Deserialize)]
pub(super) struct WrittenBox(WrittenClass, f32, f32, f32, f32);

fn lines(bytes: &[u8], classes: &Classes<'_>) -> Result<Vec<Vec<TargetBox>>, ReadError> {
    let lines = bytes
        .split(|b| *b == b'\n')
        .filter(|line| !line.trim_ascii().is_empty());
    let sample = |(row, line): (usize, &[u8])| {
        let boxes: Vec<WrittenBox> = parse(line).map_err(|e| e.at(format_args!("row {row}")))?;
        of_sample(row, &boxes, classes)
    };
    lines.enumerate().map(sample).collect()
}

/// Returns the boxes of a sample, in pixels of the input.
pub(super) fn of_sample(
    row: usize,
    boxes: &[WrittenBox],
    classes: &Classes<'_>,
) -> Result<Vec<TargetBox>, ReadError> {
    let target = |WrittenBox(class, x, y, width, height): &WrittenBox| {
        let class = match class {
            WrittenClass::Number(number) => classes.numbered((*number).into()),
            WrittenClass::Name(name) => classes.named(name),
        };
        let class = class.map_err(|error| error.at(format_args!("row {row}")))?;
        Ok(TargetBox {
            class: u32::try_from(class).unwrap_or(u32::MAX),
            corners: corners([*x, *y, *width, *height])?,
            is_crowd: false,
        })
    };
    boxes.iter().map(target).collect()
}

/// Returns the corners of a box from its left, top, width and height.
fn corners([x, y, width, height]: [f32; 4]) -> Result<Corners, ReadError> {
    let corners = [x, y, x + width, y + height];
    let is_box = corners.iter().all(|c| c.is_finite()) && width >= 0.0 && height >= 0.0;
    is_box.then_some(corners).ok_or_else(|| {
        ReadError::expected(
            "a box [x, y, width, height] of finite numbers",
            format_args!("[{x}, {y}, {width}, {height}]"),
        )
    })
}

/// COCO annotations of images.
#[derive(Deserialize)]
struct Coco {
    images: Vec<CocoImage>,
    annotations: Vec<CocoAnnotation>,
    categories: Vec<CocoCategory>,
}

#[derive(Deserialize)]
struct CocoImage {
    id: u64,
    file_name: String,
    width: usize,
    height: usize,
}

#[derive(Deserialize)]
struct CocoAnnotation {
    image_id: u64,
    category_id: u64,
    bbox: [f32; 4],
    #[serde(default)]
    iscrowd: u8,
}

#[derive(Deserialize)]
struct CocoCategory {
    id: u64,
    name: String,
}

/// Reads the boxes of the images `names`, or of all images in their order. Boxes of categories that
/// are not classes of the ensemble are left out, but at least one category must be a class.
fn coco(
    text: &[u8],
    names: &[String],
    form: &SampleForm<'_>,
    classes: &Classes<'_>,
) -> Result<Vec<Vec<TargetBox>>, ReadError> {
    let coco: Coco = parse(text)?;
    let numbers = class_numbers(&coco.categories, classes);
    if let (true, Some(first)) = (numbers.is_empty(), coco.categories.first()) {
        return Err(ReadError::expected(
            "`categories` with the names of classes",
            format_args!("`{}`", one_line(&first.name)),
        ));
    }
    let places = sample_places(&coco.images, names)?;
    let samples = if names.is_empty() {
        coco.images.len()
    } else {
        names.len()
    };
    let mut boxes = vec![Vec::new(); samples];
    let images: HashMap<u64, &CocoImage> = coco.images.iter().map(|i| (i.id, i)).collect();
    for annotation in &coco.annotations {
        let place = places.get(&annotation.image_id);
        let image = images.get(&annotation.image_id);
        let class = numbers.get(&annotation.category_id);
        if let (Some(place), Some(image), Some(class)) = (place, image, class) {
            boxes[*place].push(TargetBox {
                class: *class,
                corners: in_sample(corners(annotation.bbox)?, image, form)?,
                is_crowd: annotation.iscrowd != 0,
            });
        }
    }
    Ok(boxes)
}

/// Returns the class of each category: the class of the same name, or, without names, its position
/// by category number.
fn class_numbers(categories: &[CocoCategory], classes: &Classes<'_>) -> HashMap<u64, u32> {
    let mut categories: Vec<&CocoCategory> = categories.iter().collect();
    categories.sort_by_key(|category| category.id);
    let class = |(place, category): (usize, &&CocoCategory)| {
        let class = match classes.names {
            Some(names) => names.iter().position(|name| *name == category.name)?,
            None => Some(place).filter(|place| *place < classes.count)?,
        };
        Some((category.id, u32::try_from(class).ok()?))
    };
    categories.iter().enumerate().filter_map(class).collect()
}

/// Returns the sample of each image, by its number.
fn sample_places(images: &[CocoImage], names: &[String]) -> Result<HashMap<u64, usize>, ReadError> {
    if names.is_empty() {
        return Ok(images
            .iter()
            .enumerate()
            .map(|(at, i)| (i.id, at))
            .collect());
    }
    let file = |name: &str| images::stem(name.rsplit('/').next().unwrap_or(name)).to_owned();
    let known = images
        .iter()
        .map(|image| (file(&image.file_name), image.id));
    let known: HashMap<String, u64> = known.collect();
    let place = |(at, name): (usize, &String)| {
        let id = known.get(name).ok_or_else(|| no_image(name))?;
        Ok((*id, at))
    };
    names.iter().enumerate().map(place).collect()
}

fn no_image(name: impl Display) -> ReadError {
    ReadError::new(format_args!(
        "expected the image `{name}` under `images`, with a width and a height"
    ))
}

/// Returns the corners of a box of an image in the sample that the image becomes.
fn in_sample(
    corners: Corners,
    image: &CocoImage,
    form: &SampleForm<'_>,
) -> Result<Corners, ReadError> {
    let Shape::Image { height, width, .. } = form.shape else {
        return Ok(corners);
    };
    let (size, sample) = ([image.height, image.width], [height, width]);
    if size.contains(&0) {
        return Err(no_image(image.file_name.escape_debug()));
    }
    let place = ImageFit::place(form.image_fit, size, sample)?;
    let moved = [0, 1, 0, 1].map(|axis| place[1 - axis]);
    let most = [width, height, width, height];
    let mut moved_corners = corners;
    for ((corner, (factor, offset)), most) in moved_corners.iter_mut().zip(moved).zip(most) {
        *corner = (f64::from(*corner) * factor - offset).clamp(0.0, most as f64) as f32;
    }
    Ok(moved_corners)
}
