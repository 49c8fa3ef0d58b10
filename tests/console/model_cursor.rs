//! The cursor of the models panel, and what undo and redo of a change of the models leave.

use crossterm::event::KeyCode;
use divisi_console::config::Config;
use divisi_console::linear::LineDesk;
use divisi_engine::deployment::CatalogueChange;
use divisi_session::{Command, ModelKind};

use crate::fake::{Bench, FakeSession};
use crate::models_panel::{models, served};

fn under_cursor(bench: &Bench) -> String {
    let text = bench.plain();
    let row = text.lines().find(|line| line.contains('▸'));
    let row = row.expect("a row with the cursor");
    let mut words = row.split_whitespace().skip(1);
    let mut word = || words.next().unwrap_or_default().to_owned();
    format!("{} {}", word(), word())
}

#[test]
fn the_cursor_follows_its_model_through_changes_of_the_catalogue() {
    let mut bench = models(80, 24);
    bench.keys("jj");
    assert_eq!(under_cursor(&bench), "faces 1");
    bench.show(|shown| {
        shown
            .models
            .insert(0, served("aaa", 1, ModelKind::Model, 1));
    });
    assert_eq!(under_cursor(&bench), "faces 1", "another came before it");
    bench.show(|shown| drop(shown.models.drain(..3)));
    assert_eq!(under_cursor(&bench), "faces 1", "others before it went");
    bench.keys("d");
    let unload = CatalogueChange::Unload {
        name: "faces".into(),
        dependents: false,
    };
    assert_eq!(bench.sent(), [Command::PlanModels(unload)]);
}

#[test]
fn the_cursor_of_a_model_that_went_stays_with_its_name_or_near() {
    let mut bench = models(80, 24);
    bench.keys("j");
    assert_eq!(under_cursor(&bench), "digits 3");
    bench.show(|shown| shown.models[1] = served("digits", 4, ModelKind::Model, 1));
    assert_eq!(under_cursor(&bench), "digits 4", "the nearest of its name");
    bench.show(|shown| shown.models.retain(|model| model.name != "digits"));
    assert_eq!(under_cursor(&bench), "cascade 1", "the nearest row");
    bench.show(|shown| shown.models.truncate(1));
    assert_eq!(under_cursor(&bench), "faces 1");
}

#[test]
fn ends_and_pages_of_the_list_are_reached_at_once() {
    let mut bench = models(80, 24);
    bench.show(|shown| {
        let each = (1..=40).map(|version| served("digits", version, ModelKind::Model, 1));
        shown.models = each.collect();
    });
    for (key, expected) in [
        (KeyCode::End, "digits 40"),
        (KeyCode::Home, "digits 1"),
        (KeyCode::PageDown, "digits 19"),
        (KeyCode::PageUp, "digits 1"),
    ] {
        bench.press(key);
        assert_eq!(under_cursor(&bench), expected, "{key:?}");
    }
}

#[test]
fn the_cursor_is_on_the_first_model_until_it_is_moved_and_follows_that() {
    let mut bench = models(80, 24);
    bench.show(|shown| {
        shown
            .models
            .insert(0, served("aaa", 1, ModelKind::Model, 1));
    });
    assert_eq!(under_cursor(&bench), "digits 2");
}

/// Types a line in the console without a screen; returns the answer, and what the session was sent.
fn typed(bench: &Bench, line: &str) -> (Vec<String>, Vec<Command>) {
    let mut session = FakeSession::at(bench.desk.clone());
    let mut desk = LineDesk::new(false, Config::default().terms);
    let said = desk.line(line, &mut session).lines;
    (said, bench.sent())
}

#[test]
fn a_model_whose_folder_is_new_is_loaded_by_a_line() {
    let load = || "newm".to_owned();
    for (line, command) in [
        ("load-model newm", Command::LoadModel(load())),
        (
            "plan-models load newm",
            Command::PlanModels(CatalogueChange::Load(load())),
        ),
    ] {
        let (said, sent) = typed(&models(80, 24), line);
        assert_eq!(sent, [command], "{said:?}");
    }
}

#[test]
fn a_line_about_a_model_that_there_is_not_names_each_of_those_that_there_are_once() {
    let mut bench = models(80, 24);
    bench.show(|shown| shown.can_load = false);
    for line in ["load-model newm", "unload-model newm"] {
        let (said, sent) = typed(&bench, line);
        let expected = "no model `newm`: expected one of broken, cascade, digits, faces, idle";
        assert!(said.iter().any(|said| said.contains(expected)), "{said:?}");
        assert_eq!(sent, []);
    }
}
