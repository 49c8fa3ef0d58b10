//! Decodes postcard's format within a memory budget, with errors that name the field.
//!
//! An empty text takes a byte in a message and 24 bytes in memory. So the size in memory of every
//! list element is charged to a budget proportional to the received bytes, and a value that would
//! exceed it is refused. Postcard's own decoder has no budget, and its errors have no text.

use std::fmt::{self, Display};

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer,
    SeqAccess, StdError, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::WireError;

/// The bytes of memory for each decoded byte: twice the need of any real list.
const EACH: usize = 24;
/// The additional memory for the smallest message.
const BASE: usize = 64 << 10;
/// The bytes of memory for each compressed byte: the highest possible compression ratio.
const EACH_PACKED: usize = 256;
/// The additional memory for the smallest compressed message.
const BASE_PACKED: usize = 4 << 20;

/// Returns the bytes of memory that the lists of a value in compressed bytes may take.
pub(crate) fn packed_allowance(bytes: usize) -> usize {
    bytes
        .saturating_mul(EACH_PACKED)
        .saturating_add(BASE_PACKED)
}

/// Decodes the value at the start of `bytes`, whose lists may take at most `most` bytes of memory,
/// and at most a multiple of `bytes`. Returns the value and the remaining bytes.
///
/// # Errors
/// Returns an error if the bytes are invalid or the value would exceed the memory.
pub(crate) fn take_within<T: DeserializeOwned>(
    bytes: &[u8],
    most: usize,
) -> Result<(T, &[u8]), WireError> {
    let most = most.min(bytes.len().saturating_mul(EACH).saturating_add(BASE));
    let mut decoder = Decoder {
        rest: bytes,
        budget: Some(most),
    };
    match T::deserialize(&mut decoder) {
        Ok(value) => Ok((value, decoder.rest)),
        Err(_) if decoder.budget.is_none() => Err(WireError::TooLarge { most }),
        Err(e) => Err(WireError::Damaged(e.to_string())),
    }
}

type DecodeResult<T> = Result<T, FieldError>;

/// The names of parts; empty for parts without names.
type Names = &'static [&'static str];

/// The bytes that are not decoded yet.
struct Decoder<'de> {
    rest: &'de [u8],
    /// The bytes of memory left for lists, or `None` once they were exceeded.
    budget: Option<usize>,
}

impl<'de> Decoder<'de> {
    fn take(&mut self, count: u64) -> DecodeResult<&'de [u8]> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(ended)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> DecodeResult<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or_else(ended)?;
        self.rest = rest;
        Ok(*taken)
    }

    fn byte(&mut self) -> DecodeResult<u8> {
        self.array().map(u8::from_le_bytes)
    }

    /// Decodes a whole number: seven bits a byte, the lowest first, and a bit that more follow.
    fn number(&mut self) -> DecodeResult<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(FieldError::custom("a number of more than 64 bits"))
    }

    /// Decodes a whole number whose lowest bit is its sign.
    fn signed(&mut self) -> DecodeResult<i64> {
        let number = self.number()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    fn flag(&mut self) -> DecodeResult<bool> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(FieldError::custom(format!(
                "expected 0 or 1, found {other}"
            ))),
        }
    }

    fn text(&mut self) -> DecodeResult<&'de str> {
        let length = self.number()?;
        str::from_utf8(self.take(length)?).map_err(FieldError::custom)
    }

    /// Takes bytes from the budget. Elements without a size count too, since they take time.
    fn charge(&mut self, bytes: usize) -> DecodeResult<()> {
        let left = self.budget.and_then(|left| left.checked_sub(bytes.max(1)));
        self.budget = left;
        left.map(drop)
            .ok_or_else(|| FieldError::custom("too large"))
    }

    /// Returns this number of parts that belong to one value, with their names.
    fn parts(&mut self, count: usize, names: Names) -> Parts<'_, 'de> {
        Parts {
            decoder: self,
            left: count,
            names,
            charged: false,
        }
    }
}

/// Decodes numbers and texts.
macro_rules! plain {
    ($($method:ident: $visit:ident $take:ident;)+) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> DecodeResult<V::Value> {
            visitor.$visit(self.$take()?)
        })+
    };
}

