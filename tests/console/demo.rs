//! The demonstration goes by what is shown: no clock, no engine.

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::KeyCode;
use divisi_console::console::Effect;
use divisi_console::console::{DemoStage, Wanted};
use divisi_model::allocation::{Frame, Matrix};
use divisi_model::ensemble::PolicyKind;
use divisi_session::{Command, LoadPattern, SearchState, Snapshot};

use crate::fake::{Bench, PLAIN, many, search};

pub fn demo(width: u16, height: u16, auto: bool) -> Bench {
    let stage = DemoStage::Digits;
    Bench::demonstrating(width, height, PLAIN, Wanted { stage, auto })
}

/// Does what was asked, and lets time and requests pass, until the scene is over.
fn play(bench: &mut Bench) {
    play_with(bench, &|_| 50);
}

pub fn play_with(bench: &mut Bench, rate: &dyn Fn(&Matrix) -> u64) {
    for _ in 0..400 {
        if bench.text().contains('■') {
            return;
        }
        pass_with(bench, rate);
    }
    panic!("the scene does not end:\n{}", bench.text());
}

/// The fake does what was last asked of it; a second and fifty answers pass.
pub fn pass(bench: &mut Bench) {
    pass_with(bench, &|_| 50);
}

/// The same where what runs answers so many requests a second.
fn pass_with(bench: &mut Bench, rate: &dyn Fn(&Matrix) -> u64) {
    let asked = std::mem::take(&mut *bench.desk.sent.lock().unwrap());
    bench.show(|shown| {
        shown.now += Duration::from_secs(1);
        shown.counters.answered += rate(&shown.matrix);
        shown.members.iter_mut().for_each(|m| m.queued = 0);
        for command in asked {
            match command {
                Command::Apply(setup, _) => {
                    shown.matrix = setup.matrix;
                    shown.policy = setup.policy;
                    shown.combination = setup.combination;
                    shown.segment_size = setup.segment_size;
                }
                Command::StartLoad(pattern) => shown.load.pattern = Some(pattern),
                Command::StopLoad => shown.load.pattern = None,
                Command::StartSearch(_) => {
                    let mut found = search();
                    found.state = SearchState::Finished;
                    shown.search = Some(found);
                }
                _ => {}
            }
        }
    });
}

#[test]
fn the_first_scene_sets_up_what_it_shows_and_ends_with_figures() {
    let mut bench = demo(120, 40, false);
    assert!(bench.text().contains("One worker alone"));
    assert!(matches!(bench.sent()[..], [Command::Apply(..)]));
    assert!(bench.console.dialogs().is_empty(), "nothing is hidden");
    play(&mut bench);
    let shown = bench.desk.shown.lock().unwrap().clone();
    let rows = shown.matrix.rows();
    let workers = |row: &Vec<usize>| row.iter().filter(|size| **size > 0).count();
    assert_eq!((workers(&rows[0]), workers(&rows[1])), (1, 5));
    let closed = LoadPattern::closed(16, 32);
    assert_eq!(shown.load.pattern, Some(closed));
    // 50 requests of 32 samples a second.
    assert!(bench.text().contains("alone 1 600"), "{}", bench.text());
    screen!("demo_scene_120x40", bench);
}

#[test]
fn it_fits_on_a_small_screen() {
    let mut bench = demo(80, 24, false);
    play(&mut bench);
    screen!("demo_scene_80x24", bench);
}

#[test]
fn all_scenes_play_one_after_the_other_and_back() {
    let mut bench = demo(120, 40, false);
    for scene in 1..=6 {
        assert!(bench.text().contains(&format!(" {scene}/6 ")));
        play(&mut bench);
        if scene < 6 {
            bench.keys("n");
        }
    }
    bench.keys("b");
    assert!(bench.text().contains(" 5/6 ") && !bench.text().contains('■'));
    bench.keys("nn");
    assert!(
        bench.text().contains("the last scene"),
        "a key too many leaves nothing"
    );
    bench.press(KeyCode::Esc);
    assert!(bench.console.model().demo.is_none());
}

#[test]
fn four_policies_are_compared_side_by_side() {
    let mut bench = demo(120, 40, false);
    bench.keys("nnn");
    play(&mut bench);
    let text = bench.text();
    for name in [
        "p99 ms",
        "no-wait 6.80",
        "opt-wait 6.80",
        "static 6.80",
        "elastic 6.80",
    ] {
        assert!(text.contains(name), "{name}:\n{text}");
    }
    assert_eq!(bench.console.model().snapshot.policy, PolicyKind::NoWait);
    let burst = bench.console.model().snapshot.load.pattern.clone();
    // 0.6 of the 50 × 32 samples a second that were gauged.
    assert_eq!(burst, Some(LoadPattern::burst(960.0)));
    screen!("demo_policies_120x40", bench);
}

#[test]
fn a_scene_is_repeated_from_its_start_with_new_figures() {
    let mut bench = demo(120, 40, false);
    play(&mut bench);
    bench.keys("r");
    assert!(!bench.text().contains("alone 1 600"));
    play(&mut bench);
    assert!(bench.text().contains("alone 1 600"));
}

