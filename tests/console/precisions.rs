//! The numbers that members are computed in: the row "in", the key that stages others, and what the
//! console says of them.

use crossterm::event::KeyCode;
use divisi_model::ensemble::MemberPrecision;
use divisi_runtime::device::MemberIndex;
use divisi_session::{Command, Setup, Snapshot};

use crate::fake::{Bench, snapshot};
use crate::simulated::crowd_on;

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
    let text = bench.plain();
    assert!(text.contains("cpu:0 × cnn-s in int8: "), "{text}");
    bench.press(KeyCode::Right);
    let text = without_machine(&bench.plain());
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
    let text = bench.plain();
    assert!(
        text.contains("! bf16: this processor's kernels (avx2) have no"),
        "{text}"
    );
    bench.keys("i");
    assert_eq!(staged(&bench)[0], "int8");
    let text = bench.plain();
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
    let text = bench.plain();
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

/// The row of the matrix that begins with a word.
fn row(bench: &Bench, name: &str) -> Option<String> {
    let text = bench.plain();
    let row = text
        .lines()
        .find(|line| line.starts_with(&format!(" {name} ")));
    row.map(str::to_owned)
}

#[test]
fn many_members_on_a_small_screen_show_their_numbers() {
    for devices in [3, 16] {
        let mut bench = Bench::new(80, 24);
        bench.show(|s| crowd_on(s, devices, 12));
        assert_eq!(row(&bench, "in"), None);
        bench.keys("ei");
        let staged = row(&bench, "in").expect("the row");
        assert!(staged.contains(" ~bf16 "), "{staged}");
        let mut bench = Bench::new(80, 24);
        bench.show(|s| {
            crowd_on(s, devices, 12);
            s.members[0].precision = precision("bf16");
        });
        let runs = row(&bench, "in").expect("the row");
        assert!(runs.contains(" bf16 "), "{runs}");
    }
}

#[test]
fn what_is_staged_has_a_line_where_columns_are_narrow() {
    let mut bench = Bench::new(80, 24);
    bench.show(|s| crowd_on(s, 3, 12));
    bench.keys("ei");
    screen!("precision_crowd_80x24", bench);
    let text = bench.plain();
    assert!(
        text.contains("~ precision of resnet101: f32 → bf16"),
        "{text}"
    );
    // Wide columns say both.
    let mut bench = Bench::new(200, 60);
    bench.show(|s| crowd_on(s, 3, 12));
    bench.keys("ei");
    assert!(bench.plain().contains("f32→bf16"), "{}", bench.plain());
}
