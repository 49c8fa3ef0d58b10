//! Images with class numbers as pixels, used as targets: one PNG per sample, in a folder.

use std::collections::HashMap;
use std::io::Cursor;
use std::path::Path;

use png::{BitDepth, ColorType, Decoder, Encoder, Limits, Transformations};

use crate::ensemble::samples::error::{many_samples, no_memory, no_targets_name, wrong_cell};
use crate::ensemble::samples::form::{MOST_BYTES, SampleForm};
use crate::ensemble::samples::targets::{TargetColumns, TargetNumbers, Targets};
use divisi_runtime::network::Shape;
use divisi_runtime::reading::{self, ReadError};

use super::decode::MOST_WORK;
use super::fit::{ImageFit, ImageWindow};
use super::folder::{ImageFile, plain_images};
use super::pixels::{check_claim, check_size, damaged, zeros};

/// Reads the mask of each image in `names`: the PNG with the same name except the extension. If
/// images have no names, takes the masks in name order.
pub(in crate::ensemble::samples) fn of_folder(
    folder: &Path,
    names: &[String],
    form: &SampleForm<'_>,
) -> Result<Targets, ReadError> {
    let masks = MaskRows::new(form)?;
    let files = paired(plain_images(folder)?, names)?;
    let mut values = Vec::new();
    let width = masks.columns.count;
    let most = usize::try_from(MOST_BYTES).map_or(usize::MAX, |most| most / 4 / width.max(1));
    if files.len() > most {
        return Err(many_samples(most, files.len()));
    }
    let taken = values.try_reserve_exact(files.len() * width);
    taken.map_err(|_| no_memory(files.len()))?;
    for file in &files {
        let read = masks.read(file, &mut values);
        read.map_err(|e| e.at(&file.name))?;
    }
    Ok(Targets::Rows { width, values })
}

/// Returns the file's name without its extension, which masks and images share.
pub(in crate::ensemble::samples) fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Returns the masks in the order of the images.
fn paired(masks: Vec<ImageFile>, names: &[String]) -> Result<Vec<ImageFile>, ReadError> {
    if names.is_empty() {
        return Ok(masks);
    }
    let named = masks
        .into_iter()
        .map(|mask| (stem(&mask.name).to_owned(), mask));
    let mut named: HashMap<String, ImageFile> = named.collect();
    let of = |name: &String| {
        let mask = named.remove(name);
        mask.ok_or_else(|| ReadError::expected(format_args!("a mask `{name}.png`"), "none"))
    };
    names.iter().map(of).collect()
}

/// The conversion of masks to rows of targets.
struct MaskRows<'a> {
    columns: TargetColumns<'a>,
    fit: ImageFit,
    /// The height and width of samples.
    sample: [usize; 2],
    /// The height and width of answers.
    sides: [usize; 2],
}

impl<'a> MaskRows<'a> {
    fn new(form: &SampleForm<'a>) -> Result<Self, ReadError> {
        let rows = form.rows.map(|columns| (columns, columns.numbers));
        let (
            Some((columns, TargetNumbers::Positions { sides, .. })),
            Shape::Image { height, width, .. },
        ) = (rows, form.shape)
        else {
            return Err(no_targets_name());
        };
        Ok(MaskRows {
            columns,
            fit: form.image_fit,
            sample: [height, width],
            sides,
        })
    }

    fn read(&self, file: &ImageFile, values: &mut Vec<f32>) -> Result<(), ReadError> {
        let bytes = reading::bytes(&file.path).map_err(ReadError::new)?;
        let mask = ClassImage::decode(&bytes)?;
        let window = self.fit.window([mask.height, mask.width], self.sample)?;
        let [rows, columns] = [0, 1].map(|axis| self.nearest(&mask, &window, axis));
        for row in &rows {
            for column in &columns {
                let class = mask.pixels[row * mask.width + column];
                let cell = self.columns.cell(class.into());
                values.push(
                    cell.ok_or_else(|| wrong_cell(*row, *column, self.columns.expected(), class))?,
                );
            }
        }
        Ok(())
    }

