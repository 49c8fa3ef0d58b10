//! Arrivals: as over a day, and as they were recorded.

use std::path::PathBuf;
use std::time::Duration;

use crate::place::root;
use divisi_engine::load::{Arrivals, LoadError, LoadPattern, usual_load};
use divisi_model::ensemble::{Ensemble, Files};
use divisi_runtime::device::simulated::find_profile;
use divisi_runtime::device::{Devices, Host};

fn parsed(text: &str) -> LoadPattern {
    text.parse().expect("a pattern")
}

fn open(pattern: &LoadPattern) -> Arrivals {
    let arrivals = Arrivals::new(pattern, 1).expect("it can be read");
    arrivals.expect("it is open")
}

/// A recording in a folder of its own.
fn recorded(name: &str, text: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("divisi-load-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(name);
    std::fs::write(&path, text).expect("written");
    path
}

fn replay(path: PathBuf, speed: f64) -> LoadPattern {
    LoadPattern::replay(path, speed)
}

#[test]
fn patterns_are_read_as_they_are_written() {
    for text in [
        "diurnal:800:60s",
        "diurnal:12.5:0.5s",
        "replay:a.csv",
        "replay:a:b.csv:2.5",
        "burst:400",
        "closed:8x32",
    ] {
        assert_eq!(parsed(text).to_string(), text);
    }
    let day = LoadPattern::diurnal(800.0, Duration::from_secs(600));
    assert_eq!(parsed("diurnal:800:10m"), day);
    assert_eq!(parsed("diurnal:800").to_string(), "diurnal:800:60s");
    for wrong in [
        "diurnal",
        "diurnal:0",
        "diurnal:800:0s",
        "diurnal:800:x",
        "replay:",
        "replay:a:0",
    ] {
        let error = wrong.parse::<LoadPattern>().expect_err(wrong).to_string();
        assert!(
            error.contains("diurnal:RATE[:PERIOD]") && error.contains(wrong),
            "{error}"
        );
    }
}

#[test]
fn a_day_has_a_night_and_a_peak() {
    let mut arrivals = open(&parsed("diurnal:1000:100s"));
    let mut hours = [0u32; 10];
    let mut at = Duration::ZERO;
    loop {
        at += arrivals.next_gap();
        let Some(hour) = hours.get_mut((at.as_secs_f64() / 10.0) as usize) else {
            break;
        };
        *hour += 1;
    }
    // A tenth of the peak at night; 55 % of it on average.
    assert!(
        (1000..2000).contains(&hours[0]) && (1000..2000).contains(&hours[9]),
        "{hours:?}"
    );
    assert!(hours[4] > 9000 && hours[5] > 9000, "{hours:?}");
    let all: u32 = hours.iter().sum();
    assert!((53_000..57_000).contains(&all), "{all}");
}

#[test]
fn a_recording_is_played_over_and_over_as_fast_as_asked() {
    let seconds = recorded("seconds.csv", "seconds,what\n10.0,a\n10.5,b\n12.5,c\n");
    let millis = recorded("millis.csv", "\"arrival_ms\"\n0\n500\n2500\n");
    for (path, speed) in [(&seconds, 1.0), (&millis, 1.0), (&seconds, 2.0)] {
        let mut arrivals = open(&replay(path.clone(), speed));
        let gaps: Vec<f64> = (0..6)
            .map(|_| arrivals.next_gap().as_secs_f64() * speed)
            .collect();
        assert_eq!(gaps, [0.0, 0.5, 2.0, 1.25, 0.5, 2.0]);
    }
}

#[test]
fn what_is_no_recording_says_where_it_is_wrong() {
    let cases = [
        ("back.csv", "1\n3\n2\n", 3, "ascend"),
        ("word.csv", "1\n2\nthree\n", 3, "`three`"),
        ("header.csv", "price\n1\n", 1, "`price`"),
        ("nan.csv", "1\nnan\n", 2, "ascend"),
    ];
    for (name, text, at, says) in cases {
        let pattern = replay(recorded(name, text), 1.0);
        match Arrivals::new(&pattern, 1).map(|_| ()) {
            Err(LoadError::Line { line, reason, .. }) => {
                assert_eq!(line, at, "{name}");
                assert!(reason.to_string().contains(says), "{reason}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    for pattern in [
        replay(recorded("empty.csv", ""), 1.0),
        replay(recorded("same.csv", "1\n1\n"), 1.0),
        replay(PathBuf::from("/nowhere/at/all.csv"), 1.0),
    ] {
        let error = Arrivals::new(&pattern, 1).map(|_| ());
        assert!(matches!(error, Err(LoadError::File { .. })), "{error:?}");
    }
}

#[test]
fn the_usual_load_is_one_that_cores_can_serve() {
    let of = |name: &str| {
        let folder = root().join("sample_ensembles").join(name);
        Ensemble::read(&Files::from_path(&folder)).expect("valid")
    };
    let cores = |count: usize| {
        Devices::default_of(&Host {
            cores: (0..count).collect(),
            memory_bytes: 4 << 30,
        })
    };
    let simulated = Devices::simulated(&find_profile("v100").expect("known"), 2);
    let (digits, drawings) = (of("digits"), of("drawings"));
    let cases = [
        (&digits, cores(2), "poisson:200"),
        (&drawings, cores(1), "poisson:1"),
        (&drawings, cores(2), "poisson:2"),
        (&drawings, cores(32), "poisson:50"),
        (&drawings, simulated, "poisson:200"),
    ];
    for (ensemble, devices, expected) in cases {
        let usual = usual_load(ensemble, &devices);
        assert_eq!(
            usual,
            parsed(expected),
            "{} on {:?}",
            ensemble.name,
            devices.names()
        );
    }
}
