//! Archives of arrays.

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// An archive of these files.
pub fn archive(method: CompressionMethod, files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, bytes) in files {
        writer.start_file(*name, options).expect("begins");
        writer.write_all(bytes).expect("writes");
    }
    writer.finish().expect("ends").into_inner()
}
