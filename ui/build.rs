//! Tells the program its version: the commit that it was built from, and its features.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=DIVISI_COMMIT");
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let parts = [commit(), devices().to_owned()].join(", ");
    println!("cargo::rustc-env=DIVISI_VERSION={version} ({parts})");
}

/// Returns the commit of a release build. A build for tests names none, or every commit would
/// compile the console again.
fn commit() -> String {
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if let Ok(commit) = std::env::var("DIVISI_COMMIT") {
        return format!("commit {commit}");
    }
    match is_release.then(of_repository).flatten() {
        Some(commit) => format!("commit {commit}"),
        None => "unknown commit".to_owned(),
    }
}

/// Returns the commit of the repository around this folder, or `None` in a package.
fn of_repository() -> Option<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let top = folder.parent()?.join(".git");
    if !top.exists() {
        return None;
    }
    println!("cargo::rerun-if-changed={}", top.join("HEAD").display());
    println!(
        "cargo::rerun-if-changed={}",
        top.join("logs/HEAD").display()
    );
    let git = Command::new("git")
        .args(["rev-parse", "--short=8", "HEAD"])
        .current_dir(folder)
        .output();
    let git = git.ok().filter(|git| git.status.success())?;
    let commit = String::from_utf8(git.stdout).ok()?;
    Some(commit.trim().to_owned())
}

/// Returns the kinds of devices that the features allow.
fn devices() -> &'static str {
    match std::env::var_os("CARGO_FEATURE_CUDNN").is_some() {
        true => "CPU, CUDA and cuDNN",
        false if std::env::var_os("CARGO_FEATURE_CUDA").is_some() => "CPU and CUDA",
        false => "CPU",
    }
}
