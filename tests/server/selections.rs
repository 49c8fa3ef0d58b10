//! Selections of models that are refused name the file or the model, and what was expected.

use std::path::Path;
use std::time::Duration;

use divisi_runtime::network::Shape;
use divisi_server::{
    FirstModels, ModelControl, ModelSelection, SelectedModels, ServeError, TaskStore,
};

const NETWORK: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/runtime/onnx_files/one.onnx"
);

fn refused(selection: &ModelSelection) -> ServeError {
    SelectedModels::read(selection)
        .err()
        .expect("it is refused")
}

/// A repository with the model `one`.
fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let version = folder.path().join("one/1");
    std::fs::create_dir_all(&version).expect("folders");
    std::fs::copy(NETWORK, version.join("model.onnx")).expect("copies");
    folder
}

fn controlled(folder: &Path, control: ModelControl) -> ModelSelection {
    ModelSelection {
        control: Some(control),
        ..ModelSelection::from_path(folder)
    }
}

#[test]
fn a_folder_without_a_manifest_is_no_ensemble() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("notes.txt"), "none").expect("writes");
    let text = refused(&ModelSelection::from_path(folder.path())).to_string();
    let expected = "found a folder without ensemble.toml or pipeline.toml";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn a_shape_is_for_a_network_alone() {
    let selection = ModelSelection {
        shape: Some(Shape::vector(4)),
        ..ModelSelection::from_path("digits".as_ref())
    };
    assert!(matches!(refused(&selection), ServeError::Shape));
}

#[test]
fn two_ensembles_of_one_name_are_refused() {
    let selection = ModelSelection {
        more: vec!["digits".into()],
        ..ModelSelection::from_path("digits".as_ref())
    };
    let refused = refused(&selection);
    assert!(matches!(refused, ServeError::SameName(_)), "{refused:?}");
}

#[test]
fn an_ensemble_has_no_models_to_choose_from() {
    let refused = refused(&controlled("digits".as_ref(), ModelControl::Fixed));
    assert!(
        matches!(refused, ServeError::NoRepository(_)),
        "{refused:?}"
    );
}

#[test]
fn a_repository_is_served_alone() {
    let folder = repository();
    let selection = ModelSelection {
        more: vec!["digits".into()],
        ..ModelSelection::from_path(folder.path())
    };
    let refused = refused(&selection);
    assert!(
        matches!(refused, ServeError::NotAlone { .. }),
        "{refused:?}"
    );
}

#[test]
fn models_of_a_repository_are_chosen_by_name() {
    let folder = repository();
    let first = |names: &[&str]| {
        let names = names.iter().map(ToString::to_string).collect();
        controlled(
            folder.path(),
            ModelControl::Explicit(FirstModels::Named(names)),
        )
    };
    let none = SelectedModels::read(&first(&[])).expect("clients load one");
    assert!(none.is_empty());
    let one = SelectedModels::read(&first(&["one"])).expect("is there");
    assert!(!one.is_empty());
    let text = refused(&first(&["two"])).to_string();
    assert_eq!(text, "--load-model two: expected one of one");
}

#[test]
fn files_are_not_read_again_all_the_time() {
    let folder = repository();
    let often = ModelControl::Poll(Duration::from_millis(1));
    let text = refused(&controlled(folder.path(), often)).to_string();
    assert_eq!(text, "--poll-every: expected 100ms or more, found 1ms");
}

#[test]
fn a_store_that_is_damaged_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = TaskStore::file_in(folder.path());
    std::fs::write(&file, "no store").expect("writes");
    let why = TaskStore::from_file(Some(file.clone()))
        .read()
        .expect_err("damaged");
    let text = why.to_string();
    assert!(text.starts_with(&file.display().to_string()), "{text}");
}
