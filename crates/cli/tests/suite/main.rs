//! The commands as a user meets them: the built program against an embedded cluster on a loopback port.
//!
//! A session in `tests/cases` is a list of command lines. What the real flux said to each of them is in
//! `tests/goldens`, under its version; ours has to say the same, to the byte, on both outputs, with the
//! same exit code.
//!
//! ```text
//! cargo test -p sluice                                  against the goldens
//! SLUICE_FLUX=…/flux cargo test -p sluice               beside the real program, on a cluster of its own
//! SLUICE_FLUX=…/flux UPDATE=1 cargo test -p sluice      the same, and the goldens are written
//! ```

mod artifacts;
mod bases;
mod controller;
mod installation;
mod moving;
mod session;
mod ssh;
mod upstream;
mod world;

use std::path::{Path, PathBuf};

use session::Session;

/// The version of flux that the goldens are from.
const VERSION: &str = "2.9.5";

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// Flux has none of these, so the golden is what ours said when somebody last looked at it.
#[test]
fn what_only_ours_says_is_said_again() {
    for name in ["ours", "bad-input", "places"] {
        let session = Session::read(&directory("own").join(format!("{name}.session")));
        let golden = directory("own").join(format!("{name}.txt"));
        let answers = session.play(Path::new(env!("CARGO_BIN_EXE_sluice")));
        let ours: Vec<_> = answers.into_iter().map(session::Answer::timeless).collect();
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&golden, session::write_golden(&ours)).expect("goldens can be written");
        }
        let written = session::write_golden(&session::read_golden(&golden));
        assert_eq!(session::write_golden(&ours), written);
    }
}

#[test]
fn flux_and_sluice_say_the_same() {
    let flux = std::env::var_os("SLUICE_FLUX").map(PathBuf::from);
    let update = std::env::var_os("UPDATE").is_some();
    let only = std::env::var("SESSION").ok();
    let mut names: Vec<String> = std::fs::read_dir(directory("cases"))
        .expect("the cases are there")
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            path.extension().filter(|ending| *ending == "session")?;
            Some(path.file_stem()?.to_str()?.to_owned())
        })
        .filter(|name| only.as_ref().is_none_or(|only| only == name))
        .collect();
    names.sort();
    let (mut compared, mut told, mut differences) = (0, 0, Vec::new());
    for name in names {
        let session = Session::read(&directory("cases").join(format!("{name}.session")));
        let golden = directory(&format!("goldens/flux-{VERSION}")).join(format!("{name}.txt"));
        let expected = match &flux {
            Some(flux) => session.play(flux),
            None => session::read_golden(&golden),
        };
        if update {
            std::fs::write(&golden, session::write_golden(&expected))
                .expect("goldens can be written");
        }
        let ours = session.play(Path::new(env!("CARGO_BIN_EXE_sluice")));
        assert_eq!(expected.len(), ours.len(), "{name}: the golden is older than the session");
        for ((case, expected), ours) in session.commands.iter().zip(&expected).zip(&ours) {
            compared += 1;
            told += usize::from(case.differs.is_some());
            if let Some(difference) = case.difference(expected, ours) {
                differences.push(format!("{name}: {difference}"));
            }
        }
    }
    println!("{compared} commands compared, {told} differ on purpose, {} else", differences.len());
    assert!(
        differences.is_empty(),
        "{} differences\n{}",
        differences.len(),
        differences.join("\n")
    );
}
