//! Sets of element types, by their numbers in `TensorProto.DataType`.

/// A set of element types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TypeSet {
    /// Its word in the table of operators, and in messages.
    pub(super) word: &'static str,
    /// The numbers of its types; `None` for all.
    types: Option<&'static [i32]>,
}

const SETS: &[TypeSet] = &[
    TypeSet::new("any", None),
    TypeSet::new(
        "number",
        Some(&[
            1, 10, 11, 16, 17, 18, 19, 20, 23, 24, 2, 3, 4, 5, 6, 7, 12, 13,
        ]),
    ),
    TypeSet::new("float", Some(&[1, 10, 11, 16, 17, 18, 19, 20, 23, 24])),
    TypeSet::new("integer", Some(&[2, 3, 4, 5, 6, 7, 12, 13])),
    TypeSet::new("index", Some(&[6, 7])),
    TypeSet::new("byte", Some(&[2, 3])),
    TypeSet::new("bool", Some(&[9])),
    TypeSet::new("float32", Some(&[1])),
    TypeSet::new("uint8", Some(&[2])),
    TypeSet::new("int32", Some(&[6])),
    TypeSet::new("int64", Some(&[7])),
];

impl TypeSet {
    const fn new(word: &'static str, types: Option<&'static [i32]>) -> Self {
        TypeSet { word, types }
    }

    /// Returns the set of a word, or `None` if the word is unknown.
    pub(super) fn from_word(word: &str) -> Option<Self> {
        SETS.iter().find(|set| set.word == word).copied()
    }

    pub(super) fn contains(self, element_type: i32) -> bool {
        self.types.is_none_or(|types| types.contains(&element_type))
    }

    /// Returns the only type of the set, or `None` if there are several.
    pub(super) fn only(self) -> Option<i32> {
        match self.types {
            Some(&[only]) => Some(only),
            _ => None,
        }
    }

    /// Returns the types in words.
    pub(super) fn expected(self) -> &'static str {
        match self.word {
            "number" => "numbers",
            "float" => "floats",
            "integer" => "integers",
            "index" => "INT32 or INT64",
            "byte" => "UINT8 or INT8",
            "bool" => "BOOL",
            "float32" => "FLOAT",
            "uint8" => "UINT8",
            "int32" => "INT32",
            "int64" => "INT64",
            _ => "a tensor",
        }
    }
}
