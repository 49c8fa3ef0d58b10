//! Unit tests of `src/runtime/words.rs`.

use super::{number, plain};

#[test]
fn messages_name_what_to_write_and_no_types_of_the_program() {
    for (message, said) in [
        (
            "invalid value: integer `-1`, expected usize",
            "expected a whole number from 0, found -1",
        ),
        (
            "invalid type: integer `99999999999999999999` as i128, expected i64",
            "expected a whole number of at most 64 bits, found 99999999999999999999",
        ),
        (
            "invalid value: integer `5000000000`, expected u32",
            "expected a smaller whole number, found 5000000000",
        ),
        (
            "invalid type: floating point `1000000000000000000000.0`, expected usize",
            "expected a whole number from 0, found 1e21",
        ),
        (
            "invalid type: string \"a, expected b\", expected i64",
            "expected a whole number, found \"a, expected b\"",
        ),
        (
            "invalid type: map, expected a sequence\n",
            "expected a list, found a table",
        ),
        (
            "invalid value: integer `-3`, expected usize\nin `hidden`\n",
            "expected a whole number from 0, found -3 in `hidden`",
        ),
        (
            "invalid type: boolean `true`, expected f64",
            "expected a number, found true",
        ),
        (
            "unknown field `x`, expected `y`",
            "unknown field `x`, expected `y`",
        ),
    ] {
        assert_eq!(plain(message), said);
    }
}

#[test]
fn numbers_are_short() {
    for (value, said) in [
        (0.0, "0"),
        (-3.0, "-3"),
        (0.25, "0.25"),
        (1e6, "1000000"),
        (1e300, "1e300"),
        (-1.5e-9, "-1.5e-9"),
        (f64::INFINITY, "inf"),
        (f64::NAN, "NaN"),
    ] {
        assert_eq!(number(value), said);
    }
}
