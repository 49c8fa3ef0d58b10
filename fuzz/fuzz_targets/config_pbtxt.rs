//! Any text as the configuration of a model in a repository: a configuration, or refused by its
//! line in few words.

#![no_main]

use divisi_repository::config::ModelConfig;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(fault) = ModelConfig::parse("config.pbtxt", text) {
        let told = fault.to_string();
        assert!(told.len() < 4096 && told.contains("config.pbtxt"), "{told}");
    }
});