    /// Returns the row or column of the mask for each row or column of an answer: the nearest one,
    /// as PIL's filter `NEAREST` does.
    fn nearest(&self, mask: &ClassImage, window: &ImageWindow, axis: usize) -> Vec<usize> {
        let size = [mask.height, mask.width][axis];
        let scaled = |at: usize, from: usize, to: usize| (2 * at + 1) * from / (2 * to);
        let each = (0..self.sides[axis]).map(|at| {
            let at = window.part[axis].start + scaled(at, self.sample[axis], self.sides[axis]);
            scaled(at, size, window.size[axis]).min(size - 1)
        });
        each.collect()
    }
}

/// An image with class numbers as pixels.
struct ClassImage {
    height: usize,
    width: usize,
    pixels: Vec<u16>,
}

impl ClassImage {
    /// Decodes a greyscale or palette PNG. The palette's colours are ignored.
    fn decode(bytes: &[u8]) -> Result<Self, ReadError> {
        let wrong = |error: png::DecodingError| damaged("PNG", &error);
        let limits = Limits { bytes: MOST_WORK };
        let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), limits);
        decoder.set_transformations(Transformations::IDENTITY);
        decoder.set_ignore_text_chunk(true);
        decoder.set_ignore_iccp_chunk(true);
        let (width, height) = decoder.read_header_info().map_err(wrong)?.size();
        let (width, height) = (width as usize, height as usize);
        check_size(width, height)?;
        check_claim(width * height, bytes)?;
        let mut reader = decoder.read_info().map_err(wrong)?;
        let mut packed = zeros(reader.output_buffer_size().unwrap_or(usize::MAX))?;
        let info = reader.next_frame(&mut packed).map_err(wrong)?;
        if !matches!(info.color_type, ColorType::Grayscale | ColorType::Indexed) {
            let wrong = "expected a greyscale or palette PNG with class numbers as pixels";
            return Err(ReadError::new(wrong));
        }
        let (height, width) = (info.height as usize, info.width as usize);
        let rows = packed.chunks_exact(info.line_size.max(1)).take(height);
        let bits = info.bit_depth as usize;
        Ok(ClassImage {
            height,
            width,
            pixels: rows.flat_map(|row| unpacked(row, bits, width)).collect(),
        })
    }
}

/// Returns the numbers of a row of pixels of 1, 2, 4, 8 or 16 bits. The highest bits come first.
fn unpacked(row: &[u8], bits: usize, width: usize) -> impl Iterator<Item = u16> + '_ {
    (0..width).map(move |at| match bits {
        16 => u16::from_be_bytes([row[2 * at], row[2 * at + 1]]),
        _ => {
            let (byte, place) = (at * bits / 8, at * bits % 8);
            let mask = u8::MAX >> (8 - bits);
            (row[byte] >> (8 - bits - place) & mask).into()
        }
    })
}

/// Returns the bytes of a greyscale PNG of this height and width with class numbers below `most`: 8
/// bits, or 16 bits for more than 255 classes. The highest number stands for no class.
///
/// # Errors
/// The number of class numbers differs from the number of pixels.
pub fn to_mask_png(
    classes: &[Option<u32>],
    most: usize,
    [height, width]: [usize; 2],
) -> Result<Vec<u8>, ReadError> {
    let is_small = most <= usize::from(u8::MAX);
    let number = |class: &Option<u32>| class.and_then(|class| u16::try_from(class).ok());
    let numbers = classes
        .iter()
        .map(|class| number(class).unwrap_or(u16::MAX).to_be_bytes());
    let data: Vec<u8> = match is_small {
        true => numbers.map(|[_, low]| low).collect(),
        false => numbers.flatten().collect(),
    };
    let wrong = |error: png::EncodingError| damaged("PNG", &error);
    let sides = [width, height].map(|side| u32::try_from(side).unwrap_or(u32::MAX));
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, sides[0], sides[1]);
    encoder.set_color(ColorType::Grayscale);
    encoder.set_depth(if is_small {
        BitDepth::Eight
    } else {
        BitDepth::Sixteen
    });
    let mut writer = encoder.write_header().map_err(wrong)?;
    writer.write_image_data(&data).map_err(wrong)?;
    writer.finish().map_err(wrong)?;
    Ok(bytes)
}
