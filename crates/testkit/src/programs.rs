//! Programs that some tests need. A test without one is skipped: it says so on stderr, and appends a line to the
//! file that `SLUICE_SKIPPED` names, so that `.ci/run` can count what did not run.

use std::io::Write as _;
use std::path::PathBuf;

/// Whether all of these programs are on the `PATH`; otherwise the test has to return.
///
/// ```no_run
/// if !sluice_testkit::programs::need(&["git", "ssh-keygen"]) {
///     return;
/// }
/// ```
pub fn need(names: &[&str]) -> bool {
    let missing: Vec<&str> = names.iter().copied().filter(|name| !is_on_path(name)).collect();
    for name in &missing {
        skip(&format!("{name} is not installed"));
    }
    missing.is_empty()
}

/// The path of a real program that tests compare with, such as `flux`: in `bin` below `SLUICE_PEERS`, which is
/// `~/.cache/sluice-peers` by default.
pub fn peer(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os("SLUICE_PEERS").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let peers = named.or_else(|| home.map(|home| home.join(".cache/sluice-peers")));
    let path = peers.map(|peers| peers.join("bin").join(name)).filter(|path| path.is_file());
    if path.is_none() {
        skip(&format!("{name} is not installed"));
    }
    path
}

fn is_on_path(name: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|directory| directory.join(name).is_file())
}

/// Reports that the current test, or the part of it that compares with a real program, does not run.
#[expect(clippy::print_stderr, reason = "a test that did not run has to say so")]
pub fn skip(reason: &str) {
    // The test harness names threads after tests.
    let current = std::thread::current();
    let line = format!("{}: {reason}", current.name().unwrap_or("a test"));
    eprintln!("skipped: {line}");
    let Some(file) = std::env::var_os("SLUICE_SKIPPED") else { return };
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(file);
    let written = opened.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    written.expect("the file that SLUICE_SKIPPED names can be written");
}
