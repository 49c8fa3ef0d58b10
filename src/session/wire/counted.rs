//! What is read, and who reads it, with a budget that goes with them. Everything is passed
//! on as it is; only the parts of lists and maps are charged.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::budget::{Left, charge};

/// Something to read from, to be given on, or to be read, counted.
pub(super) struct Counted<'a, T> {
    inner: T,
    left: &'a Left,
}

impl<'a, T> Counted<'a, T> {
    /// What is read of `inner` is charged to `left`.
    pub fn new(inner: T, left: &'a Left) -> Self {
        Counted { inner, left }
    }

    fn same<U>(&self, inner: U) -> Counted<'a, U> {
        let left = self.left;
        Counted { inner, left }
    }
}

/// What holds nothing else is read as it is.
macro_rules! plain {
    ($($method:ident)+) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method(visitor)
        })+
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Counted<'_, D> {
    type Error = D::Error;

    plain! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32
        deserialize_i64 deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32
        deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64 deserialize_char
        deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf
        deserialize_unit deserialize_identifier deserialize_ignored_any
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_unit_struct(name, visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.same(whole(visitor));
        self.inner.deserialize_option(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.same(whole(visitor));
        self.inner.deserialize_newtype_struct(name, visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.same(list(visitor));
        self.inner.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.same(list(visitor));
        self.inner.deserialize_map(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.same(whole(visitor));
        self.inner.deserialize_tuple(len, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.same(whole(visitor));
        self.inner.deserialize_tuple_struct(name, len, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.same(whole(visitor));
        self.inner.deserialize_struct(name, fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.same(whole(visitor));
        self.inner.deserialize_enum(name, variants, visitor)
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

/// Whoever takes parts in, and whether each of them is charged: those of a list take room
/// of their own, others have theirs in what holds them.
struct Parts<A>(A, bool);

fn whole<V>(visitor: V) -> Parts<V> {
    Parts(visitor, false)
}

fn list<V>(visitor: V) -> Parts<V> {
    Parts(visitor, true)
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Counted<'_, Parts<V>> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.0.expecting(f)
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        self.inner.0.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        self.inner.0.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        let from = self.same(from);
        self.inner.0.visit_some(from)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        let from = self.same(from);
        self.inner.0.visit_newtype_struct(from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, from: A) -> Result<Self::Value, A::Error> {
        let from = self.same(Parts(from, self.inner.1));
        self.inner.0.visit_seq(from)
    }

    fn visit_map<A: MapAccess<'de>>(self, from: A) -> Result<Self::Value, A::Error> {
        let from = self.same(Parts(from, self.inner.1));
        self.inner.0.visit_map(from)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, from: A) -> Result<Self::Value, A::Error> {
        let from = self.same(from);
        self.inner.0.visit_enum(from)
    }
}

impl<A> Counted<'_, Parts<A>> {
    fn charge_for<T, E: Error>(&self) -> Result<(), E> {
        match self.inner.1 {
            true => charge(self.left, size_of::<T>()),
            false => Ok(()),
        }
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Counted<'_, Parts<A>> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, A::Error> {
        self.charge_for::<T::Value, A::Error>()?;
        let seed = self.same(seed);
        self.inner.0.next_element_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Counted<'_, Parts<A>> {
    type Error = A::Error;

    fn next_key_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, A::Error> {
        self.charge_for::<T::Value, A::Error>()?;
        let seed = self.same(seed);
        self.inner.0.next_key_seed(seed)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, A::Error> {
        self.charge_for::<T::Value, A::Error>()?;
        let seed = self.same(seed);
        self.inner.0.next_value_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.0.size_hint()
    }
}

impl<'de, T: DeserializeSeed<'de>> DeserializeSeed<'de> for Counted<'_, T> {
    type Value = T::Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<T::Value, D::Error> {
        let from = self.same(from);
        self.inner.deserialize(from)
    }
}

impl<'a, 'de, A: EnumAccess<'de>> EnumAccess<'de> for Counted<'a, A> {
    type Error = A::Error;
    type Variant = Counted<'a, A::Variant>;

    fn variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<(T::Value, Self::Variant), A::Error> {
        let left = self.left;
        let (value, inner) = self.inner.variant_seed(seed)?;
        Ok((value, Counted { inner, left }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Counted<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, A::Error> {
        let seed = self.same(seed);
        self.inner.newtype_variant_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        let visitor = self.same(whole(visitor));
        self.inner.tuple_variant(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let visitor = self.same(whole(visitor));
        self.inner.struct_variant(fields, visitor)
    }
}
