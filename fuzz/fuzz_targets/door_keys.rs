//! Any text as a file of keys: some keys, or refused by the number of a line.

#![no_main]

use std::path::Path;

use divisi_door::keys::check_text;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match check_text(Path::new("keys"), text) {
        Ok(keys) => assert!((1..=text.lines().count()).contains(&keys)),
        Err(error) => assert!(error.to_string().len() < 4096, "{error}"),
    }
});
