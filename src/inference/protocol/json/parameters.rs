//! Parameters in JSON.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use crate::protocol::parameters::{CallParameters, ParameterValue};

/// The maximum number of parameters of an object.
const MOST_PARAMETERS: usize = 256;

impl<'de> Deserialize<'de> for CallParameters {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(ParametersVisitor)
    }
}

struct ParametersVisitor;

impl<'de> Visitor<'de> for ParametersVisitor {
    type Value = CallParameters;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("parameters by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<CallParameters, A::Error> {
        let mut values: Vec<(String, ParameterValue)> = Vec::new();
        while let Some((name, value)) = all.next_entry()? {
            if values.iter().any(|(known, _)| *known == name) {
                return Err(A::Error::custom(format_args!(
                    "parameter `{name}` is there twice"
                )));
            }
            values.push((name, value));
            if values.len() > MOST_PARAMETERS {
                return Err(A::Error::invalid_length(values.len(), &self));
            }
        }
        Ok(CallParameters { values })
    }
}

/// Reads a value directly: a value of another kind is refused before it is stored.
impl<'de> Deserialize<'de> for ParameterValue {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl Visitor<'_> for ValueVisitor {
    type Value = ParameterValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, true or false")
    }

    fn visit_bool<E>(self, value: bool) -> Result<ParameterValue, E> {
        Ok(ParameterValue::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<ParameterValue, E> {
        Ok(ParameterValue::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<ParameterValue, E> {
        let signed = i64::try_from(value).map(ParameterValue::Integer);
        Ok(signed.unwrap_or(ParameterValue::Unsigned(value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<ParameterValue, E> {
        Ok(ParameterValue::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<ParameterValue, E> {
        Ok(ParameterValue::Text(value.to_owned()))
    }
}
