//! Deserializers and visitors that charge a budget. Values pass through unchanged. Only the
//! elements of lists and maps are charged, and errors keep their text in a format that has none.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor,
};

use super::budget::{Budget, FieldError};

/// A deserializer, seed or visitor with a budget.
pub(super) struct Counted<'a, T> {
    inner: T,
    budget: &'a Budget,
}

impl<'a, T> Counted<'a, T> {
    /// Wraps `inner`, whose values are charged to `budget`.
    pub(super) fn new(inner: T, budget: &'a Budget) -> Self {
        Counted { inner, budget }
    }

    fn same<U>(&self, inner: U) -> Counted<'a, U> {
        let budget = self.budget;
        Counted { inner, budget }
    }
}

/// Decodes values without parts unchanged.
macro_rules! plain {
    ($($method:ident)+) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
            let (budget, visitor) = (self.budget, self.same(whole(visitor)));
            let read = self.inner.$method(visitor);
            read.map_err(|e| budget.taken_up(e))
        })+
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Counted<'_, D> {
    type Error = FieldError;

    plain! {
        deserialize_any deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32
        deserialize_i64 deserialize_i128 deserialize_u8 deserialize_u16 deserialize_u32
        deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64 deserialize_char
        deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf
        deserialize_unit deserialize_identifier deserialize_ignored_any deserialize_option
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        let (budget, visitor) = (self.budget, self.same(whole(visitor)));
        let read = self.inner.deserialize_unit_struct(name, visitor);
        read.map_err(|e| budget.taken_up(e))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        let (budget, visitor) = (self.budget, self.same(whole(visitor)));
        let read = self.inner.deserialize_newtype_struct(name, visitor);
        read.map_err(|e| budget.taken_up(e))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        let (budget, visitor) = (self.budget, self.same(list(visitor)));
        let read = self.inner.deserialize_seq(visitor);
        read.map_err(|e| budget.taken_up(e))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        let (budget, visitor) = (self.budget, self.same(list(visitor)));
        let read = self.inner.deserialize_map(visitor);
        read.map_err(|e| budget.taken_up(e))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        let (budget, visitor) = (self.budget, self.same(whole(visitor)));
        let read = self.inner.deserialize_tuple(len, visitor);
        read.map_err(|e| budget.taken_up(e))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        let (budget, visitor) = (self.budget, self.same(whole(visitor)));
        let read = self.inner.deserialize_tuple_struct(name, len, visitor);
        read.map_err(|e| budget.taken_up(e))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        let (budget, visitor) = (self.budget, self.same(named(visitor, fields)));
        let read = self.inner.deserialize_struct(name, fields, visitor);
        read.map_err(|e| budget.taken_up(e))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        let (budget, visitor) = (self.budget, self.same(whole(visitor)));
        let read = self.inner.deserialize_enum(name, variants, visitor);
        read.map_err(|e| budget.taken_up(e))
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

/// A value that receives parts.
struct Parts<A> {
    inner: A,
    /// Whether parts are charged: elements of lists need their own memory, other parts are included
    /// in their container.
    charged: bool,
    /// The names of the remaining parts, if they have names.
    names: &'static [&'static str],
}

fn whole<V>(inner: V) -> Parts<V> {
    named(inner, &[])
}

fn named<V>(inner: V, names: &'static [&'static str]) -> Parts<V> {
    Parts {
        inner,
        charged: false,
        names,
    }
}

fn list<V>(inner: V) -> Parts<V> {
    Parts {
        inner,
        charged: true,
        names: &[],
    }
}

impl<'a, V> Counted<'a, Parts<V>> {
    /// Returns the visitor, its wrapped input and the budget.
    fn with<U>(self, from: U) -> (V, Counted<'a, Parts<U>>, &'a Budget) {
        let parts = Parts {
            inner: from,
            charged: self.inner.charged,
            names: self.inner.names,
        };
        let from = self.same(parts);
        (self.inner.inner, from, self.budget)
    }
}

