//! Files are replaced as a whole, alone or together with others.

use std::fs;

use divisi_model::replace::{PreparedFile, replace_file};

#[test]
fn what_is_prepared_changes_nothing_until_it_is_put() {
    let folder = tempfile::tempdir().expect("a folder");
    let names = || {
        let entries = fs::read_dir(folder.path()).expect("entries");
        let mut names: Vec<_> = entries.map(|e| e.expect("an entry").file_name()).collect();
        names.sort();
        names
    };
    let (a, b) = (folder.path().join("a"), folder.path().join("b"));
    replace_file(&a, b"old").expect("written");
    drop(PreparedFile::new(&a, b"dropped").expect("prepared"));
    assert_eq!(names(), ["a"]);

    let prepared = [&a, &b].map(|path| PreparedFile::new(path, b"new").expect("prepared"));
    assert_eq!(fs::read(&a).expect("a file"), b"old");
    assert!(!b.exists());
    for file in prepared {
        let path = file.path().to_owned();
        file.commit().expect("put");
        assert_eq!(fs::read(path).expect("a file"), b"new");
    }
    assert_eq!(names(), ["a", "b"]);
}

#[test]
fn what_cannot_be_put_leaves_nothing_beside() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a");
    let prepared = PreparedFile::new(&path, b"new").expect("prepared");
    fs::create_dir(&path).expect("a folder in its place");
    prepared.commit().expect_err("a folder is there");
    assert_eq!(fs::read_dir(folder.path()).expect("entries").count(), 1);
    let lost = folder.path().join("none").join("a");
    PreparedFile::new(&lost, b"new").expect_err("no folder");
}
