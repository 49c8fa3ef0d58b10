//! Which panels are shown: presets, hidden ones, and layouts of a user's own.

use crossterm::event::{KeyCode, MouseButton, MouseEvent, MouseEventKind};
use divisi_console::console::Panel;
use divisi_console::console::{ConsoleEvent, Effect, LayoutRow, PanelLayout};
use divisi_model::allocation::Cell;
use divisi_runtime::device::{DeviceIndex, MemberIndex};

use crate::fake::Bench;
use crate::rich::bench;

const NAMES: [&str; 13] = [
    "overview",
    "allocation",
    "streams",
    "latency",
    "members",
    "steps",
    "models",
    "clients",
    "tasks",
    "time",
    "requests",
    "search",
    "presenter",
];

#[test]
fn every_layout_is_of_use_on_the_smallest_screen() {
    let mut bench = bench(80, 24);
    for name in NAMES {
        assert_eq!(bench.console.model().arrangement.name(), name);
        screen!(format!("layout_{name}_80x24"), bench);
        bench.keys("L");
    }
    assert_eq!(bench.console.model().arrangement.name(), "overview");
}

#[test]
fn a_large_screen_has_room_for_all() {
    let mut bench = bench(160, 50);
    for name in NAMES {
        screen!(format!("layout_{name}_160x50"), bench);
        bench.keys("L");
    }
}

#[test]
fn panels_are_hidden_and_shown_from_a_list() {
    let mut bench = bench(120, 40);
    bench.keys("H");
    screen!("hide_panels", bench);
    bench.keys("36");
    bench.press(KeyCode::Esc);
    let text = bench.text();
    assert!(
        !text.contains("─ 3 streams") && !text.contains("─ 6 log"),
        "{text}"
    );
    bench.keys("H7");
    bench.press(KeyCode::Esc);
    assert!(bench.text().contains("7 members"));
}

#[test]
fn a_focus_that_is_hidden_moves_on() {
    let mut bench = bench(120, 40);
    bench.keys("2H2");
    assert_eq!(bench.console.model().focus, Panel::Streams);
}

#[test]
fn the_last_panel_stays() {
    let mut bench = bench(120, 40);
    bench.keys("H12345789a");
    assert_eq!(bench.console.model().arrangement.panels(), [Panel::Log]);
}

#[test]
fn tab_goes_through_what_is_shown() {
    let mut bench = bench(120, 40);
    bench.keys("H2");
    bench.press(KeyCode::Esc);
    bench.press(KeyCode::Tab);
    assert_eq!(bench.console.model().focus, Panel::Streams);
    bench.press(KeyCode::BackTab);
    bench.press(KeyCode::BackTab);
    assert_eq!(bench.console.model().focus, Panel::Members);
}

#[test]
fn a_panel_without_a_place_has_the_whole_screen_while_it_is_looked_at() {
    let mut bench = bench(120, 40);
    bench.keys("0");
    assert!(bench.text().contains("0 clients"));
    assert!(!bench.text().contains("3 streams"));
    bench.press(KeyCode::Esc);
    assert!(bench.text().contains("3 streams"));
}

#[test]
fn editing_shows_the_matrix_in_every_layout() {
    for _ in NAMES {
        let mut bench = bench(80, 24);
        bench.keys("LLe");
        assert!(bench.text().contains("EDITING"), "{}", bench.text());
    }
}

#[test]
fn a_click_in_the_matrix_moves_the_cursor() {
    let mut bench = bench(120, 40);
    let text = bench.text();
    let y = text.lines().position(|l| l.contains("┃cpu:1"));
    let head = text.lines().find(|l| l.contains("res-s")).unwrap();
    let x = head[..head.find("res-s").unwrap()].chars().count() + 3;
    bench.console.handle(ConsoleEvent::Mouse(MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column: x as u16,
        row: y.unwrap() as u16,
        modifiers: crossterm::event::KeyModifiers::NONE,
    }));
    let wanted = Cell {
        device: DeviceIndex::new(1),
        member: MemberIndex::new(3),
    };
    assert_eq!(bench.console.model().cursor, wanted);
}

fn own(rows: Vec<LayoutRow>) -> PanelLayout {
    PanelLayout {
        name: "mine".into(),
        rows,
    }
}

#[test]
fn a_layout_of_ones_own_is_written_down_and_shown() {
    let text = r#"{"name": "mine", "rows": [
        {"height": 2, "panels": [["streams", 1]]},
        {"height": 1, "panels": [["log", 1], ["members", 2]]}
    ]}"#;
    let layout: PanelLayout = serde_json::from_str(text).unwrap();
    assert_eq!(layout.check(), Ok(()));
    let again: PanelLayout =
        serde_json::from_str(&serde_json::to_string(&layout).unwrap()).unwrap();
    assert_eq!(again, layout);
    let mut bench = Bench::laid_out(120, 40, vec![layout]);
    bench.press(KeyCode::BackTab);
    for _ in NAMES {
        bench.keys("L");
    }
    assert_eq!(bench.console.model().arrangement.name(), "mine");
    assert!(bench.text().contains("7 members"));
    assert_eq!(
        bench.console.model().arrangement.named("mine").rows.len(),
        2
    );
}

#[test]
fn a_layout_that_cannot_be_shown_says_why() {
    let row = |height, panels: &[(Panel, u16)]| LayoutRow {
        height,
        panels: panels.to_vec(),
    };
    let log = [(Panel::Log, 1)];
    for (rows, why) in [
        (vec![], "layout `mine`: rows: expected 1 to 6, found 0"),
        (
            vec![row(0, &log)],
            "layout `mine`: rows[0].height: expected a weight from 1 to 100, found 0",
        ),
        (
            vec![row(1, &log), row(1, &[])],
            "layout `mine`: rows[1].panels: expected 1 to 6, found 0",
        ),
        (
            vec![row(1, &[(Panel::Streams, 101)])],
            "layout `mine`: rows[0].streams: expected a weight from 1 to 100, found 101",
        ),
        (
            vec![row(1, &log), row(1, &log)],
            "layout `mine`: panel `log`: expected once",
        ),
    ] {
        let wrong = own(rows).check().map_err(|wrong| wrong.to_string());
        assert_eq!(wrong, Err(why.to_owned()));
    }
}

#[test]
fn a_layout_is_saved_under_a_name_of_its_own() {
    let mut bench = Bench::new(80, 24);
    bench.keys(":save layout");
    bench.press(KeyCode::Enter);
    assert!(bench.text().contains("my-overview"), "{}", bench.text());
    bench.control('u');
    bench.keys("overview");
    bench.press(KeyCode::Enter);
    assert!(bench.text().contains("built in"), "{}", bench.text());
    bench.control('u');
    bench.keys("night");
    let saved = bench.press(KeyCode::Enter);
    let [Effect::SaveLayout(layout)] = &saved[..] else {
        panic!("{saved:?}");
    };
    assert_eq!(layout.name, "night");
    assert!(layout.check().is_ok());
}