#[test]
fn alone_it_goes_on_by_itself_and_begins_again() {
    let mut bench = demo(120, 40, true);
    let mut seen = Vec::new();
    for _ in 0..1000 {
        pass(&mut bench);
        let text = bench.text();
        let place = (1..=6).find(|scene| text.contains(&format!(" {scene}/6 ")));
        if seen.last() != Some(&place) {
            seen.push(place);
        }
    }
    let first: Vec<_> = (1..=6).chain([1]).map(Some).collect();
    assert_eq!(seen[..7], first);
}

#[test]
fn escape_ends_it_and_stays_and_leaving_is_asked_first() {
    let mut bench = demo(120, 40, false);
    assert!(bench.press(KeyCode::Char('q')).is_empty());
    assert!(bench.text().contains("End the demonstration and quit?"));
    bench.press(KeyCode::Esc);
    assert!(bench.console.model().demo.is_some());
    bench.press(KeyCode::Esc);
    assert!(bench.console.model().demo.is_none());
    assert!(bench.text().contains("demonstration ended"));
    assert!(bench.press(KeyCode::Char('q')).is_empty());
    assert_eq!(bench.press(KeyCode::Char('s')), [Effect::Quit]);
}

#[test]
fn what_is_refused_is_said_and_the_next_scene_can_be_gone_to() {
    let mut bench = demo(120, 40, false);
    bench.keys("n");
    *bench.desk.refusal.lock().unwrap() = Some("no room on cpu:0".into());
    pass(&mut bench);
    pass(&mut bench);
    assert!(
        bench
            .text()
            .contains("cannot be shown here: no room on cpu:0")
    );
    *bench.desk.refusal.lock().unwrap() = None;
    bench.keys("n");
    play(&mut bench);
}

#[test]
fn the_console_can_be_used_meanwhile() {
    let mut bench = demo(120, 40, false);
    bench.keys("e+");
    assert!(bench.console.model().edit.is_some());
    bench.press(KeyCode::Esc);
    bench.keys("y");
    assert!(bench.console.model().edit.is_none() && bench.console.model().demo.is_some());
}

#[test]
fn with_more_devices_than_members_the_rest_help_the_dearest() {
    let wanted = Wanted {
        stage: DemoStage::Simulated,
        auto: false,
    };
    let mut bench = Bench::demonstrating(160, 50, PLAIN, wanted);
    bench.show(many);
    bench.keys("nn");
    // What was asked for before was for other devices.
    bench.desk.sent.lock().unwrap().clear();
    bench.keys("r");
    play(&mut bench);
    let rows = bench.console.model().snapshot.matrix.rows();
    let workers: usize = rows.iter().flatten().filter(|size| **size > 0).count();
    assert_eq!(workers, 16);
    assert!(
        rows.iter()
            .all(|row| row.iter().filter(|s| **s > 0).count() == 1)
    );
}

/// A machine of one device, on which nothing is served.
fn alone(shown: &mut Snapshot) {
    let frame = shown.matrix.frame();
    let frame = Arc::new(Frame {
        devices: frame.devices[..1].to_vec(),
        members: frame.members.clone(),
        batch_sizes: frame.batch_sizes.clone(),
    });
    shown.matrix = Matrix::from_rows(frame, &[vec![8; 6]]).unwrap();
    shown.devices.truncate(1);
    shown.entries.truncate(6);
}

/// The same, once its first scene was tried.
fn on_one_device(auto: bool) -> Bench {
    let mut bench = demo(120, 40, auto);
    bench.desk.sent.lock().unwrap().clear();
    bench.show(alone);
    bench.keys("r");
    assert!(
        bench.text().contains("cannot be shown here"),
        "{}",
        bench.text()
    );
    bench
}

#[test]
fn a_scene_begins_without_news() {
    let mut bench = on_one_device(false);
    bench.keys("n");
    let demo = bench.console.model().demo.as_ref().expect("it goes on");
    assert!(!demo.caption().is_empty(), "{}", bench.text());
}

#[test]
fn what_cannot_be_shown_ends_a_scene_that_nobody_watches() {
    let mut bench = on_one_device(true);
    for _ in 0..12 {
        pass(&mut bench);
    }
    assert!(bench.text().contains(" 2/6 "), "{}", bench.text());
    let mut watched = on_one_device(false);
    for _ in 0..12 {
        pass(&mut watched);
    }
    assert!(watched.text().contains(" 1/6 "), "{}", watched.text());
}

#[test]
fn a_scene_that_changes_alone_is_drawn() {
    let mut bench = on_one_device(true);
    let mut differs = |seconds| {
        bench.pass(Duration::from_secs(seconds));
        bench.console.refresh()
    };
    assert!(differs(2), "the scene is over");
    assert!(!differs(2), "nothing differs");
    assert!(differs(9), "another scene");
    assert!(differs(1), "what it says");
}
