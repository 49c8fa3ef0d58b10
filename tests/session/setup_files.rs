//! Setups: in files, and arranged by whole rows and columns.

use std::time::Duration;

use divisi_model::allocation::{Cell, Difference, Matrix, MatrixFile};
use divisi_model::codes::Code;
use divisi_model::ensemble::{BatchSize, PolicyKind, RuleKind, Temperature, VoteWeight, Wait};
use divisi_model::trace::Span;
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use divisi_session::{
    Arrangement, Command, EditPreview, LiveSession, Prediction, Refusal, Session, Setup, SetupFile,
    Snapshot, WhatIf, WhatIfReply, arrange,
};
use std::sync::Arc;

use crate::common::{digits, fakes, start};

fn live() -> LiveSession {
    let ensemble = digits();
    let engine = Arc::new(start(&ensemble, fakes(&ensemble)));
    LiveSession::new(engine, fakes(&ensemble), None)
}

/// A session whose devices have room for workers of so many samples altogether.
struct Tight {
    live: LiveSession,
    room: u64,
}

impl Session for Tight {
    fn snapshot(&mut self) -> Snapshot {
        let mut shown = self.live.snapshot();
        for device in &mut shown.devices {
            device.memory_bytes = self.room;
        }
        shown
    }

    fn now(&mut self) -> Duration {
        self.live.now()
    }

    fn drain_spans(&mut self, into: &mut Vec<Span>) -> u64 {
        self.live.drain_spans(into)
    }

    fn command(&mut self, command: Command) -> Result<(), Refusal> {
        self.live.command(command)
    }

    fn preview(&mut self, setup: &Setup) -> Result<EditPreview, Refusal> {
        let booked = |device: &Vec<usize>| device.iter().sum::<usize>() as u64;
        let memory: Vec<(u64, u64)> = setup.matrix.rows().iter().map(|r| (0, booked(r))).collect();
        if let Some(device) = memory.iter().position(|m| m.1 > self.room) {
            return Err(Refusal::new(
                Code::DoesNotFit,
                format!("device {device} is full"),
            ));
        }
        Ok(EditPreview {
            difference: Difference::default(),
            memory,
            paused_members: Vec::new(),
            settings: Vec::new(),
            remarks: Vec::new(),
            prediction: Prediction::default(),
        })
    }

    fn what_if(&mut self, question: &WhatIf) -> Result<WhatIfReply, Refusal> {
        self.live.what_if(question)
    }
}

/// A tight session and a setup of these rows.
fn tight(room: u64, rows: &[Vec<i64>]) -> (Tight, Setup) {
    let mut live = live();
    let setup = live.snapshot().setup();
    let matrix = Matrix::from_rows(setup.matrix.frame().clone(), rows).expect("valid");
    (Tight { live, room }, setup.with_matrix(matrix))
}

fn size(n: u32) -> BatchSize {
    BatchSize::new(n).expect("above zero")
}

#[test]
fn a_device_is_cleared_for_other_work() {
    let rows = [vec![8, 16, 32, 0, 0, 0], vec![8, 0, 0, 8, 8, 8]];
    let (mut session, setup) = tight(96, &rows);
    let clear = Arrangement::Clear {
        device: DeviceIndex::new(0),
    };
    let arranged = arrange(&mut session, &setup, clear).expect("it fits");
    // Who has another worker loses this one, the others go.
    assert_eq!(arranged.matrix.rows(), [[0; 6], [8, 16, 32, 8, 8, 8]]);
    assert!(arranged.notes.is_empty());
}

#[test]
fn what_does_not_fit_gets_a_smaller_batch_or_is_refused() {
    let rows = [vec![0, 0, 64, 0, 0, 0], vec![8, 8, 0, 8, 8, 8]];
    let (mut session, setup) = tight(72, &rows);
    let clear = Arrangement::Clear {
        device: DeviceIndex::new(0),
    };
    let arranged = arrange(&mut session, &setup, clear).expect("it fits");
    assert_eq!(arranged.matrix.rows()[1][2], 32);
    assert!(arranged.notes[0].contains("batch size 32"));
    session.room = 40;
    let refused = arrange(&mut session, &setup, clear).expect_err("it is full");
    assert!(
        refused
            .text()
            .contains("fits on no other device: device 1 is full")
    );
}

#[test]
fn an_empty_device_is_clear_already() {
    let rows = [vec![0; 6], vec![8; 6]];
    let (mut session, setup) = tight(96, &rows);
    let refused = arrange(
        &mut session,
        &setup,
        Arrangement::Clear {
            device: DeviceIndex::new(0),
        },
    );
    assert!(
        refused
            .expect_err("nothing to do")
            .text()
            .contains("no worker")
    );
}

