//! A server that waits for its first model: the console says so, in every layout, and nothing breaks.

use crossterm::event::KeyCode;
use divisi_engine::deployment::CatalogueChange;
use divisi_session::{CatalogueView, Command, ModelFigures};

use crate::fake::{Bench, nothing};

fn unloaded(name: &str) -> CatalogueView {
    CatalogueView {
        name: name.into(),
        version: None,
        kind: None,
        members: Vec::new(),
        unserved: Some("unloaded".into()),
        failure: None,
        figures: ModelFigures::default(),
        asked: None,
        errors: Vec::new(),
        variant: None,
    }
}

#[test]
fn every_layout_says_that_no_model_is_served() {
    for (width, height) in [(120, 40), (80, 24), (200, 60)] {
        let mut bench = Bench::new(width, height);
        bench.show(nothing);
        for _ in 0..9 {
            let text = bench.text();
            assert!(text.contains("no model is served"), "{text}");
            bench.keys("L");
        }
    }
}

#[test]
fn the_caption_of_the_matrix_names_no_worker_of_nobody() {
    let mut bench = Bench::new(120, 40);
    bench.show(nothing);
    bench.keys("1\r");
    let text = bench.text();
    assert!(text.contains("cpu:0: nothing is served"), "{text}");
    assert!(!text.contains("no worker\n"), "{text}");
}

#[test]
fn every_panel_and_dialog_opens_on_nothing() {
    let mut bench = Bench::new(120, 40);
    bench.show(nothing);
    for key in "123456789".chars() {
        bench.keys(&key.to_string());
        for pressed in "jkhlednruvtgwsxbyVNTpYaczo".chars() {
            bench.keys(&pressed.to_string());
            bench.buffer();
            bench.press(KeyCode::Esc);
            bench.press(KeyCode::Enter);
            bench.press(KeyCode::Esc);
        }
    }
}

#[test]
fn the_first_model_is_loaded_from_its_panel() {
    let mut bench = Bench::new(120, 40);
    bench.show(|shown| {
        nothing(shown);
        shown.models = vec![unloaded("digits")];
    });
    bench.keys("9");
    assert!(bench.text().contains("digits"), "{}", bench.text());
    bench.keys("o");
    let load = CatalogueChange::Load("digits".into());
    assert_eq!(bench.sent(), [Command::PlanModels(load)]);
}

#[test]
fn the_mix_is_changed_from_the_panel_of_models() {
    let mut bench = Bench::new(120, 40);
    bench.show(|shown| shown.models = vec![unloaded("a"), unloaded("b")]);
    bench.keys("9w");
    bench.keys("a=3,b=1");
    bench.press(KeyCode::Enter);
    let mix = "a=3,b=1".parse().expect("a mix");
    assert_eq!(bench.sent(), [Command::SetMix(Some(mix))]);
    bench.keys("w");
    bench.keys("a=0");
    bench.press(KeyCode::Enter);
    let text = bench.text();
    assert!(text.contains("expected a number above 0"), "{text}");
}
