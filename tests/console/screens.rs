//! Whole screens as text.

use crossterm::event::KeyCode;
use divisi_console::console::{Colours, ConsoleEvent, TerminalLook};
use divisi_model::metrics::LatencySummary;
use divisi_session::Distribution;
use divisi_session::{ReloadState, ReloadView};
use std::time::Duration;

use crate::fake::{Bench, many, search};

#[test]
fn sizes() {
    screen!("80x24", Bench::new(80, 24));
    screen!("120x40", Bench::new(120, 40));
    screen!("160x50", Bench::new(160, 50));
    screen!("200x60", Bench::new(200, 60));
    screen!("40x12", Bench::new(40, 12));
    screen!("30x8", Bench::new(30, 8));
}

#[test]
fn an_invalid_edit_says_why_at_the_entry() {
    let mut bench = Bench::new(80, 24);
    bench.keys("e+l8ll0");
    screen!("edit_invalid", bench);
    let mut small = Bench::new(40, 12);
    small.keys("e0");
    screen!("edit_invalid_40x12", small);
}

#[test]
fn comparison() {
    let mut bench = Bench::new(80, 24);
    bench.keys("e+l8a");
    screen!("compare", bench);
}

#[test]
fn help() {
    let mut bench = Bench::new(80, 24);
    bench.keys("?");
    screen!("help", bench);
    bench.keys("lat");
    screen!("help_search", bench);
}

#[test]
fn palette() {
    let mut bench = Bench::new(80, 24);
    bench.keys(":s");
    screen!("palette", bench);
}

#[test]
fn forms() {
    let mut bench = Bench::new(80, 24);
    bench.keys("l");
    screen!("load", bench);
    bench.press(KeyCode::Esc);
    bench.keys("s");
    screen!("search_form", bench);
}

#[test]
fn during_a_search() {
    for (name, width, height) in [("search_80x24", 80, 24), ("search_160x50", 160, 50)] {
        let mut bench = Bench::new(width, height);
        bench.show(|s| {
            s.search = Some(search());
            s.latency_before = Some(Distribution {
                summary: LatencySummary {
                    p99: 14_300,
                    ..s.latency.since.summary
                },
                ..s.latency.since.clone()
            });
        });
        bench.press(KeyCode::Char('2'));
        screen!(name, bench);
    }
}

#[test]
fn a_reload_and_its_failure() {
    let mut bench = Bench::new(80, 24);
    bench.keys("uy");
    let view = |state| ReloadView {
        steps: vec![
            "start cpu:1 × res-m, batch 16".into(),
            "drain cpu:0 × mlp".into(),
        ],
        state,
        elapsed: Duration::from_millis(1240),
    };
    bench.show(|s| s.reload = Some(view(ReloadState::Running)));
    screen!("reload_running", bench);
    bench.show(|s| {
        s.reload = Some(view(ReloadState::Failed(
            "cpu:1 cannot hold res-m; the old matrix serves".into(),
        )))
    });
    screen!("reload_failed", bench);
}

#[test]
fn many_devices_and_members() {
    for (name, width, height) in [("many_80x24", 80, 24), ("many_160x50", 160, 50)] {
        let mut bench = Bench::new(width, height);
        bench.show(many);
        bench.keys("jjjjjjjjjjjjjjjjj");
        for _ in 0..9 {
            bench.press(KeyCode::Right);
        }
        screen!(name, bench);
    }
}

#[test]
fn what_is_worth_acting_on() {
    let mut bench = Bench::new(120, 40);
    bench.show(|s| {
        s.devices[0].busy = 0.97;
        s.devices[1].busy = 0.22;
        s.members[4].queued = 4210;
        s.entries[0].fill = 0.3;
    });
    screen!("lints_120x40", bench);
}

#[test]
fn panels_can_have_the_whole_screen() {
    let mut bench = Bench::new(80, 24);
    bench.keys("3z");
    screen!("streams_expanded", bench);
    bench.keys("6");
    screen!("log_expanded", bench);
}

#[test]
fn ascii_has_no_other_signs() {
    let look = TerminalLook {
        colours: Colours::None,
        ascii: true,
    };
    let mut bench = Bench::with(120, 40, false, look);
    bench.show(|s| s.search = Some(search()));
    assert!(bench.text().is_ascii(), "{}", bench.text());
    screen!("ascii_120x40", bench);
}

#[test]
fn no_size_panics() {
    for width in (0..220).step_by(7) {
        for height in (0..70).step_by(3) {
            let mut bench = Bench::new(width, height);
            bench.show(|s| s.search = Some(search()));
            for keys in ["", "2z", "3", "4", "5", "6", "ze0", "a", ":", "?"] {
                bench.keys(keys);
                bench.buffer();
            }
        }
    }
}

#[test]
fn a_resize_storm_harms_nothing() {
    let mut bench = Bench::new(200, 60);
    for i in 0..2000u32 {
        bench.size = ((i * 37 % 211) as u16, (i * 53 % 67) as u16);
        bench
            .console
            .handle(ConsoleEvent::Resize(bench.size.1, bench.size.0));
        bench.buffer();
    }
}