/// Passes on values without parts unchanged.
macro_rules! given {
    ($($method:ident($type:ty))+) => {
        $(fn $method<E: Error>(self, value: $type) -> Result<Self::Value, E> {
            let read = self.inner.inner.$method(value);
            read.map_err(|e: FieldError| self.budget.put_by(e))
        })+
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Counted<'_, Parts<V>> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.inner.expecting(f)
    }

    given! {
        visit_bool(bool) visit_i8(i8) visit_i16(i16) visit_i32(i32) visit_i64(i64)
        visit_i128(i128) visit_u8(u8) visit_u16(u16) visit_u32(u32) visit_u64(u64)
        visit_u128(u128) visit_f32(f32) visit_f64(f64) visit_char(char) visit_str(&str)
        visit_borrowed_str(&'de str) visit_string(String) visit_bytes(&[u8])
        visit_borrowed_bytes(&'de [u8]) visit_byte_buf(Vec<u8>)
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        let read = self.inner.inner.visit_none();
        read.map_err(|e: FieldError| self.budget.put_by(e))
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        let read = self.inner.inner.visit_unit();
        read.map_err(|e: FieldError| self.budget.put_by(e))
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        let from = self.same(from);
        let read = self.inner.inner.visit_some(from);
        read.map_err(|e| self.budget.put_by(e))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        let from = self.same(from);
        let read = self.inner.inner.visit_newtype_struct(from);
        read.map_err(|e| self.budget.put_by(e))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, from: A) -> Result<Self::Value, A::Error> {
        let (visitor, from, budget) = self.with(from);
        visitor.visit_seq(from).map_err(|e| budget.put_by(e))
    }

    fn visit_map<A: MapAccess<'de>>(self, from: A) -> Result<Self::Value, A::Error> {
        let (visitor, from, budget) = self.with(from);
        visitor.visit_map(from).map_err(|e| budget.put_by(e))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, from: A) -> Result<Self::Value, A::Error> {
        let from = self.same(from);
        let read = self.inner.inner.visit_enum(from);
        read.map_err(|e| self.budget.put_by(e))
    }
}

impl<A> Counted<'_, Parts<A>> {
    fn charge_for<T>(&self) -> Result<(), FieldError> {
        match self.inner.charged {
            true => self.budget.charge(size_of::<T>()),
            false => Ok(()),
        }
    }

    /// Returns the name of the next part, or `None` if it has no name.
    fn next_name(&mut self) -> Option<&'static str> {
        let (first, rest) = self.inner.names.split_first()?;
        self.inner.names = rest;
        Some(first)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Counted<'_, Parts<A>> {
    type Error = FieldError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, FieldError> {
        self.charge_for::<T::Value>()?;
        let (name, seed) = (self.next_name(), self.same(seed));
        let read = self.inner.inner.next_element_seed(seed);
        read.map_err(|e| {
            let wrong = self.budget.taken_up(e);
            match name {
                Some(name) => wrong.within(name),
                None => wrong,
            }
        })
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Counted<'_, Parts<A>> {
    type Error = FieldError;

    fn next_key_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, FieldError> {
        self.charge_for::<T::Value>()?;
        let seed = self.same(seed);
        let read = self.inner.inner.next_key_seed(seed);
        read.map_err(|e| self.budget.taken_up(e))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<T::Value, FieldError> {
        self.charge_for::<T::Value>()?;
        let seed = self.same(seed);
        let read = self.inner.inner.next_value_seed(seed);
        read.map_err(|e| self.budget.taken_up(e))
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.inner.size_hint()
    }
}

impl<'de, T: DeserializeSeed<'de>> DeserializeSeed<'de> for Counted<'_, T> {
    type Value = T::Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<T::Value, D::Error> {
        let from = self.same(from);
        let read = self.inner.deserialize(from);
        read.map_err(|e| self.budget.put_by(e))
    }
}

impl<'a, 'de, A: EnumAccess<'de>> EnumAccess<'de> for Counted<'a, A> {
    type Error = FieldError;
    type Variant = Counted<'a, A::Variant>;

    fn variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<(T::Value, Self::Variant), FieldError> {
        let (budget, seed) = (self.budget, self.same(seed));
        let read = self.inner.variant_seed(seed);
        let (value, inner) = read.map_err(|e| budget.taken_up(e))?;
        Ok((value, Counted { inner, budget }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Counted<'_, A> {
    type Error = FieldError;

    fn unit_variant(self) -> Result<(), FieldError> {
        let read = self.inner.unit_variant();
        read.map_err(|e| self.budget.taken_up(e))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, FieldError> {
        let seed = self.same(seed);
        let read = self.inner.newtype_variant_seed(seed);
        read.map_err(|e| self.budget.taken_up(e))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        let visitor = self.same(whole(visitor));
        let read = self.inner.tuple_variant(len, visitor);
        read.map_err(|e| self.budget.taken_up(e))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        let visitor = self.same(named(visitor, fields));
        let read = self.inner.struct_variant(fields, visitor);
        read.map_err(|e| self.budget.taken_up(e))
    }
}