#[test]
fn a_member_is_spread_where_it_fits() {
    let rows = [vec![8, 0, 0, 0, 0, 0], vec![0, 8, 8, 8, 8, 8]];
    let (mut session, setup) = tight(48, &rows);
    let spread = |size| Arrangement::Spread {
        member: MemberIndex::new(0),
        size,
    };
    let arranged = arrange(&mut session, &setup, spread(size(8))).expect("it fits");
    let cell = Cell {
        device: DeviceIndex::new(1),
        member: MemberIndex::new(0),
    };
    assert_eq!(arranged.matrix.get(cell), Some(size(8)));
    let refused = arrange(&mut session, &setup, spread(size(64)));
    assert!(refused.expect_err("too large").text().contains("is full"));
}

fn unusual() -> Setup {
    let mut setup = live().snapshot().setup();
    setup.policy = PolicyKind::OptWait {
        wait: Wait::nearest(Duration::from_micros(2500)),
    };
    setup.combination.rule = RuleKind::WeightedAverage;
    setup.combination.weights[1] = VoteWeight::new(0.25).expect("a weight");
    setup.combination.voting[2] = false;
    setup.combination.temperatures[3] = Temperature::new(1.5).expect("in range");
    setup.segment_size = 48;
    let member = MemberIndex::new;
    setup
        .with_precision(member(1), "int8/f32".parse().expect("a precision"))
        .with_precision(member(2), "auto".parse().expect("a precision"))
}

#[test]
fn a_setup_comes_back_from_its_file() {
    let setup = unusual();
    let text = SetupFile::new("digits", &setup).to_text();
    let file = SetupFile::parse(&text).expect("it was just written");
    let running = live().snapshot().setup();
    assert_eq!(file.setup_for("digits", &running), Ok(setup));
}

#[test]
fn a_matrix_file_is_a_setup_file_that_says_less() {
    let running = unusual();
    let text = MatrixFile::new("digits", &running.matrix).to_text();
    let file = SetupFile::parse(&text).expect("a matrix");
    assert_eq!(file.setup_for("digits", &running), Ok(running));
}

#[test]
fn a_precision_in_a_file_leaves_gpus_theirs_where_it_says_nothing_of_them() {
    let mut running = live().snapshot().setup();
    running.precisions[1] = "tf32".parse().expect("a precision");
    let text = SetupFile::new("digits", &unusual()).to_text();
    let file = SetupFile::parse(&text.replace("int8/f32", "int8")).expect("a setup");
    let read = file.setup_for("digits", &running).expect("it fits");
    assert_eq!(read.precisions[1].to_text(), "int8/tf32");
}

#[test]
fn who_expects_a_matrix_is_told_that_it_is_a_setup() {
    let text = SetupFile::new("digits", &unusual()).to_text();
    let error = MatrixFile::parse(&text)
        .expect_err("it says more")
        .to_string();
    assert!(error.starts_with("line "), "{error}");
    assert!(error.contains("expected only a matrix, found a complete setup"));
}

#[test]
fn a_wrong_field_is_named() {
    let text = SetupFile::new("digits", &unusual()).to_text();
    let wrong = |from: &str, to: &str| {
        let file = SetupFile::parse(&text.replace(from, to));
        file.map(drop).expect_err(to).to_string()
    };
    for (from, to, expected) in [
        ("opt-wait:2.5ms", "whenever", "policy: expected a policy"),
        (
            "\"int8/f32\"",
            "\"int4\"",
            "precisions: `cnn-s`: expected f32, tf32, bf16, f16, int8 or auto, or two such as \
             int8/bf16, found `int4`",
        ),
        (
            "\"int8/f32\", ",
            "",
            "precisions: expected 6, one for each member, found 5",
        ),
        (
            "precisions = [",
            "precisions = [1, ",
            "precisions: expected a list of names, one for each member, such as [\"f32\", \"int8\"], \
             found `[1, ",
        ),
        (
            "segment_size = 48",
            "segment_size = -1",
            "segment_size: expected a whole number from 1",
        ),
        (
            "0.25",
            "-0.25",
            "combination: weights: expected a number from 0.000001 to 1000000, or 0 for a member that does not vote, found -0.25",
        ),
        (
            "voting = [",
            "voting = [true, ",
            "combination: expected a weight, a vote and a temperature",
        ),
        (
            "1.5, ",
            "0.0, ",
            "combination: temperatures: expected a temperature from 0.01 to 100, found 0",
        ),
        ("weighted-average", "loudest", "line "),
        (
            "segment_size",
            "segments",
            "line 2: unknown field `segments`",
        ),
    ] {
        let error = wrong(from, to);
        assert!(error.contains(expected), "{error}");
    }
}
