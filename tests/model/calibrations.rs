//! Calibrations that members of manifests name.

use divisi_model::ensemble::{Ensemble, Files, Member};
use divisi_runtime::compute::calibration::{Calibration, NetworkDigest, RangeMethod, ValueRange};

use crate::folder::Folder;

/// Reads an ensemble of one perceptron whose weights are made up by seed 0, with a line of the member's.
fn ensemble(folder: &Folder, line: &str) -> Result<Ensemble, String> {
    of_width(3, folder, line)
}

fn of_width(hidden: usize, folder: &Folder, line: &str) -> Result<Ensemble, String> {
    let text = format!(
        "name = \"one\"\nclasses = 2\n[input]\nshape = [4]\n[[members]]\nname = \"a\"\n\
         network = {{ builder = \"perceptron\", hidden = [{hidden}] }}\n{line}\n"
    );
    folder.write("ensemble.toml", text.as_bytes());
    Ensemble::read(&Files::from_path(folder.path())).map_err(|why| why.to_string())
}

/// Returns a calibration of a member, whose values all lie between -1 and 1.
fn calibration(member: &Member) -> Calibration {
    let digest = NetworkDigest::from_network(&member.graph, &member.weights);
    let range = ValueRange::new(-1.0, 1.0).ok();
    let ranges = vec![range; member.graph.nodes().len() + 1];
    Calibration::of_ranges(digest, RangeMethod::MinMax, 5, ranges)
}

#[test]
fn a_member_has_the_calibration_that_its_manifest_names() {
    let folder = Folder::new();
    let plain = ensemble(&folder, "precision = \"int8\"").expect("valid");
    assert_eq!(plain.members[0].calibration(), None);
    let member = &plain.members[0];
    let calibration = calibration(member);
    let text = calibration.to_json(&member.graph);
    folder.write("a.int8.json", text.as_bytes());
    let untouched = ensemble(&folder, "precision = \"int8\"").expect("valid");
    assert_eq!(
        untouched.members[0].calibration(),
        None,
        "nothing is taken silently"
    );
    let named = ensemble(&folder, "calibration = \"a.int8.json\"").expect("valid");
    assert_eq!(
        named.members[0].calibration().map(AsRef::as_ref),
        Some(&calibration)
    );
    assert!(!named.members[0].has_network_of(&plain.members[0]));
}

#[test]
fn a_calibration_that_cannot_be_read_or_is_anothers_is_refused_with_its_place() {
    let folder = Folder::new();
    let why = ensemble(&folder, "calibration = \"b.json\"").expect_err("no file");
    assert!(
        why.contains("ensemble.toml:8: members.calibration:"),
        "{why}"
    );
    let other = of_width(5, &Folder::new(), "").expect("valid");
    let of_another = calibration(&other.members[0]).to_json(&other.members[0].graph);
    folder.write("b.json", of_another.as_bytes());
    let why = ensemble(&folder, "calibration = \"b.json\"").expect_err("of another network");
    assert!(
        why.contains("b.json: member `a`: network: expected"),
        "{why}"
    );
}
