//! Simulated devices on the screen, and what can be done to them.

use std::num::NonZeroU32;

use crossterm::event::KeyCode;
use divisi_console::commands::BINDINGS;
use divisi_model::ensemble::{PolicyKind, Wait};
use divisi_runtime::device::DeviceIndex;
use divisi_session::{Command, LoadPattern, Slowdown};

use crate::fake::{Bench, PLAIN};
use crate::simulated::{bench, crowd, interfered, lost, v100s};

#[test]
fn lanes_their_device_and_its_copies_have_rows() {
    screen!("elastic_80x24", bench(80, 24));
    screen!("elastic_160x50", bench(160, 50));
    let mut expanded = bench(80, 24);
    expanded.keys("3z");
    screen!("elastic_expanded", expanded);
}

#[test]
fn without_room_the_device_of_the_cursor_comes_first() {
    let mut bench = bench(120, 30);
    bench.keys("3");
    let first = |bench: &Bench| {
        let text = bench.text();
        let lines: Vec<&str> = text.lines().collect();
        let title = lines.iter().position(|l| l.contains("3 streams")).unwrap();
        lines[title + 1].to_owned()
    };
    assert!(first(&bench).contains("v100:0 r resnet50·1"));
    bench.keys("]");
    assert!(first(&bench).contains("v100:1 R resnet101·1"));
    bench.keys("[[");
    assert!(first(&bench).contains("v100:3 e resnet152·1"));
}

#[test]
fn sixteen_devices_and_long_names() {
    for (name, width, height) in [("crowd_80x24", 80, 24), ("crowd_160x50", 160, 50)] {
        let mut bench = bench(width, height);
        bench.show(|s| crowd(s, 12));
        screen!(name, bench);
    }
    let mut bench = bench(80, 24);
    bench.show(|s| crowd(s, 36));
    for _ in 0..40 {
        bench.press(KeyCode::Right);
        bench.press(KeyCode::Down);
    }
    screen!("crowd_36_80x24", bench);
    assert!(bench.text().contains("resnet136"));
}

#[test]
fn a_lost_device_is_told_from_one_that_serves() {
    for (name, width, height) in [("lost_80x24", 80, 24), ("lost_160x50", 160, 50)] {
        let mut bench = bench(width, height);
        bench.show(lost);
        screen!(name, bench);
    }
}

#[test]
fn a_worker_that_suffers_is_marked_with_a_way_out() {
    for (name, width, height) in [("interfered_80x24", 80, 24), ("interfered_160x50", 160, 50)] {
        let mut bench = bench(width, height);
        bench.show(interfered);
        bench.keys("jjj");
        for _ in 0..3 {
            bench.press(KeyCode::Right);
        }
        screen!(name, bench);
    }
}

#[test]
fn the_split_has_room_on_a_panel_of_its_own() {
    let mut bench = bench(80, 24);
    bench.keys("4z");
    screen!("latency_expanded", bench);
}

#[test]
fn forms_of_devices_and_policies() {
    for (name, key) in [
        ("max_inf_form", 'i'),
        ("slow_form", 'S'),
        ("lose_confirm", 'D'),
        ("policy_form", 'p'),
    ] {
        let mut bench = bench(80, 24);
        bench.press(KeyCode::Char(key));
        screen!(name, bench);
    }
}

#[test]
fn that_answers_mean_nothing_is_said_at_every_size() {
    for (width, height) in [(40, 12), (80, 24), (200, 60)] {
        let mut simulated = bench(width, height);
        assert!(simulated.text().contains("SIMULATED"));
        simulated.show(|s| s.simulated = false);
        assert!(!simulated.text().contains("SIMULATED"));
    }
}

#[test]
fn losing_a_device_is_asked_first() {
    let mut bench = bench(80, 24);
    bench.keys("jD");
    assert!(bench.text().contains("Simulate the loss of sim:v100:1?"));
    assert!(bench.sent().is_empty());
    bench.keys("y");
    assert_eq!(bench.sent(), [Command::LoseDevice(DeviceIndex::new(1))]);
}

#[test]
fn a_lost_device_comes_back() {
    let mut bench = bench(80, 24);
    bench.keys("R");
    assert!(bench.text().contains("sim:v100:0 is not lost"));
    bench.show(lost);
    bench.keys("R");
    assert_eq!(bench.sent(), [Command::RegainDevice(DeviceIndex::new(0))]);
    bench.keys("D");
    assert!(bench.text().contains("sim:v100:0 is already lost"));
    bench.keys("S");
    assert!(bench.text().contains("sim:v100:0 is lost"));
}

