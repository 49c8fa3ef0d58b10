//! The data of a tensor: numbers, booleans or strings, in lists or lists of lists.

use std::cell::{Cell, RefCell};
use std::fmt;

use divisi_runtime::tensor::DataType;
use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};

use crate::bounds::RequestBounds;
use crate::error::{ErrorKind, ServiceError};
use crate::protocol::elements::{ElementFault, ElementSink, beyond_range};

use super::lists::ListLengths;
use super::words::value_of;

/// The inputs and results of reading a request.
pub(super) struct JsonReading<'l> {
    /// The bounds.
    pub limits: &'l RequestBounds,
    /// The types of the inputs found by an earlier reading.
    pub types: Vec<DataType>,
    /// Whether the data of an input came before its type.
    pub untyped: Cell<bool>,
    /// The number of words for NaN and infinities that were replaced by strings.
    words: usize,
    /// The number of those words that tensors used.
    taken: Cell<usize>,
    /// The reason for a refusal, if it is not a JSON error.
    refusal: RefCell<Option<ServiceError>>,
}

impl<'l> JsonReading<'l> {
    /// Creates a reading with known types of some inputs.
    pub(super) fn new(limits: &'l RequestBounds, types: Vec<DataType>) -> Self {
        JsonReading {
            limits,
            types,
            untyped: Cell::new(false),
            words: 0,
            taken: Cell::new(0),
            refusal: RefCell::new(None),
        }
    }

    /// Sets the number of replaced words in the text.
    pub(super) fn with_words(self, words: usize) -> Self {
        JsonReading { words, ..self }
    }

    /// Returns the word that a string replaces, and its value.
    fn word(&self, string: &str) -> Option<(&'static str, f64)> {
        match self.words {
            0 => None,
            _ => value_of(string).inspect(|_| self.taken.set(self.taken.get() + 1)),
        }
    }

    /// Returns whether all words are values of tensors. Unknown if the reading skipped data.
    pub(super) fn took_all_words(&self) -> bool {
        self.untyped.get() || self.taken.get() == self.words
    }

    /// Records the reason for a refusal. Returns the error that ends the reading.
    pub(super) fn refuse<E: Error>(&self, why: ServiceError) -> E {
        let error = E::custom(&why);
        *self.refusal.borrow_mut() = Some(why);
        error
    }

    /// Returns the reason for a refusal, if it is not a JSON error.
    pub(super) fn into_refusal(self) -> Option<ServiceError> {
        self.refusal.into_inner()
    }
}

/// Adds the visited values to a tensor.
pub(super) struct DataSeed<'a, 'l> {
    /// The reading.
    pub reading: &'a JsonReading<'l>,
    /// The tensor.
    pub sink: &'a mut ElementSink,
    /// The lists read so far.
    pub lists: &'a mut ListLengths,
    /// The number of enclosing lists.
    pub depth: usize,
}

impl DataSeed<'_, '_> {
    fn fault<E: Error>(&self, fault: ElementFault, found: &dyn fmt::Display) -> E {
        match fault {
            ElementFault::Type(data_type) => {
                let at = self.sink.count();
                E::custom(format_args!(
                    "value {at}: expected {data_type}, found {found}"
                ))
            }
            ElementFault::Range { value, data_type } => {
                E::custom(beyond_range(self.sink.count(), value, data_type))
            }
            ElementFault::TooMany(most) if most < self.reading.limits.elements => {
                E::custom(format_args!("more than the {most} values of its shape"))
            }
            ElementFault::TooMany(most) => self.reading.refuse(ServiceError::new(
                ErrorKind::TooLarge,
                format!("expected at most {most} values in a tensor"),
            )),
        }
    }
}

impl<'de> DeserializeSeed<'de> for DataSeed<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for DataSeed<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("values of a tensor, in lists or lists of lists")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.lists.value(self.depth);
        let put = self.sink.bool(value);
        put.map_err(|fault| self.fault(fault, &value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.lists.value(self.depth);
        let put = self.sink.integer(value.into());
        put.map_err(|fault| self.fault(fault, &value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.lists.value(self.depth);
        let put = self.sink.integer(value.into());
        put.map_err(|fault| self.fault(fault, &value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.lists.value(self.depth);
        let put = self.sink.float(value);
        put.map_err(|fault| self.fault(fault, &value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.lists.value(self.depth);
        let put = self.sink.string(value.as_bytes());
        put.map_err(|fault| self.fault(fault, &"a string"))
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<(), E> {
        let Some((word, value)) = self.reading.word(value) else {
            return self.visit_str(value);
        };
        self.lists.value(self.depth);
        let put = self.sink.float(value);
        put.map_err(|fault| self.fault(fault, &word))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        if self.depth >= self.reading.limits.depth {
            let most = self.reading.limits.depth;
            return Err(A::Error::custom(format_args!(
                "expected at most {most} nested lists"
            )));
        }
        let mut length = 0;
        loop {
            let inner = DataSeed {
                reading: self.reading,
                sink: &mut *self.sink,
                lists: &mut *self.lists,
                depth: self.depth + 1,
            };
            if all.next_element_seed(inner)?.is_none() {
                self.lists.list(self.depth, length);
                return Ok(());
            }
            length += 1;
        }
    }
}
