//! A demonstration says of its scenes what was measured in them.

use divisi_console::console::{DEMO_SCENES, DemoStage, Wanted, check_scenes};
use divisi_model::allocation::Matrix;

use crate::demo::{demo, pass, play_with};
use crate::fake::{Bench, PLAIN};

/// The bar's caption, on one line.
fn caption(bench: &Bench) -> String {
    let text = bench.text();
    let bar = text
        .lines()
        .skip_while(|l| !(l.contains('━') && l.contains("/6 ")))
        .skip(1)
        .take(2);
    bar.map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Requests a second where members are on devices of their own, and otherwise.
fn apart_or_not(apart: u64, shared: u64) -> impl Fn(&Matrix) -> u64 {
    move |matrix| {
        let workers = |row: &Vec<usize>| row.iter().filter(|size| **size > 0).count();
        let least = matrix.rows().iter().map(workers).min();
        if least == Some(1) { apart } else { shared }
    }
}

#[test]
fn a_scene_says_what_was_measured_whichever_way_it_went() {
    let means = [
        "answers more",
        "Sharing made no measurable",
        "Sharing cost more",
    ];
    for (shared, verdict, said) in [
        (55, "10 % more", means[0]),
        (50, "no significant change", means[1]),
        (45, "10 % fewer", means[2]),
    ] {
        let mut bench = demo(120, 40, false);
        bench.keys("n");
        play_with(&mut bench, &apart_or_not(50, shared));
        let caption = caption(&bench);
        let numbers = format!("alone 1 600 → together {}", grouped(shared * 32));
        for part in [&*numbers, "samples/s, 5 s each", verdict, said] {
            assert!(caption.contains(part), "{part}: {caption}");
        }
        for other in means.iter().filter(|m| **m != said) {
            assert!(!caption.contains(other), "{caption}");
        }
    }
}

fn grouped(n: u64) -> String {
    divisi_console::console::format::grouped(n)
}

#[test]
fn what_moves_by_itself_is_no_change() {
    let mut bench = demo(120, 40, false);
    bench.keys("n");
    // Five in a hundred more, and much more than that from look to look.
    let beat = std::cell::Cell::new(0);
    let wild = move |matrix: &Matrix| {
        beat.set(beat.get() + 1);
        let mean = apart_or_not(60, 63)(matrix);
        if beat.get() % 2 == 0 {
            mean - 40
        } else {
            mean + 40
        }
    };
    play_with(&mut bench, &wild);
    assert!(
        caption(&bench).contains("no significant change"),
        "{}",
        caption(&bench)
    );
}

/// Words of outcomes.
const OUTCOMES: [&str; 9] = [
    "more", "fewer", "faster", "slower", "better", "worse", "lost", "busy", "least",
];

#[test]
fn nothing_is_claimed_before_it_was_measured() {
    for stage in [DemoStage::Digits, DemoStage::Simulated] {
        let wanted = Wanted { stage, auto: false };
        let mut bench = Bench::demonstrating(120, 40, PLAIN, wanted);
        for scene in 1..=6 {
            for _ in 0..400 {
                if bench.text().contains('■') || bench.text().contains("cannot be shown") {
                    break;
                }
                let caption = caption(&bench);
                for outcome in OUTCOMES {
                    let claims = caption
                        .split(|c: char| !c.is_alphabetic())
                        .any(|w| w == outcome);
                    assert!(
                        !claims,
                        "scene {scene} says {outcome:?} too early: {caption}"
                    );
                }
                pass(&mut bench);
            }
            bench.keys("n");
        }
    }
}

#[test]
fn every_caption_fits_on_a_small_screen() {
    let mut bench = demo(80, 24, false);
    for scene in 1..=6 {
        for _ in 0..400 {
            let whole = bench
                .console
                .model()
                .demo
                .as_ref()
                .map(|d| d.caption().to_owned());
            let whole = whole.unwrap_or_default();
            let words: String = whole.split_whitespace().collect();
            let shown: String = caption(&bench).split_whitespace().collect();
            assert_eq!(shown, words, "scene {scene}: cut");
            if bench.text().contains('■') {
                break;
            }
            pass(&mut bench);
        }
        bench.keys("n");
    }
}

#[test]
fn a_loss_in_a_reload_is_called_one() {
    for lost in [0, 7] {
        let mut bench = demo(120, 40, false);
        bench.keys("nnnn");
        for _ in 0..400 {
            if bench.text().contains('■') {
                break;
            }
            pass(&mut bench);
            // While the other matrix runs.
            let shown = bench.console.model().snapshot.clone();
            let rows = shown.matrix.rows();
            let shared = rows.iter().all(|row| row.contains(&0));
            if shared && shown.counters.failed < lost {
                bench.show(|s| s.counters.failed += 1);
            }
        }
        let said = match lost {
            0 => "No request was lost in two reloads",
            _ => "requests were lost in two reloads: see the log",
        };
        assert!(caption(&bench).contains(said), "{}", caption(&bench));
    }
}

#[test]
fn what_a_search_found_is_measured_under_a_caption_of_its_own() {
    let mut bench = demo(120, 40, false);
    bench.keys("nnnnn");
    let mut said = Vec::new();
    for _ in 0..400 {
        if bench.text().contains('■') {
            break;
        }
        said.push(caption(&bench));
        pass(&mut bench);
    }
    let begins = |text: &str| said.iter().position(|c| c.starts_with(text));
    let found = "Now the matrix of the search serves";
    let (search, measured) = (begins("A search"), begins(found));
    assert!(search.is_some() && search < measured, "{said:?}");
    let last = said.last().expect("a caption");
    assert!(last.starts_with(found), "{last}");
}

#[test]
fn a_comparison_says_of_how_many_requests_either_figure_is() {
    let mut bench = demo(120, 40, false);
    bench.keys("nnnn");
    let beat = std::cell::Cell::new(40);
    let faster = move |_: &Matrix| {
        beat.set(beat.get() + 1);
        beat.get()
    };
    play_with(&mut bench, &faster);
    let caption = caption(&bench);
    let counts: Vec<&str> = caption
        .split('(')
        .skip(1)
        .filter_map(|part| part.split([' ', ')']).next())
        .collect();
    assert_eq!(counts.len(), 2, "{caption}");
    assert_ne!(counts[0], counts[1], "{caption}");
}

#[test]
fn the_scenes_name_only_what_exists() {
    assert_eq!(check_scenes(DEMO_SCENES), Ok(()));
}

#[test]
fn a_scene_with_a_name_of_nothing_is_refused() {
    for (step, wrong) in [
        (r#"{ look = "attic" }"#, "attic"),
        (r#"{ policy = "no-hurry" }"#, "no-hurry"),
        (r#"{ load = "flood:60%" }"#, "flood"),
        (r#"{ scaling = "guess" }"#, "guess"),
        (r#"{ note = ["p42", "alone"] }"#, "p42"),
        (
            r#"{ conclude = { reloads = { before = "then", after = "now" } } }"#,
            "then",
        ),
    ] {
        let scene = format!("[[digits]]\ntitle = \"a scene\"\nsteps = [{step}]\n");
        let text = format!("simulated = []\ntasks = []\n{scene}");
        let why = check_scenes(&text).expect_err(step);
        assert!(why.contains(wrong), "{step}: {why}");
    }
}
