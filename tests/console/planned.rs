//! Plans with this machine, its devices and their measured profiles.

use std::fs;

use crate::cli::{divisi, fails, json, scratch};

#[test]
fn a_measured_profile_is_a_kind_of_device() {
    let file = scratch("measured.toml");
    let path = file.to_str().expect("text");
    let measured = json(&[
        "devices",
        "--profile",
        "cpu:0",
        "--out",
        path,
        "--force",
        "--price",
        "0.05",
        "--format",
        "json",
    ]);
    assert_eq!(measured[0]["name"], "measured");
    assert_eq!(measured[0]["price"], 0.05);
    let plan = json(&[
        "plan", "digits", "--rate", "10", "--kinds", path, "--most", "1", "--format", "json",
    ]);
    assert_eq!(plan["answer"]["price_per_hour"], 0.05, "{plan}");
    assert_eq!(plan["kinds"][0]["remark"], serde_json::Value::Null);
    let (_, error) = fails(&["devices", "--profile", "cpu:0", "--out", path]);
    assert!(error.contains("exists; --force replaces it"), "{error}");
}

#[test]
fn a_wrong_profile_is_refused_with_its_file_and_field() {
    let file = scratch("wrong.toml");
    let path = file.to_str().expect("text");
    let text = include_str!("../../assets/devices/l4.toml");
    fs::write(&file, text.replace("value = 15.15e12", "value = 0")).expect("writes");
    let (code, error) = fails(&["plan", "digits", "--rate", "10", "--kinds", path]);
    assert_eq!(code, Some(1));
    assert!(
        error.contains("wrong.toml: rate: expected a rate per second"),
        "{error}"
    );
}

#[test]
fn this_machine_is_a_kind_of_device_with_a_price() {
    let here = [
        "plan",
        "digits",
        "--rate",
        "10",
        "--p99",
        "500ms",
        "--kinds",
        "cpu:0,l4",
        "--price",
        "cpu:0=0.25,l4=9",
        "--most",
        "1",
        "--policy",
        "no-wait",
    ];
    let report = json(&[&here[..], &["--format", "json"]].concat());
    assert_eq!(report["answer"]["devices"]["cpu:0"], 1, "{report}");
    assert_eq!(report["answer"]["price_per_hour"], 0.25);
    let remark = |kind: usize| report["kinds"][kind]["remark"].as_str().expect("text");
    assert!(remark(0).starts_with("this machine"), "{report}");
    assert_eq!(remark(1), "derived from published figures, not measured");
}

#[test]
fn kinds_and_prices_that_do_not_exist_are_refused() {
    let plan = |more: &[&str]| fails(&[&["plan", "digits", "--rate", "10"][..], more].concat()).1;
    let unknown = plan(&["--kinds", "v200"]);
    assert!(unknown.contains("no profile `v200`"), "{unknown}");
    assert!(unknown.contains("or `here` (this machine)"), "{unknown}");
    let price = plan(&["--kinds", "l4", "--price", "v100=1"]);
    let says = "--price: `v100` is not a kind of --kinds: expected one of l4";
    assert!(price.contains(says), "{price}");
    let twice = plan(&["--kinds", "here,cpu:0"]);
    assert!(twice.contains("overlap"), "{twice}");
}

#[test]
fn an_allocation_marks_devices_that_were_not_measured() {
    let goal = [
        "allocate",
        "digits",
        "--devices",
        "sim:l4",
        "--algorithm",
        "worst-fit",
    ];
    let text = String::from_utf8(divisi(&goal).stdout).expect("text");
    assert!(
        text.contains("sim:l4: derived from published figures, not measured"),
        "{text}"
    );
    let listed = String::from_utf8(divisi(&["devices"]).stdout).expect("text");
    let line = listed.lines().find(|line| line.starts_with("sim:l40s"));
    assert!(
        line.is_some_and(|line| line.contains("derived from published figures")),
        "{listed}"
    );
}
