//! Large requests stay where they were received, and are answered as those are whose samples are
//! copied to the pool.

use std::path::PathBuf;
use std::sync::{Arc, Weak};

use divisi::ensemble::{Ensemble, Files};
use divisi::serving::{Request, SharedSamples};

use crate::common::{networks, start};
use crate::wait::wait_until;

fn sample(name: &str) -> Arc<Ensemble> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("sample_ensembles");
    Arc::new(Ensemble::read(&Files::at(&folder.join(name))).expect("a sample ensemble"))
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

fn received(values: &[f32], from: usize) -> (SharedSamples, Weak<()>) {
    let mut bytes = vec![0; from];
    bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    let alive = Arc::new(());
    let weak = Arc::downgrade(&alive);
    let memory = Received {
        bytes,
        from,
        _alive: alive,
    };
    (SharedSamples::new(memory), weak)
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
            for from in [0, 1] {
                let (memory, alive) = received(&values, from);
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
    let (memory, alive) = received(&values, 1);
    assert!(engine.predict(Request::shared(&memory)).is_err());
    drop(memory);
    wait_until("the memory is let go", || alive.upgrade().is_none());
}
