//! The real git, and repositories that it writes.

use std::path::Path;
use std::process::Command;

/// Runs git in a directory; returns its output.
pub fn git(directory: &Path, arguments: &[&str]) -> String {
    String::from_utf8_lossy(&git_bytes(directory, arguments)).trim().to_owned()
}

/// Runs git in a directory; returns the bytes of its output.
pub fn git_bytes(directory: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("git")
        .current_dir(directory)
        .args(["-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main"])
        .args(["-c", "user.name=T", "-c", "user.email=t@t.test"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .expect("git runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// A repository below a directory, with one commit of some files on `main`.
pub fn repository(root: &Path, name: &str, files: &[(&str, &str)]) {
    git(root, &["init", "-q", name]);
    let top = root.join(name);
    for (path, text) in files {
        let path = top.join(path);
        std::fs::create_dir_all(path.parent().expect("files lie in directories"))
            .expect("directories can be made");
        std::fs::write(path, text).expect("files can be written");
    }
    git(&top, &["add", "."]);
    git(&top, &["commit", "-qm", "one"]);
}
