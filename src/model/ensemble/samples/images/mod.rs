//! Images as samples: a file is one sample, a folder is many.
//!
//! PNG, JPEG and WebP are read like PIL's `convert("RGB")` or `convert("L")`: colours under
//! transparent pixels are kept, 16 bits become 8, colours become grey by the weights of ITU-R 601,
//! and EXIF's orientation is ignored. Their values are whole numbers from 0 to 255.

mod decode;
mod error;
mod fit;
mod folder;
mod jpeg;
mod masks;
mod pixels;
mod resample;

use std::path::Path;

use divisi_runtime::network::Shape;
use divisi_runtime::reading;

use super::error::SamplesError;
use super::form::{ImageLayout, MOST_BYTES, SampleForm};
use super::rows::{SampleSource, Samples};
use super::table::{Number, NumberTable};

use folder::ImageFile;

pub(super) use masks::{of_folder as masks_of_folder, stem};

pub use error::ImageError;
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
pub(super) fn of_file(bytes: &[u8], form: &SampleForm<'_>) -> Result<Samples, SamplesError> {
    let mut rows = ImageRows::new(form, 1)?;
    rows.add(bytes)?;
    rows.finish()
}

/// Reads images without labels, each from its name and bytes.
pub(super) fn of_files(
    files: &[(&str, &[u8])],
    form: &SampleForm<'_>,
) -> Result<Samples, SamplesError> {
    let mut rows = ImageRows::new(form, files.len())?;
    for (name, bytes) in files {
        let added = rows.add(bytes);
        added.map_err(|e| SamplesError::from(e).within(*name))?;
    }
    rows.finish()
}

/// Reads the images in a folder in order, and their labels if they lie in class folders.
pub(super) fn of_folder(folder: &Path, form: &SampleForm<'_>) -> Result<Samples, SamplesError> {
    let files = folder::images(folder, form.targets())?;
    let mut rows = ImageRows::new(form, files.len())?;
    for file in &files {
        rows.read(file).map_err(|e| e.within(&*file.name))?;
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
    fn new(form: &SampleForm<'_>, count: usize) -> Result<Self, SamplesError> {
        let (channels, size) = match form.shape {
            Shape::Image {
                channels: channels @ (1 | 3),
                height,
                width,
            } => (channels, [height, width]),
            shape => return Err(ImageError::Input(shape.to_string()).into()),
        };
        let bytes = form.shape.elements();
        let most = usize::try_from(MOST_BYTES).map_or(usize::MAX, |most| most / bytes);
        if count > most {
            return Err(SamplesError::Many { most, found: count });
        }
        let mut pixels = Vec::new();
        let taken = pixels.try_reserve_exact(count * bytes);
        taken.map_err(|_| SamplesError::Memory { samples: count })?;
        Ok(ImageRows {
            shape: form.shape,
            channels,
            size,
            fit: form.image_fit,
            pixels,
        })
    }

    fn read(&mut self, file: &ImageFile) -> Result<(), SamplesError> {
        let bytes = reading::bytes(&file.path);
        let bytes = bytes.map_err(|e| SamplesError::Unreadable(e.to_string()))?;
        self.add(&bytes)?;
        Ok(())
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), ImageError> {
        let image = decode::decode(bytes)?.in_channels(self.channels);
        let window = self.fit.window([image.height, image.width], self.size)?;
        let planes = resample::planes(&image, &window);
        // A grey image has one plane for all three colours.
        for _ in 0..self.channels / image.channels {
            self.pixels.extend_from_slice(&planes);
        }
        Ok(())
    }

    fn finish(self) -> Result<Samples, SamplesError> {
        let (values, width) = (self.pixels.len(), self.shape.elements());
        let table = NumberTable::new(self.pixels, 0, values, Number::U8, false);
        let table = table.ok_or(SamplesError::Empty)?;
        let source = SampleSource::File(table, self.shape, ImageLayout::Nchw);
        Samples::from_source(source, values / width, width)
    }
}
