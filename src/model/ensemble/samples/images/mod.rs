//! Images as samples: a file is one sample, a folder is many.
//!
//! PNG, JPEG and WebP are read like PIL's `convert("RGB")` or `convert("L")`: colours under
//! transparent pixels are kept, 16 bits become 8, colours become grey by the weights of ITU-R 601,
//! and EXIF's orientation is ignored. Their values are whole numbers from 0 to 255.

mod decode;
mod fit;
mod folder;
mod jpeg;
mod masks;
mod pixels;
mod resample;

use std::path::Path;

use divisi_runtime::network::Shape;
use divisi_runtime::reading::{self, ReadError};

use super::error::{many_samples, no_memory, no_samples};
use super::form::{ImageLayout, MOST_BYTES, SampleForm};
use super::rows::{SampleSource, Samples};
use super::table::{Number, NumberTable};

use folder::ImageFile;

pub(super) use masks::{of_folder as masks_of_folder, stem};

pub use fit::ImageFit;
pub use masks::to_mask_png;

/// The file extensions of images.
const ENDS: [&str; 4] = ["png", "jpg", "jpeg", "webp"];

/// Returns whether the file `name` is an image.
pub(super) fn is_image(name: &str) -> bool {
    let end = name.rsplit_once('.').map(|(_, end)| end);
    end.is_some_and(|end| ENDS.iter().any(|known| end.eq_ignore_ascii_case(known)))
}

/// Reads the bytes of an image as a single sample.
pub(super) fn of_file(bytes: &[u8], form: &SampleForm<'_>) -> Result<Samples, ReadError> {
    let mut rows = ImageRows::new(form, 1)?;
    rows.add(bytes)?;
    rows.finish()
}

/// Reads images without labels, each from its name and bytes.
pub(super) fn of_files(
    files: &[(&str, &[u8])],
    form: &SampleForm<'_>,
) -> Result<Samples, ReadError> {
    let mut rows = ImageRows::new(form, files.len())?;
    for (name, bytes) in files {
        let added = rows.add(bytes);
        added.map_err(|e| e.at(name))?;
    }
    rows.finish()
}

/// Reads the images in a folder in order, and their labels if they lie in class folders.
pub(super) fn of_folder(folder: &Path, form: &SampleForm<'_>) -> Result<Samples, ReadError> {
    let files = folder::images(folder, form.targets())?;
    let mut rows = ImageRows::new(form, files.len())?;
    for file in &files {
        rows.read(file).map_err(|e| e.at(&file.name))?;
    }
    let names = files.iter().map(|file| masks::stem(&file.name).to_owned());
    let samples = rows.finish()?.named(names.collect());
    match files.iter().map(|file| file.class).collect() {
        Some(labels) => samples.with_labels(labels),
        None => Ok(samples),
    }
}

/// The images read, plane by plane.
struct ImageRows {
    shape: Shape,
    channels: usize,
    size: [usize; 2],
    fit: ImageFit,
    pixels: Vec<u8>,
}

impl ImageRows {
    /// Allocates the memory for `count` images.
    fn new(form: &SampleForm<'_>, count: usize) -> Result<Self, ReadError> {
        let (channels, size) = match form.shape {
            Shape::Image {
                channels: channels @ (1 | 3),
                height,
                width,
            } => (channels, [height, width]),
            shape => {
                return Err(ReadError::expected(
                    "an input of 1 channel (grey) or 3 (red, green, blue) for images",
                    shape,
                ));
            }
        };
        let bytes = form.shape.elements();
        let most = usize::try_from(MOST_BYTES).map_or(usize::MAX, |most| most / bytes);
        if count > most {
            return Err(many_samples(most, count));
        }
        let mut pixels = Vec::new();
        let taken = pixels.try_reserve_exact(count * bytes);
        taken.map_err(|_| no_memory(count))?;
        Ok(ImageRows {
            shape: form.shape,
            channels,
            size,
            fit: form.image_fit,
            pixels,
        })
    }

    fn read(&mut self, file: &ImageFile) -> Result<(), ReadError> {
        self.add(&reading::bytes(&file.path).map_err(ReadError::new)?)
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), ReadError> {
        let image = decode::decode(bytes)?.in_channels(self.channels);
        let window = self.fit.window([image.height, image.width], self.size)?;
        let planes = resample::planes(&image, &window);
        // A grey image has one plane for all three colours.
        for _ in 0..self.channels / image.channels {
            self.pixels.extend_from_slice(&planes);
        }
        Ok(())
    }

    fn finish(self) -> Result<Samples, ReadError> {
        let (values, width) = (self.pixels.len(), self.shape.elements());
        let table = NumberTable::new(self.pixels, 0, values, Number::U8, false);
        let table = table.ok_or_else(no_samples)?;
        let source = SampleSource::File(table, self.shape, ImageLayout::Nchw);
        Samples::from_source(source, values / width, width)
    }
}
