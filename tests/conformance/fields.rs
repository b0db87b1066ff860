//! JSON objects without unknown keys.

use ndarray_broadcast::{BroadcastError, expand_shape_from_integers, shape_from_integers};
use serde_json::{Map, Value};

/// The fields of an object that have not been read yet.
pub struct Fields {
    what: &'static str,
    map: Map<String, Value>,
}

impl Fields {
    pub fn new(what: &'static str, value: Value) -> Result<Self, String> {
        match value {
            Value::Object(map) => Ok(Fields { what, map }),
            _ => Err(format!("{what} is not an object")),
        }
    }

    pub fn take(&mut self, key: &str) -> Option<Value> {
        self.map.remove(key)
    }

    pub fn need(&mut self, key: &str) -> Result<Value, String> {
        self.take(key)
            .ok_or_else(|| format!("{} has no {key:?}", self.what))
    }

    pub fn object(&mut self, what: &'static str) -> Result<Fields, String> {
        Fields::new(what, self.need(what)?)
    }

    pub fn text(&mut self, key: &str) -> Result<String, String> {
        match self.need(key)? {
            Value::String(text) => Ok(text),
            other => Err(format!("{key} is {other}, not a text")),
        }
    }

    pub fn flag(&mut self, key: &str) -> Result<bool, String> {
        match self.need(key)? {
            Value::Bool(flag) => Ok(flag),
            other => Err(format!("{key} is {other}, neither true nor false")),
        }
    }

    pub fn integers(&mut self, key: &str) -> Result<Integers, String> {
        Integers::parse(key, &self.need(key)?)
    }

    /// Drops fields that do not affect the expected answer.
    pub fn ignore(&mut self, keys: &[&str]) {
        for key in keys {
            self.map.remove(*key);
        }
    }

    /// Returns an error if an unknown key remains.
    pub fn finish(self) -> Result<(), String> {
        match self.map.keys().next() {
            Some(key) => Err(format!("{} has the unknown key {key:?}", self.what)),
            None => Ok(()),
        }
    }
}

/// A list of integers, as graph files store shapes and axes.
#[derive(Debug, Clone)]
pub enum Integers {
    Signed(Vec<i64>),
    Unsigned(Vec<u64>),
}

impl Integers {
    pub fn parse(key: &str, value: &Value) -> Result<Self, String> {
        let Value::Array(list) = value else {
            return Err(format!("{key} is {value}, not a list"));
        };
        let signed: Option<_> = list.iter().map(Value::as_i64).collect();
        let unsigned: Option<_> = list.iter().map(Value::as_u64).collect();
        (signed.map(Integers::Signed))
            .or(unsigned.map(Integers::Unsigned))
            .ok_or_else(|| format!("{key} is {value}, not a list of integers"))
    }

    pub fn shape(&self) -> Result<Vec<usize>, BroadcastError> {
        match self {
            Integers::Signed(list) => shape_from_integers(list),
            Integers::Unsigned(list) => shape_from_integers(list),
        }
    }

    pub fn axes(&self) -> Result<Vec<usize>, BroadcastError> {
        match self {
            // Not from the end: no rule to a shape has negative axes.
            Integers::Signed(list) => shape_from_integers(list),
            Integers::Unsigned(list) => shape_from_integers(list),
        }
    }

    pub fn expand_shape(&self) -> Result<Vec<usize>, BroadcastError> {
        match self {
            Integers::Signed(list) => expand_shape_from_integers(list),
            Integers::Unsigned(list) => expand_shape_from_integers(list),
        }
    }

    /// The integers as type `T`, if all of them fit.
    pub fn tensor<T: TryFrom<i64> + TryFrom<u64>>(&self) -> Option<Vec<T>> {
        match self {
            Integers::Signed(list) => list.iter().map(|&v| T::try_from(v).ok()).collect(),
            Integers::Unsigned(list) => list.iter().map(|&v| T::try_from(v).ok()).collect(),
        }
    }
}

/// Parses a shape that describes the case and is not under test.
pub fn sizes(key: &str, value: &Value) -> Result<Vec<usize>, String> {
    let integers = Integers::parse(key, value)?;
    integers.shape().map_err(|error| format!("{key}: {error}"))
}
