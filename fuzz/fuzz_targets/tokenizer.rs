//! Any text as a `tokenizer.json`, with the texts that it cuts behind it: refused in few words, or
//! tokens of its own vocabulary.

#![no_main]

use std::panic;
use std::sync::Once;

use divisi_model::ensemble::samples::TextTokenizer;
use libfuzzer_sys::fuzz_target;

/// The most tokens of a text.
const LENGTH: usize = 16;

/// The library may panic inside of what catches it. Only what gets out is a finding.
fn take_caught_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| panic::set_hook(Box::new(|_| {})));
}

// Behind the file, texts are divided by zeros.
fuzz_target!(|text: &str| {
    take_caught_panics();
    let mut parts = text.split('\0');
    let file = parts.next().unwrap_or_default();
    let tokenizer = match TextTokenizer::parse(file, LENGTH) {
        Ok(tokenizer) => tokenizer,
        Err(error) => return assert!(error.to_string().len() < 4096, "{error}"),
    };
    assert!(tokenizer.padding() <= tokenizer.highest());
    let texts: Vec<&str> = parts.take(4).chain(["Two words, 3rd."]).collect();
    for (at, text) in texts.iter().enumerate() {
        let pair = texts.get(at + 1).copied();
        match tokenizer.encode(text, pair) {
            Ok((encoding, _)) => {
                assert!(encoding.len() <= LENGTH, "{} tokens", encoding.len());
                let highest = tokenizer.highest();
                assert!(encoding.get_ids().iter().all(|id| *id <= highest));
            }
            Err(error) => assert!(error.to_string().len() < 4096, "{error}"),
        }
        if let Err(error) = tokenizer.pieces(text, pair) {
            assert!(error.to_string().len() < 4096, "{error}");
        }
    }
});
