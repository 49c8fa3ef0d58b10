//! The form of samples, known before their file is read: shape, layout, targets, and the fitting of
//! images to the shape.

use serde::Deserialize;

use crate::ensemble::answers::AnswerKind;
use divisi_runtime::named::named;
use divisi_runtime::network::Shape;
use divisi_runtime::reading::ReadError;
use divisi_runtime::tensor::{Lengths, RowCheck, Signature, TensorSpec};

use super::images::ImageFit;
use super::targets::{TargetColumns, TargetForm, TargetNumbers};
use super::text::TextInput;

named! {
    /// The order in which files hold the values of an image. Networks take channels first.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum ImageLayout, expected "nchw or nhwc" {
        /// Channel by channel: `[channels, height, width]`, as in PyTorch.
        #[default]
        Nchw = "nchw",
        /// Pixel by pixel: `[height, width, channels]`, as in image files and TensorFlow.
        Nhwc = "nhwc",
    }
}

impl ImageLayout {
    /// Returns the dimensions of a sample in a file.
    pub fn dimensions(self, shape: Shape) -> Vec<usize> {
        match (self, shape) {
            (
                ImageLayout::Nhwc,
                Shape::Image {
                    channels,
                    height,
                    width,
                },
            ) => vec![height, width, channels],
            _ => shape.into(),
        }
    }

    /// Returns whether files hold samples of `shape` in the order of networks.
    pub fn is_plain(self, shape: Shape) -> bool {
        let many = matches!(shape, Shape::Image { channels: 2.., .. });
        self == ImageLayout::Nchw || !many
    }

    /// Converts samples of `shape` from this layout to the order of networks, in place.
    pub fn to_planes(self, shape: Shape, samples: &mut [f32]) {
        let Shape::Image {
            channels,
            height,
            width,
        } = shape
        else {
            return;
        };
        if self.is_plain(shape) {
            return;
        }
        let plane = height * width;
        let mut planes = vec![0.0; channels * plane];
        for sample in samples.chunks_exact_mut(channels * plane) {
            for (pixel, values) in sample.chunks_exact(channels).enumerate() {
                for (channel, value) in values.iter().enumerate() {
                    planes[channel * plane + pixel] = *value;
                }
            }
            sample.copy_from_slice(&planes);
        }
    }
}

/// The form of samples, known before their file is read.
#[derive(Clone, Copy, Debug)]
pub struct SampleForm<'a> {
    /// The shape of one sample as networks take it.
    pub shape: Shape,
    /// The order in which files hold the values of images.
    pub layout: ImageLayout,
    /// The valid classes of labels.
    pub classes: Classes<'a>,
    /// The columns of targets that are rows of numbers, instead of classes.
    pub rows: Option<TargetColumns<'a>>,
    /// The classes of boxes, if targets are boxes.
    pub boxes: Option<Classes<'a>>,
    /// How images of another size fit the shape.
    pub image_fit: ImageFit,
    /// The named tensors of a sample, instead of a shape.
    pub tensors: Option<&'a [TensorSpec]>,
    /// The conversion of texts to these tensors, if samples are texts.
    pub text: Option<&'a TextInput>,
    /// The lengths of samples, if dimensions of these tensors vary.
    pub lengths: Option<&'a Lengths>,
    /// The check for invalid numbers in samples.
    pub check: Option<&'a RowCheck>,
}

/// The maximum number of bytes of samples unpacked or decoded from smaller files.
pub(super) const MOST_BYTES: u64 = 4 << 30;

/// The valid classes of labels.
#[derive(Clone, Copy, Debug)]
pub struct Classes<'a> {
    /// The number of classes.
    pub count: usize,
    /// Their names, if set.
    pub names: Option<&'a [String]>,
}

/// Reads a whole number, which may be written with a fraction of 0: `3.0`.
fn whole(text: &str) -> Option<usize> {
    let digits = match text.split_once('.') {
        Some((digits, fraction)) if fraction.bytes().all(|b| b == b'0') => digits,
        _ => text,
    };
    digits.parse().ok()
}

/// The number of pixels without a class, as in Pascal VOC and torchvision.
const NO_CLASS: i32 = 255;

/// The number of tokens that are not counted, as in Hugging Face's data sets.
const NO_TOKEN: i32 = -100;

/// Returns the number of positions and the form of their targets in files. `ignored` stands for no
/// class, unless it is a class.
fn of_positions(answers: AnswerKind, ignored: i32) -> (usize, TargetNumbers) {
    let positions = answers.positions();
    let classes = positions.map_or(0, |p| p.numbers());
    let is_class = usize::try_from(ignored).is_ok_and(|class| class < classes);
    let numbers = TargetNumbers::Positions {
        classes,
        ignored: (!is_class).then_some(ignored),
        sides: positions.map_or([0, 0], |p| p.sides()),
    };
    (positions.map_or(0, |p| p.count()), numbers)
}

/// The maximum number of class names in a message.
const MOST_NAMES: usize = 5;

impl<'a> SampleForm<'a> {
    /// Creates the form of samples of a shape, channels first, with labels of any class.
    pub fn new(shape: Shape) -> Self {
        SampleForm {
            shape,
            layout: ImageLayout::default(),
            classes: Classes::any(),
            rows: None,
            boxes: None,
            image_fit: ImageFit::default(),
            tensors: None,
            text: None,
            lengths: None,
            check: None,
        }
    }

