//! Parameters of requests, inputs and outputs: values by name.

use std::fmt;

use crate::error::ServiceError;

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterValue {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// An unsigned integer that may exceed `i64`.
    Unsigned(u64),
    /// A number.
    Float(f64),
    /// A text.
    Text(String),
}

impl fmt::Display for ParameterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterValue::Bool(value) => write!(f, "{value}"),
            ParameterValue::Integer(value) => write!(f, "{value}"),
            ParameterValue::Unsigned(value) => write!(f, "{value}"),
            ParameterValue::Float(value) => write!(f, "{value}"),
            ParameterValue::Text(value) => write!(f, "the text `{value}`"),
        }
    }
}

/// The parameters of a request, an input or an output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallParameters {
    /// The values by name.
    pub values: Vec<(String, ParameterValue)>,
}

impl CallParameters {
    /// Returns the value with this name.
    pub fn get(&self, name: &str) -> Option<&ParameterValue> {
        let found = self.values.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value)
    }

    /// Returns the boolean value of a parameter, or `None` if it is missing.
    ///
    /// # Errors
    /// Returns an error if it has another type.
    pub fn flag(&self, name: &str, of: &str) -> Result<Option<bool>, ServiceError> {
        match self.get(name) {
            None => Ok(None),
            Some(ParameterValue::Bool(value)) => Ok(Some(*value)),
            Some(found) => Err(wrong(name, of, "true or false", found)),
        }
    }

    /// Returns the unsigned value of a parameter, or `None` if it is missing.
    ///
    /// # Errors
    /// Returns an error if it has another type or is negative.
    pub fn count(&self, name: &str, of: &str) -> Result<Option<u64>, ServiceError> {
        let found = match self.get(name) {
            None => return Ok(None),
            Some(found) => found,
        };
        let number = match found {
            ParameterValue::Integer(value) => u64::try_from(*value).ok(),
            ParameterValue::Unsigned(value) => Some(*value),
            _ => None,
        };
        let expected = "a whole number that is not negative";
        number.map_or_else(|| Err(wrong(name, of, expected, found)), |n| Ok(Some(n)))
    }

    /// Returns a parameter as a size, or `None` if it is missing.
    ///
    /// # Errors
    /// Returns an error if it has another type or exceeds the address space.
    pub fn size(&self, name: &str, of: &str) -> Result<Option<usize>, ServiceError> {
        let Some(count) = self.count(name, of)? else {
            return Ok(None);
        };
        let size = usize::try_from(count).ok();
        let wrong = || wrong(name, of, "a size", &ParameterValue::Unsigned(count));
        size.map(Some).ok_or_else(wrong)
    }

    /// Returns a numeric parameter, or `None` if it is missing.
    ///
    /// # Errors
    /// Returns an error if it has another type.
    pub fn number(&self, name: &str, of: &str) -> Result<Option<f64>, ServiceError> {
        match self.get(name) {
            None => Ok(None),
            Some(ParameterValue::Float(value)) => Ok(Some(*value)),
            Some(ParameterValue::Integer(value)) => Ok(Some(*value as f64)),
            Some(ParameterValue::Unsigned(value)) => Ok(Some(*value as f64)),
            Some(found) => Err(wrong(name, of, "a number", found)),
        }
    }

    /// Returns a text parameter, or `None` if it is missing.
    ///
    /// # Errors
    /// Returns an error if it has another type.
    pub fn text(&self, name: &str, of: &str) -> Result<Option<&str>, ServiceError> {
        match self.get(name) {
            None => Ok(None),
            Some(ParameterValue::Text(text)) => Ok(Some(text)),
            Some(found) => Err(wrong(name, of, "a text", found)),
        }
    }
}

fn wrong(name: &str, of: &str, expected: &str, found: &ParameterValue) -> ServiceError {
    ServiceError::bad(format!(
        "{of}: parameter `{name}`: expected {expected}, found {found}"
    ))
}
