//! Any text as a file of layers: refused in few words, or a network that can be run.

#![no_main]

use divisi_runtime::network::file::LayersFile;
use divisi_runtime::network::{Shape, Weights};
use divisi_fuzz::run;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(file) = toml::from_str::<LayersFile>(text) else {
        return;
    };
    for shape in [Shape::image(3, 9, 8), Shape::vector(12)] {
        match file.build(shape) {
            Ok(graph) if graph.weight_bytes() < 1 << 20 => {
                run(&graph, &Weights::synthetic(&graph, 0));
            }
            Ok(_) => {}
            Err(error) => assert!(error.error.to_string().len() < 4096),
        }
    }
});
