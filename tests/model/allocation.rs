//! The matrix keeps its rules; differences and edits lead from one to another.

use std::sync::Arc;

use divisi_model::allocation::{
    Cell, Difference, Frame, InvalidMatrix, Matrix, MatrixFile, MatrixFileError, UndoHistory,
    WorkerChange,
};
use divisi_model::ensemble::{BatchSize, BatchSizes};
use divisi_runtime::device::{DeviceIndex, MemberIndex};
use proptest::prelude::*;

fn frame(devices: usize, members: usize) -> Arc<Frame> {
    Arc::new(Frame {
        devices: (0..devices).map(|d| format!("cpu:{d}")).collect(),
        members: (0..members).map(|m| format!("m{m}")).collect(),
        batch_sizes: BatchSizes::default(),
    })
}

fn rows() -> impl Strategy<Value = Vec<Vec<i64>>> {
    (1usize..4, 1usize..5).prop_flat_map(|(devices, members)| {
        let entry = prop::sample::select(vec![0, 8, 16, 32, 64, 128]);
        prop::collection::vec(prop::collection::vec(entry, members), devices)
    })
}

fn matrix() -> impl Strategy<Value = Matrix> {
    rows().prop_filter_map("every member has a worker", |rows| {
        Matrix::from_rows(frame(rows.len(), rows[0].len()), &rows).ok()
    })
}

/// Two matrices of one frame.
fn pair() -> impl Strategy<Value = (Matrix, Matrix)> {
    matrix().prop_flat_map(|m| {
        let (d, n) = (m.frame().devices.len(), m.frame().members.len());
        let entry = prop::sample::select(vec![0, 8, 16, 128]);
        let other = prop::collection::vec(prop::collection::vec(entry, n), d);
        (Just(m), other).prop_filter_map("valid", |(m, rows)| {
            let other = Matrix::from_rows(Arc::clone(m.frame()), &rows).ok()?;
            Some((m, other))
        })
    })
}

proptest! {
    #[test]
    fn a_matrix_is_valid_exactly_when_no_column_is_zero(rows in rows()) {
        let members = rows[0].len();
        let full = (0..members).all(|m| rows.iter().any(|row| row[m] > 0));
        prop_assert_eq!(Matrix::from_rows(frame(rows.len(), members), &rows).is_ok(), full);
    }

    #[test]
    fn neighbours_differ_in_one_entry_and_are_as_many_as_the_paper_counts(m in matrix()) {
        let (d, n) = (m.frame().devices.len(), m.frame().members.len());
        let neighbours = m.neighbours();
        for other in &neighbours {
            prop_assert_eq!(m.cells().filter(|&c| m.get(c) != other.get(c)).count(), 1);
        }
        // Forbidden: taking away the only worker of a member.
        let workers = |member| m.column(member).filter(|(_, s)| s.is_some()).count();
        let lonely = MemberIndex::all(n).filter(|member| workers(*member) == 1).count();
        prop_assert_eq!(neighbours.len(), m.frame().batch_sizes.count() * d * n - lonely);
    }

    #[test]
    fn a_difference_applied_gives_the_other_matrix((old, new) in pair()) {
        let mut rows = vec![vec![None; old.frame().members.len()]; old.frame().devices.len()];
        for entry in Difference::between(&old, &new).entries {
            rows[entry.cell.device][entry.cell.member] = match entry.change {
                WorkerChange::Keep(s) | WorkerChange::Start(s) | WorkerChange::Rebuild(s)
                | WorkerChange::Resize { to: s, .. } => Some(s),
                WorkerChange::Stop(_) => None,
            };
        }
        let applied = Matrix::new(Arc::clone(old.frame()), rows.concat());
        prop_assert_eq!(applied, Ok(new));
    }

    #[test]
    fn a_difference_is_empty_only_between_equals((old, new) in pair()) {
        prop_assert_eq!(Difference::between(&old, &new).is_empty(), old == new);
        prop_assert!(Difference::between(&old, &old).is_empty());
    }

    #[test]
    fn undo_and_redo_lead_back_and_forth(steps in prop::collection::vec((0u8..3, 0u32..100), 0..60)) {
        // What runs, what ran before and what was undone, as plain stacks.
        let (mut now, mut undo, mut redo) = (0, Vec::new(), Vec::new());
        let mut history = UndoHistory::default();
        for (step, value) in steps {
            match step {
                0 => {
                    history.push(now);
                    undo.push(now);
                    redo.clear();
                    now = value;
                }
                1 => {
                    prop_assert_eq!(history.to_undo(), undo.last());
                    if let Some(before) = undo.pop() {
                        history.undone(now);
                        redo.push(now);
                        now = before;
                    }
                }
                _ => {
                    prop_assert_eq!(history.to_redo(), redo.last());
                    if let Some(after) = redo.pop() {
                        history.redone(now);
                        undo.push(now);
                        now = after;
                    }
                }
            }
        }
    }

    #[test]
    fn a_matrix_survives_its_file(m in matrix()) {
        let text = MatrixFile::new("x", &m).to_text();
        let read = MatrixFile::parse(&text).expect("own text parses");
        prop_assert_eq!(read.matrix_for("x", m.frame()), Ok(m));
    }
}

#[test]
fn edits_that_break_a_rule_are_refused_with_the_reason() {
    let m = Matrix::from_rows(frame(2, 2), &[vec![8, 0], vec![0, 16]]).expect("valid");
    let cell = Cell {
        device: DeviceIndex::new(0),
        member: MemberIndex::new(0),
    };
    assert_eq!(
        m.with_entry(cell, None),
        Err(InvalidMatrix::NoWorker {
            member: "m0".into()
        })
    );
    let odd = m
        .with_entry(cell, BatchSize::new(9))
        .expect_err("9 is not allowed")
        .to_string();
    assert_eq!(
        odd,
        "`cpu:0` × `m0`: batch size 9 is not allowed, expected 0 or one of 8, 16, 32, 64, 128"
    );
}

#[test]
fn a_matrix_for_something_else_is_refused() {
    let m = Matrix::from_rows(frame(1, 2), &[vec![8, 8]]).expect("valid");
    let file = MatrixFile::new("digits", &m);
    let devices = Arc::new(Frame {
        devices: vec!["cpu:7".into()],
        ..Frame::clone(m.frame())
    });
    let members = Arc::new(Frame {
        members: vec!["a".into(), "b".into()],
        ..Frame::clone(m.frame())
    });
    assert!(matches!(
        file.matrix_for("other", m.frame()),
        Err(MatrixFileError::Ensemble { .. })
    ));
    assert!(matches!(
        file.matrix_for("digits", &devices),
        Err(MatrixFileError::Devices { .. })
    ));
    assert!(matches!(
        file.matrix_for("digits", &members),
        Err(MatrixFileError::Members { .. })
    ));
    let broken =
        MatrixFile::parse("ensemble = \"x\"\ndevices = []\nmembrs = []\n").expect_err("typo");
    assert!(
        broken
            .to_string()
            .starts_with("line 3: unknown field `membrs`"),
        "{broken}"
    );
    let broken = MatrixFile::parse("ensemble = \"x\"\nprecision = \"int8\"\n").expect_err("typo");
    assert_eq!(
        broken.to_string(),
        "line 2: `precision`: expected `precisions`, a list with one for each member"
    );
}