#[test]
fn devices_are_slowed_and_bounded() {
    let mut bench = bench(80, 24);
    bench.keys("jjS");
    bench.press(KeyCode::Backspace);
    bench.keys("0");
    bench.press(KeyCode::Enter);
    assert!(bench.text().contains("expected a factor from 0.1 to 100"));
    bench.press(KeyCode::Backspace);
    bench.keys("2.5");
    bench.press(KeyCode::Enter);
    bench.keys("i64");
    bench.press(KeyCode::Enter);
    bench.keys("i");
    bench.press(KeyCode::Enter);
    assert_eq!(
        bench.sent(),
        [
            Command::SlowDevice(DeviceIndex::new(2), Slowdown::nearest(2.5)),
            Command::SetMaxInf(DeviceIndex::new(2), NonZeroU32::new(64)),
            Command::SetMaxInf(DeviceIndex::new(2), None),
        ]
    );
}

#[test]
fn devices_of_this_machine_stay() {
    let mut bench = Bench::new(80, 24);
    for key in "DRS".chars() {
        bench.press(KeyCode::Char(key));
        assert!(
            bench.text().contains("cpu:0 is part of this machine"),
            "{key}"
        );
    }
    bench.keys("M");
    assert!(bench.text().contains("no proposed change"));
    assert!(bench.sent().is_empty());
}

#[test]
fn read_only_leaves_devices_alone() {
    let mut bench = Bench::with(80, 24, true, PLAIN);
    bench.show(v100s);
    bench.show(interfered);
    for key in "DRSiM".chars() {
        bench.press(KeyCode::Char(key));
        assert!(bench.text().contains("✗ read-only"), "{key}");
        assert!(bench.console.dialogs().is_empty());
    }
    assert!(bench.sent().is_empty());
}

#[test]
fn the_proposed_move_is_compared_then_applied() {
    let mut bench = bench(80, 24);
    bench.show(interfered);
    assert!(
        bench
            .text()
            .contains("M: move resnet152 to sim:v100:1 at 16")
    );
    let shown = bench.console.model().snapshot.clone();
    let setup = shown.setup().with_matrix(shown.proposal.unwrap().matrix);
    bench.keys("M");
    assert!(bench.text().contains("+ start"));
    // What was compared, not what is proposed meanwhile.
    bench.show(|s| s.proposal = None);
    bench.keys("y");
    assert_eq!(bench.sent(), [Command::Apply(Box::new(setup), None)]);
}

#[test]
fn all_six_policies_can_be_chosen() {
    let mut bench = Bench::new(80, 24);
    for name in PolicyKind::names() {
        bench.keys("p");
        assert!(bench.text().contains(name));
        for _ in 0..PolicyKind::names().iter().position(|n| *n == name).unwrap() {
            bench.press(KeyCode::Down);
        }
        bench.press(KeyCode::Enter);
        bench.keys("y");
    }
    bench.keys("p");
    for _ in PolicyKind::names() {
        bench.press(KeyCode::Down);
    }
    bench.keys("48");
    bench.press(KeyCode::Enter);
    bench.keys("y");
    let wait = Wait::millis(5);
    let policies = bench.sent().into_iter().map(|command| match command {
        Command::Apply(setup, None) => setup.policy,
        other => panic!("{other:?}"),
    });
    assert_eq!(
        policies.collect::<Vec<_>>(),
        [
            // no-wait is what runs.
            PolicyKind::OptWait { wait },
            PolicyKind::PipelinedOptWait { wait },
            PolicyKind::Static { wait },
            PolicyKind::Segment { wait },
            PolicyKind::Elastic { max_inf: None },
            PolicyKind::Elastic {
                max_inf: NonZeroU32::new(48)
            },
        ]
    );
}

#[test]
fn a_steady_load_can_be_chosen() {
    let mut bench = Bench::new(80, 24);
    bench.keys("lj");
    bench.press(KeyCode::Enter);
    let steady = LoadPattern::steady(800.0);
    assert_eq!(bench.sent(), [Command::StartLoad(steady)]);
}

#[test]
fn every_command_is_in_the_help_and_the_palette() {
    for entry in BINDINGS.iter() {
        let mut bench = bench(160, 50);
        // A space first, since q alone closes the help.
        bench.keys("? ");
        bench.keys(entry.title);
        assert!(
            bench.text().contains(entry.help.split(';').next().unwrap()),
            "{}",
            entry.title
        );
    }
    for title in [
        "lose the device",
        "bring the device back",
        "slow the device down",
        "set MaxInf of the device",
        "apply the proposed move",
        "next device",
        "previous device",
    ] {
        let mut bench = bench(160, 50);
        bench.keys(":");
        bench.keys(title);
        assert!(bench.text().contains(&format!("▸{title}")), "{title}");
    }
}

#[test]
fn no_size_panics_with_lanes_and_dialogs() {
    for width in (0..220).step_by(13) {
        for height in (0..70).step_by(5) {
            let mut bench = bench(width, height);
            bench.show(lost);
            bench.show(interfered);
            for keys in ["", "3z", "z4", "i", "\u{1b}D", "nS"] {
                bench.keys(keys);
                bench.buffer();
            }
            bench.show(|s| crowd(s, 36));
            bench.buffer();
        }
    }
}
