//! `sluice demo` as people start it.

use std::process::Command;

#[test]
fn the_demo_tells_its_story_in_a_pipe() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_sluice")).args(["demo", "--fast"]).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{told}{errors}");
    assert_eq!(errors, "");
    assert!(!told.contains('\u{1b}'), "a pipe gets no colours and no redrawn lines: {told}");
    let widest = told.lines().max_by_key(|line| line.chars().count()).unwrap();
    assert!(widest.chars().count() <= 80, "{widest}");
    let chapters = [
        "It is installed, layer by layer",
        "A new commit rolls out",
        "Somebody changes the cluster by hand",
        "A broken commit stops at its layer",
        "Its revert recovers",
    ];
    let found: Vec<&str> = told
        .lines()
        .filter_map(|line| chapters.into_iter().find(|chapter| line.trim().starts_with(chapter)))
        .collect();
    assert_eq!(found, chapters, "{told}");
    assert_eq!(told.matches("✓ ").count(), 7, "{told}");
    let failed = told.lines().find(|line| line.contains("services") && line.contains("failed"));
    assert!(failed.is_some(), "{told}");
    assert_eq!(told.lines().filter(|line| line.ends_with("needs services")).count(), 2, "{told}");
}

#[test]
fn a_seed_tells_one_story() {
    let told = |seed: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_sluice"))
            .args(["demo", "--fast", "--seed", seed])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        // The last claim says how long it took here.
        text.lines().filter(|line| !line.contains("minutes of it took")).collect::<String>()
    };
    assert_eq!(told("11"), told("11"));
    assert_ne!(told("11"), told("12"));
}
