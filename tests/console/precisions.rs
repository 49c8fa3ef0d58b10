//! The numbers that members are computed in: the row "in", the key that stages others, and what the
//! console says of them.

use crossterm::event::KeyCode;
use divisi::device::MemberIndex;
use divisi::ensemble::MemberPrecision;
use divisi::session::{Command, Setup, Snapshot};

use crate::fake::{Bench, snapshot};

fn precision(name: &str) -> MemberPrecision {
    name.parse().unwrap()
}

/// The second member is computed in int8, the third in whatever is native.
fn mixed(shown: &mut Snapshot) {
    shown.members[1].precision = precision("int8");
    shown.members[2].precision = precision("auto");
}

/// The same screen on every processor: `auto` becomes what it multiplies natively.
fn without_machine(text: &str) -> String {
    let native = precision("auto").to_string();
    text.replace(&native, "auto (NATIVE)")
}

fn staged(bench: &Bench) -> Vec<String> {
    let edit = bench.console.model().edit.as_ref().expect("editing");
    let precisions = edit.setup().precisions.iter();
    precisions.map(ToString::to_string).collect()
}

#[test]
fn members_in_other_numbers_than_usual_have_a_row() {
    let mut bench = Bench::new(80, 24);
    bench.show(mixed);
    screen!("precisions_80x24", bench);
    // The whole screen has room for what there is to say of an entry.
    bench.keys("1z");
    bench.press(KeyCode::Right);
    let text = bench.text();
    assert!(text.contains("cpu:0 × cnn-s in int8: "), "{text}");
    bench.press(KeyCode::Right);
    let text = without_machine(&bench.text());
    assert!(
        text.contains("cpu:0 × cnn-m in auto (NATIVE): batch 8 "),
        "{text}"
    );
}

#[test]
fn a_key_stages_the_next_precision_of_the_member() {
    let mut bench = Bench::new(80, 24);
    bench.keys("ei");
    assert_eq!(staged(&bench)[0], "bf16");
    let text = bench.text();
    assert!(
        text.contains("! bf16: this processor's kernels (avx2) have no"),
        "{text}"
    );
    bench.keys("i");
    assert_eq!(staged(&bench)[0], "int8");
    let text = bench.text();
    for said in [
        "EDITING · 1 staged",
        "f32→int8",
        "no prediction: no profile of mlp in int8 on cpu:0 yet",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    screen!("precision_staged_80x24", bench);
    bench.keys("ii");
    assert!(!bench.console.model().has_staged(), "f32 runs");
    bench.keys("uu");
    assert_eq!(staged(&bench)[0], "int8", "each was a step");
    bench.keys("y");
}

#[test]
fn what_is_staged_is_compared_and_applied_with_the_matrix() {
    let mut bench = Bench::new(120, 40);
    bench.keys("eii+a");
    let text = bench.text();
    for said in ["precision of mlp: f32 → int8", "no profile of mlp in int8"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    screen!("precision_compared_120x40", bench);
    bench.keys("y");
    let sent = bench.sent();
    let [Command::Apply(setup, None)] = &sent[..] else {
        panic!("{sent:?}");
    };
    let int8 = precision("int8");
    let expected: Setup = snapshot()
        .setup()
        .with_precision(MemberIndex::new(0), int8)
        .with_matrix(setup.matrix.clone());
    assert_eq!(**setup, expected);
    bench.press(KeyCode::Esc);
}

#[test]
fn a_comparison_says_what_is_not_multiplied_natively() {
    let mut bench = Bench::new(120, 40);
    bench.keys("eia");
    screen!("precision_widened_120x40", bench);
    bench.press(KeyCode::Esc);
}

#[test]
fn a_gpu_has_more_names_to_choose_from() {
    let mut bench = Bench::new(80, 24);
    bench.show(|s| s.precision = Some("f32".parse().unwrap()));
    bench.keys("ei");
    assert_eq!(staged(&bench)[0], "tf32");
}
