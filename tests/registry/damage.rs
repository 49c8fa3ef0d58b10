//! Files with wrong bytes: a store opens as it was at some time, or is refused.

use std::fs;
use std::path::Path;

use divisi_registry::store::{PATIENCE, Store, StoreContents};
use proptest::prelude::*;

use crate::common::model;

/// The bytes of a store, and all contents that it had.
fn sound(path: &Path) -> (Vec<u8>, Vec<StoreContents>) {
    let mut states = vec![StoreContents::default()];
    for number in 0..4 {
        let store = Store::open(path, PATIENCE).expect("opens");
        let task = ["digits", "letters"][number as usize % 2];
        store
            .register(task, &model("a", number, 30))
            .expect("registers");
        states.push(store.contents().expect("contents"));
    }
    (fs::read(path).expect("reads"), states)
}

fn check(path: &Path, bytes: &[u8], states: &[StoreContents]) -> Result<(), TestCaseError> {
    let codes = [
        "store_damaged",
        "store_foreign",
        "store_version",
        "store_full",
        "store_file",
    ];
    fs::write(path, bytes).expect("writes");
    let read = Store::read(path, PATIENCE);
    prop_assert_eq!(
        &fs::read(path).expect("reads"),
        bytes,
        "reading changes nothing"
    );
    let opened = Store::open(path, PATIENCE).and_then(|store| store.contents());
    for found in [read, opened] {
        match found {
            Ok(found) => prop_assert!(states.contains(&found), "{found:?}"),
            Err(why) => prop_assert!(codes.contains(&why.code()), "{why}"),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn random_bytes_are_refused_or_do_not_matter(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        at_the_head in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        let (mut bytes, states) = sound(&path);
        let most = if at_the_head { 512 } else { bytes.len() };
        for (at, byte) in changes {
            bytes[at.index(most)] = byte;
        }
        check(&path, &bytes, &states)?;
    }

    #[test]
    fn a_file_that_was_cut_or_grew_is_refused_or_whole(
        length in any::<prop::sample::Index>(),
        more in prop::collection::vec(any::<u8>(), 0..5000),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        let (mut bytes, states) = sound(&path);
        bytes.truncate(length.index(bytes.len() + 1));
        bytes.extend(more);
        check(&path, &bytes, &states)?;
    }
}
