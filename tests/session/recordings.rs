//! Recordings: what is lost when a process is killed or a file is harmed, and how much of
//! one is decoded.

use std::fs;
use std::time::Duration;

use divisi_session::record::{Recorder, RecordingReader};
use divisi_session::replay::ReplaySession;
use divisi_session::wire::{Format, SpanBatch, encode, hello};
use divisi_session::{Command, Play, Session};

use crate::folder::Folder;
use crate::transport::{Puppet, play, record, template};
use crate::wait::wait_for;

/// FNV-1a, as a block's head has it.
fn checksum(bytes: &[u8]) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325;
    bytes.iter().fold(start, |sum: u64, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// A block of `raw` bytes at second `number`, as a recorder would write it.
fn block(number: u64, raw: &[u8]) -> Vec<u8> {
    let packed = lz4_flex::block::compress(raw);
    let nanos = number * 1_000_000_000;
    let mut bytes = b"DVSB".to_vec();
    bytes.extend(nanos.to_le_bytes());
    bytes.extend((nanos + 999).to_le_bytes());
    bytes.extend((raw.len() as u32).to_le_bytes());
    bytes.extend((packed.len() as u32).to_le_bytes());
    bytes.extend(checksum(&packed).to_le_bytes());
    bytes.extend(packed);
    bytes
}

/// A state, and the same record again and again up to `size` bytes.
fn stuffed(number: u64, size: usize, record: &[u8]) -> Vec<u8> {
    let mut shown = template();
    shown.now = Duration::from_secs(number);
    let mut raw = vec![0];
    raw.extend(encode(&shown).expect("encoded"));
    while raw.len() + record.len() <= size {
        raw.extend_from_slice(record);
    }
    raw
}

fn recording(blocks: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut bytes = hello(Format::Recording).to_vec();
    blocks.for_each(|block| bytes.extend(block));
    bytes
}

/// Spans that are none, made at second `number`: five bytes that cost a record each.
fn no_spans(number: u64) -> Vec<u8> {
    let at = Duration::from_secs(number);
    let mut record = vec![1];
    record.extend(encode(&(at, SpanBatch::default())).expect("encoded"));
    record
}

const MIB: usize = 1 << 20;

#[test]
fn a_small_file_is_never_decoded_to_much() {
    let folder = Folder::new();
    let path = folder.join("a.divisi");
    // 62 MiB of records in a block of 245 KiB: no recorder writes such.
    let bytes = recording(std::iter::once(block(
        0,
        &stuffed(0, 62 * MIB, &no_spans(0)),
    )));
    assert!(bytes.len() < 300 << 10, "{} bytes", bytes.len());
    fs::write(&path, &bytes).expect("written");
    let error = RecordingReader::open(&path)
        .expect_err("too large")
        .to_string();
    assert!(error.contains("no complete block"), "{error}");
    // As many as are allowed: opening decodes the first state and nothing else.
    let blocks = (0..7).map(|n| block(n, &stuffed(n, 8 * MIB, &no_spans(n))));
    let bytes = recording(blocks);
    assert!(bytes.len() < 300 << 10, "{} bytes", bytes.len());
    fs::write(&path, &bytes).expect("written");
    let reader = RecordingReader::open(&path).expect("seven blocks");
    assert_eq!(reader.decoded().blocks, 0);
    let mut session =
        ReplaySession::with_clock(reader, Box::new(|| Duration::ZERO)).expect("a state");
    let opened = session.decoded();
    assert_eq!((opened.blocks, opened.records), (1, 1));
    assert!(opened.bytes <= 8 * MIB, "{opened:?}");
    session.to_end();
    let shown = session.snapshot();
    let (all, most) = (session.decoded(), 7 * 4096);
    assert!(all.blocks <= 8 && all.records <= most, "{all:?}");
    let remark = shown.log.first().expect("a remark");
    assert!(remark.text.contains("damaged"), "{remark:?}");
}

#[test]
fn lists_are_counted_before_they_are_made() {
    let folder = Folder::new();
    let path = folder.join("a.divisi");
    let mut shown = template();
    // A byte each in the file, and 24 in memory.
    shown.reload = Some(divisi_session::ReloadView {
        steps: vec![String::new(); 7 * MIB / 2],
        state: divisi_session::ReloadState::Done,
        elapsed: Duration::ZERO,
    });
    let mut raw = vec![0];
    raw.extend(encode(&shown).expect("encoded"));
    let bytes = recording(std::iter::once(block(0, &raw)));
    assert!(bytes.len() < 64 << 10, "{} bytes", bytes.len());
    fs::write(&path, &bytes).expect("written");
    let reader = RecordingReader::open(&path).expect("a block");
    let error = ReplaySession::with_clock(reader, Box::new(|| Duration::ZERO)).err();
    let error = error.expect("84 MB from 20 KB").to_string();
    assert!(error.contains("no complete block"), "{error}");
}

#[test]
fn blocks_are_decoded_when_they_are_played_to() {
    let folder = Folder::new();
    let path = folder.join("a.divisi");
    record(&path, 20);
    let (mut session, _) = play(&path);
    assert_eq!(session.decoded().blocks, 1);
    let to = |at| Command::Play(Play::Seek(Duration::from_secs(at)));
    session.command(to(1)).expect("there");
    session.snapshot();
    let near = session.decoded();
    assert!(near.blocks <= 3, "{near:?}");
    session.to_end();
    session.snapshot();
    let all = session.decoded();
    assert!(all.blocks > 5, "{all:?}");
}

#[test]
fn a_process_that_is_killed_leaves_its_first_seconds() {
    let folder = Folder::new();
    let path = folder.join("a.divisi");
    let puppet = Puppet::new();
    puppet.step(0);
    let mut session = Recorder::new(puppet.clone());
    let start = Command::StartRecording(path.clone());
    session.command(start).expect("starts");
    for tenth in 1..=25 {
        puppet.step(tenth * 100);
        session.drain_spans(&mut Vec::new());
        session.snapshot();
    }
    // Nothing ends it: what is in the file now is what a kill leaves.
    let kept = wait_for(|| {
        let reader = RecordingReader::open(&path).map_err(|e| e.to_string())?;
        let until = reader.until();
        if until >= Duration::from_secs(1) {
            Ok(until)
        } else {
            Err(format!("until {until:?}"))
        }
    });
    assert!(kept <= Duration::from_millis(2500));
}

#[test]
fn what_is_harmed_is_left_out_with_a_word_and_the_rest_is_played() {
    let folder = Folder::new();
    let path = folder.join("a.divisi");
    let seen = record(&path, 20);
    let whole = fs::read(&path).expect("bytes");
    let heads: Vec<usize> = (0..whole.len() - 4)
        .filter(|i| whole[*i..].starts_with(b"DVSB"))
        .collect();
    assert!(heads.len() > 5, "{heads:?}");
    for (what, place) in [
        ("a head", heads[3]),
        ("a length", heads[3] + 25),
        ("what a block holds", heads[3] + 60),
    ] {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x55;
        fs::write(&path, &bytes).expect("written");
        let (mut session, _) = play(&path);
        session.to_end();
        let mut shown = session.snapshot();
        let remark = shown.log.remove(0);
        assert_eq!(
            remark.text, "1 damaged part of the recording skipped",
            "{what}"
        );
        assert_eq!(
            shown.log,
            seen[seen.len() - 1].log,
            "{what}: the end is there"
        );
    }
}
