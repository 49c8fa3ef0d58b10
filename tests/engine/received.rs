//! Large requests stay where they were received, and are answered as those are whose samples are
//! copied to the pool.

use std::sync::{Arc, Weak};

use divisi_engine::serving::{Refused, Request, SharedSamples};
use divisi_model::ensemble::{Ensemble, Files, SampleValues, SharedMemory};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::{networks, start};
use crate::place::root;
use crate::wait::wait_until;

fn sample(name: &str) -> Arc<Ensemble> {
    let folder = root().join("sample_ensembles");
    Arc::new(Ensemble::read(&Files::from_path(&folder.join(name))).expect("a sample ensemble"))
}

/// Bytes that begin at any address.
struct Received {
    bytes: Vec<u8>,
    from: usize,
    _alive: Arc<()>,
}

impl AsRef<[u8]> for Received {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[self.from..]
    }
}

/// Memory with the values in pieces of so many bytes, each of which begins `from` bytes into what was
/// allocated for it.
fn received(values: &[f32], from: usize, piece: usize) -> (SharedSamples, Weak<()>) {
    let all: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let alive = Arc::new(());
    let weak = Arc::downgrade(&alive);
    let pieces = all.chunks(piece.min(all.len()));
    let memories = pieces.map(|piece| {
        let memory = Received {
            bytes: [&vec![0; from], piece].concat(),
            from,
            _alive: Arc::clone(&alive),
        };
        Arc::new(memory) as SharedMemory
    });
    (SharedSamples::of_pieces(memories), weak)
}

#[test]
fn large_requests_are_answered_alike_from_where_they_were_received() {
    // Members with a normalisation, and a graph whose steps of the host read the samples.
    for name in ["digits", "digits-cascade"] {
        let ensemble = sample(name);
        let engine = start(&ensemble, networks(&ensemble));
        let width = ensemble.input.shape.elements();
        // Of 64 KiB and more, in several parts and batches; and a small one.
        for samples in [3, (64 << 10) / 4 / width, 600] {
            let at = |i: usize| ((i as f32 * 0.7548).fract() * 16.0).floor();
            let values: Vec<f32> = (0..samples * width).map(at).collect();
            let copied = engine.predict(Request::new(&values)).expect("let in");
            let copied = copied.expect("answered");
            let ways = [(0, usize::MAX), (1, usize::MAX), (0, 4096), (3, 10_001)];
            for (from, piece) in ways {
                let (memory, alive) = received(&values, from, piece);
                let answer = engine.predict(Request::shared(&memory)).expect("let in");
                let answer = answer.expect("answered");
                drop(memory);
                assert_eq!(answer.rows().count(), samples);
                let pairs = answer.rows().flatten().zip(copied.rows().flatten());
                for (a, b) in pairs {
                    assert!(
                        (a - b).abs() < 1e-4,
                        "{name}, {samples} samples: {a} and {b}"
                    );
                }
                // Nobody keeps the memory of a request that is over.
                wait_until("the memory is let go", || alive.upgrade().is_none());
            }
        }
    }
}

#[test]
fn a_large_request_that_is_refused_lets_its_memory_go() {
    let ensemble = sample("digits");
    let engine = start(&ensemble, networks(&ensemble));
    let mut values = vec![1.0; 400 * ensemble.input.shape.elements()];
    values[77] = f32::NAN;
    for piece in [usize::MAX, 77 * 4 + 2] {
        let (memory, alive) = received(&values, 1, piece);
        let refused = engine
            .predict(Request::shared(&memory))
            .expect_err("refused");
        let expected = Refused::NotFinite {
            sample: 77 / engine.ensemble().input.shape.elements(),
            value: 77 % engine.ensemble().input.shape.elements(),
        };
        assert_eq!(refused, expected);
        drop(memory);
        wait_until("the memory is let go", || alive.upgrade().is_none());
    }
}

proptest! {
    /// Values in pieces are those of one memory, whatever is looked at.
    #[test]
    fn values_in_pieces_are_those_of_one_memory(
        values in vec(prop_oneof![9 => -9.0f32..9.0, 1 => Just(f32::NAN)], 1..60),
        piece in 1usize..30,
        (from, to) in (0usize..60, 0usize..60),
        at in 0usize..60,
    ) {
        let bits = |values: SampleValues<'_>| -> Vec<u32> {
            values.floats().iter().map(|v| v.to_bits()).collect()
        };
        let (memory, _) = received(&values, 1, piece);
        let (whole, pieces) = (SampleValues::Floats(&values), memory.values());
        prop_assert_eq!(pieces.len(), whole.len());
        prop_assert_eq!(bits(pieces), bits(whole));
        prop_assert_eq!(pieces.first_not_finite(), whole.first_not_finite());
        prop_assert_eq!(pieces.get(from..to).map(bits), whole.get(from..to).map(bits));
        let (first, second) = pieces.split_at(at);
        let expected = whole.split_at(at);
        prop_assert_eq!((bits(first), bits(second)), (bits(expected.0), bits(expected.1)));
    }
}