impl<'de> Deserializer<'de> for &mut Decoder<'de> {
    type Error = FieldError;

    plain! {
        deserialize_bool: visit_bool flag;
        deserialize_u8: visit_u8 byte;
        deserialize_u16: visit_u64 number;
        deserialize_u32: visit_u64 number;
        deserialize_u64: visit_u64 number;
        deserialize_i16: visit_i64 signed;
        deserialize_i32: visit_i64 signed;
        deserialize_i64: visit_i64 signed;
        deserialize_str: visit_borrowed_str text;
        deserialize_string: visit_borrowed_str text;
    }

    /// Refuses the kinds of values that no message has.
    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> DecodeResult<V::Value> {
        Err(FieldError::custom("a value of an unsupported kind"))
    }

    forward_to_deserialize_any! {
        i8 i128 u128 char bytes byte_buf map identifier ignored_any
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> DecodeResult<V::Value> {
        visitor.visit_f32(f32::from_le_bytes(self.array()?))
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> DecodeResult<V::Value> {
        visitor.visit_f64(f64::from_le_bytes(self.array()?))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> DecodeResult<V::Value> {
        match self.flag()? {
            true => visitor.visit_some(self),
            false => visitor.visit_none(),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> DecodeResult<V::Value> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> DecodeResult<V::Value> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> DecodeResult<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> DecodeResult<V::Value> {
        let count = usize::try_from(self.number()?).map_err(FieldError::custom)?;
        let elements = Parts {
            charged: true,
            ..self.parts(count, &[])
        };
        visitor.visit_seq(elements)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        count: usize,
        visitor: V,
    ) -> DecodeResult<V::Value> {
        visitor.visit_seq(self.parts(count, &[]))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        count: usize,
        visitor: V,
    ) -> DecodeResult<V::Value> {
        visitor.visit_seq(self.parts(count, &[]))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: Names,
        visitor: V,
    ) -> DecodeResult<V::Value> {
        visitor.visit_seq(self.parts(fields.len(), fields))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: Names,
        visitor: V,
    ) -> DecodeResult<V::Value> {
        visitor.visit_enum(self)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

impl<'de> EnumAccess<'de> for &mut Decoder<'de> {
    type Error = FieldError;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> DecodeResult<(T::Value, Self)> {
        let variant = seed.deserialize(self.number()?.into_deserializer())?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for &mut Decoder<'de> {
    type Error = FieldError;

    fn unit_variant(self) -> DecodeResult<()> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> DecodeResult<T::Value> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, count: usize, visitor: V) -> DecodeResult<V::Value> {
        visitor.visit_seq(self.parts(count, &[]))
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: Names, visitor: V) -> DecodeResult<V::Value> {
        visitor.visit_seq(self.parts(fields.len(), fields))
    }
}

/// The parts of a value that are not decoded yet.
struct Parts<'a, 'de> {
    decoder: &'a mut Decoder<'de>,
    left: usize,
    names: Names,
    /// Whether parts are charged: elements of lists need their own memory, other parts are included
    /// in their container.
    charged: bool,
}

impl<'de> SeqAccess<'de> for Parts<'_, 'de> {
    type Error = FieldError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> DecodeResult<Option<T::Value>> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        let name = self.names.len().checked_sub(self.left);
        let name = name.and_then(|at| self.names.get(at));
        self.left = left;
        if self.charged {
            self.decoder.charge(size_of::<T::Value>())?;
        }
        let part = seed.deserialize(&mut *self.decoder);
        part.map(Some).map_err(|e| e.within(name))
    }

    /// Returns at most one element for each byte: more would be damage.
    fn size_hint(&self) -> Option<usize> {
        Some(self.left.min(self.decoder.rest.len()))
    }
}

/// The reason why a value cannot be decoded, and the field with the error.
#[derive(Debug)]
struct FieldError {
    /// The names of the fields, outermost first, each with what follows it in the error's text.
    path: String,
    why: String,
}

impl FieldError {
    /// Adds the enclosing field, if it has a name, to the path.
    fn within(mut self, field: Option<&&str>) -> Self {
        if let Some(field) = field {
            let end = if self.path.is_empty() { ": " } else { "." };
            self.path = format!("{field}{end}{}", self.path);
        }
        self
    }
}

fn ended() -> FieldError {
    FieldError::custom("the bytes end too early")
}

impl Error for FieldError {
    fn custom<T: Display>(why: T) -> Self {
        FieldError {
            path: String::new(),
            why: why.to_string(),
        }
    }
}

impl StdError for FieldError {}

impl Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.path, self.why)
    }
}
