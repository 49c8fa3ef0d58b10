//! A JPEG decoder, identical to libjpeg's default to the bit.
//!
//! Supports baseline, extended and progressive files of 8 bits with Huffman codes, with components
//! in any order of scans. Other codings are refused by name. Data that do not match their header
//! are also refused, so no pixels are invented.
//!
//! `segments` finds markers, and `frame`, `tables` and `scan` read their contents. `bits`,
//! `huffman` and `blocks` decode the data of a scan, `idct` converts coefficients to samples, and
//! `upsample` and `colours` convert samples to pixels. Numbers in a file are not trusted: memory is
//! allocated once the file is long enough for the blocks that it claims.

mod bits;
mod blocks;
mod colours;
mod error;
mod frame;
mod huffman;
mod idct;
mod markers;
mod parts;
mod scan;
mod segments;
mod tables;
mod upsample;

use colours::{ColourMarks, JpegColours};
use error::JpegError;
use frame::JpegFrame;
use parts::ComponentData;
use scan::ScanHeader;
use segments::Segments;
use tables::JpegTables;
use upsample::EnlargedRows;

use divisi_runtime::reading::ReadError;

use super::pixels::{DecodedImage, zeros};

/// The maximum number of scans of a JPEG. Each scan may need a pass over all blocks. Usual files
/// have a few dozen.
const MOST_SCANS: usize = 500;

/// Decodes a JPEG.
pub(super) fn decode(bytes: &[u8]) -> Result<DecodedImage, ReadError> {
    let reader = JpegReader {
        bytes,
        segments: Segments::of_file(bytes),
        tables: JpegTables::default(),
        restart: 0,
        scans: 0,
        marks: ColourMarks::default(),
        image: None,
    };
    Ok(reader.read()?.finish()?)
}

/// A JPEG while its segments are read.
struct JpegReader<'a> {
    bytes: &'a [u8],
    segments: Segments<'a>,
    tables: JpegTables,
    /// The number of units between two restart markers, or 0.
    restart: usize,
    /// The number of scans read.
    scans: usize,
    marks: ColourMarks,
    image: Option<JpegImage>,
}

/// A JPEG from its first scan on.
struct JpegImage {
    frame: JpegFrame,
    /// The colours of the frame, once a scan has begun.
    colours: Option<JpegColours>,
    data: Vec<ComponentData>,
}

impl<'a> JpegReader<'a> {
    /// Reads up to the end marker.
    fn read(mut self) -> Result<JpegImage, JpegError> {
        loop {
            match self.segment() {
                Ok(true) => {}
                Ok(false) => return self.image.ok_or_else(JpegError::no_scan),
                Err(JpegError::Cut) if self.scans == 0 => return Err(JpegError::no_scan()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads the next segment, and returns whether more segments may follow.
    fn segment(&mut self) -> Result<bool, JpegError> {
        match self.segments.marker()? {
            markers::EOI => return Ok(false),
            // A temporary marker, or restart markers after a scan, without a length.
            0x01 | 0xd0..=0xd7 => {}
            marker @ (0xc0..=0xc7 | 0xc9..=0xcf | 0xda..=0xdd | 0xe0..=0xef | 0xfe) => {
                let content = self.segments.content(marker)?;
                self.content(marker, content)?;
            }
            marker => {
                return Err(JpegError::new(format_args!(
                    "unexpected marker FF{marker:02X}"
                )));
            }
        }
        Ok(true)
    }

    fn content(&mut self, marker: u8, content: &[u8]) -> Result<(), JpegError> {
        match marker {
            markers::DHT => self.tables.read_codes(content)?,
            markers::DQT => self.tables.read_steps(content)?,
            markers::DRI => {
                let interval = content.try_into().map_err(|_| JpegError::segment(marker))?;
                self.restart = usize::from(u16::from_be_bytes(interval));
            }
            markers::APP0 => self.marks.read_app0(content),
            markers::APP14 => self.marks.read_app14(content),
            markers::SOS => self.scan(content)?,
            // Excludes the conditions of arithmetic codes, whose number is among the numbers of
            // frames.
            0xc0..=0xcb | 0xcd..=0xcf => self.begin(JpegFrame::read(marker, content)?)?,
            // The number of lines, which the frame already defines, other applications and
            // comments.
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, frame: JpegFrame) -> Result<(), JpegError> {
        if self.image.is_some() {
            return Err(JpegError::header("two frames before it"));
        }
        frame.check_claim(self.bytes.len())?;
        let components = frame.components.iter();
        let data = components.map(|c| ComponentData::new(c, &frame));
        self.image = Some(JpegImage {
            data: data.collect::<Result<_, _>>()?,
            colours: None,
            frame,
        });
        Ok(())
    }

    fn scan(&mut self, content: &[u8]) -> Result<(), JpegError> {
        self.scans += 1;
        if self.scans > MOST_SCANS {
            let wrong = format_args!("expected at most {MOST_SCANS} scans (marker SOS)");
            return Err(JpegError::new(wrong));
        }
        let image = self.image.as_mut();
        let JpegImage {
            frame,
            colours,
            data,
        } = image.ok_or_else(|| JpegError::header("no frame before it"))?;
        colours.get_or_insert_with(|| JpegColours::new(frame, &self.marks));
        let header = ScanHeader::read(content, frame)?;
        let rest = self.segments.rest();
        let rest = header.decode(frame, data, &self.tables, self.restart, rest)?;
        self.segments = Segments::from_rest(rest);
        Ok(())
    }
}

impl JpegImage {
    fn finish(self) -> Result<DecodedImage, JpegError> {
        let frame = self.frame;
        let colours = self.colours.ok_or_else(JpegError::no_scan)?;
        let [height, width] = frame.size;
        let channels = colours.channels();
        let mut components = Vec::new();
        for (at, data) in self.data.into_iter().enumerate() {
            let samples = data.finish(at + 1)?;
            components.push(EnlargedRows::new(samples, &frame.components[at], &frame));
        }
        let mut pixels = zeros(height * width * channels)?;
        for (at, pixels) in pixels.chunks_exact_mut(width * channels).enumerate() {
            let rows: Vec<&[u8]> = components.iter_mut().map(|c| c.row(at)).collect();
            colours.write(&rows, pixels);
        }
        Ok(DecodedImage {
            height,
            width,
            channels,
            pixels,
        })
    }
}