    /// Returns the tensors of a sample, or `None` if it does not consist of named tensors.
    pub fn signature(&self) -> Option<Signature> {
        self.tensors.map(|tensors| Signature {
            inputs: tensors.to_vec(),
            outputs: Vec::new(),
            lengths: self.lengths.cloned(),
        })
    }

    /// Returns the number of tokens of a sample from its row, or `None` if all samples have the
    /// same number.
    pub fn tokens_of(&self, row: &[f32]) -> Option<usize> {
        match (self.lengths, self.text) {
            (Some(lengths), _) => lengths.row_length(row),
            (None, Some(text)) => text.tokens_of(row),
            (None, None) => None,
        }
    }

    /// Returns the form with targets for a kind of answers with these class, value or label names.
    #[must_use]
    pub fn answers(self, answers: AnswerKind, names: Option<&'a [String]>) -> Self {
        let count = answers.width();
        let (count, numbers) = match answers {
            AnswerKind::Classes { .. } => return self.classes(count, names),
            AnswerKind::Values { .. } => (count, TargetNumbers::Values),
            AnswerKind::Labels { .. } => (count, TargetNumbers::Labels),
            AnswerKind::Masks { .. } => of_positions(answers, NO_CLASS),
            AnswerKind::Tokens { .. } => of_positions(answers, NO_TOKEN),
            AnswerKind::Boxes { .. } => {
                let count = answers.count();
                let boxes = Some(Classes { count, names });
                return SampleForm { boxes, ..self };
            }
        };
        let rows = TargetColumns {
            count,
            names,
            numbers,
        };
        SampleForm {
            rows: Some(rows),
            ..self
        }
    }

    /// Returns the targets that a file may hold.
    pub(super) fn targets(&self) -> TargetForm<'a> {
        match (self.boxes, self.rows) {
            (Some(classes), _) => TargetForm::Boxes(classes),
            (None, Some(rows)) => TargetForm::Rows(rows),
            (None, None) => TargetForm::Classes(self.classes),
        }
    }

    /// Returns whether a sample of a file may have these dimensions: the layout's dimensions, all
    /// values in one dimension or, with one channel, the layout's dimensions without the channel.
    pub(super) fn fits(&self, dims: &[u64]) -> bool {
        let is = |known: &[usize]| {
            known.len() == dims.len() && known.iter().zip(dims).all(|(k, d)| *k as u64 == *d)
        };
        let whole = self.layout.dimensions(self.shape);
        let plane = match (self.layout, &whole[..]) {
            (ImageLayout::Nchw, [1, plane @ ..]) | (ImageLayout::Nhwc, [plane @ .., 1]) => plane,
            _ => &whole,
        };
        is(&whole) || is(&[self.shape.elements()]) || is(plane)
    }

    /// Returns the valid dimensions of a sample in a file, each list after `before`.
    pub(super) fn expected_dimensions(&self, before: &str) -> String {
        let whole = self.layout.dimensions(self.shape);
        let dims: Vec<String> = whole.iter().map(usize::to_string).collect();
        let or_flat = match whole[..] {
            [_] => String::new(),
            _ => format!(" or [{before}{}]", self.shape.elements()),
        };
        format!("[{before}{}]{or_flat}", dims.join(", "))
    }

    /// Returns the form with labels below `count`.
    #[must_use]
    pub fn classes(self, count: usize, names: Option<&'a [String]>) -> Self {
        let classes = Classes { count, names };
        SampleForm { classes, ..self }
    }
}

impl Classes<'_> {
    /// Returns classes that include every number.
    pub fn any() -> Self {
        Classes {
            count: usize::MAX,
            names: None,
        }
    }

    /// Returns the class with this number.
    ///
    /// # Errors
    /// There is no such class.
    pub fn numbered(&self, number: i128) -> Result<usize, ReadError> {
        let class = usize::try_from(number).ok().filter(|&c| c < self.count);
        class.ok_or_else(|| self.expected(&number.to_string()))
    }

    /// Returns the class that a text names, by its name or number.
    ///
    /// # Errors
    /// There is no such class, or the text is the name of one class and the number of another.
    pub fn named(&self, text: &str) -> Result<usize, ReadError> {
        let text = text.trim();
        let names = self.names.unwrap_or_default();
        let by_name = names.iter().position(|name| name == text);
        let by_number = whole(text).filter(|&c| c < self.count);
        match (by_name, by_number) {
            (Some(name), Some(number)) if name != number => Err(ReadError::new(format_args!(
                "`{text}` is the name of class {name} and the number of class {number}; write \
                 numbers to an .npy file of integers, or use names that are not numbers"
            ))),
            (Some(class), _) | (None, Some(class)) => Ok(class),
            (None, None) => Err(self.expected(text)),
        }
    }

    fn expected(&self, found: &str) -> ReadError {
        let mut expected = format!("a class number below {}", self.count);
        if let Some(names) = self.names {
            let shown = names.iter().take(MOST_NAMES).map(|n| format!("`{n}`"));
            let shown = shown.collect::<Vec<_>>().join(", ");
            expected += &format!(" or one of {shown}");
            if let Some(more @ 1..) = names.len().checked_sub(MOST_NAMES) {
                expected += &format!(" and {more} more");
            }
        }
        ReadError::expected(expected, format_args!("`{}`", found.escape_debug()))
    }
}
