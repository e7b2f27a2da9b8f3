//! Submodules: at the URL in `.gitmodules` and the commit in the directory.

use std::sync::atomic::{AtomicU32, Ordering};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use reqwest::Url;

use super::auth::GitAuth;
use super::clone::without_password;
use super::commit::Commit;
use super::error::{Cause, GitError, malformed, shown};
use super::remote::{FetchRequest, GitTransport};
use super::tree::{self, Gitlink, Worktree};
use crate::tree::SourceTree;

/// The maximum nesting of submodules, as in go-git.
const DEEPEST: u32 = 10;

/// The maximum number of submodules in a checkout, nested ones included: each costs a connection and a copy of
/// its files, and two of them at every level double the number.
const MOST: u32 = 500;

/// The repository of submodules.
struct Parent<'a> {
    transport: &'a dyn GitTransport,
    url: String,
    auth: GitAuth,
    depth: u32,
    /// The number of submodules in the whole checkout so far.
    count: &'a AtomicU32,
}

/// Checks out the submodules of a repository, recursively.
pub(super) async fn check_out_all(
    transport: &dyn GitTransport,
    (url, auth): (&str, &GitAuth),
    files: &mut SourceTree,
    links: &[Gitlink],
) -> Result<(), GitError> {
    let count = AtomicU32::new(0);
    let (url, auth) = (url.to_owned(), auth.clone());
    let parent = Parent { transport, url, auth, depth: 0, count: &count };
    check_out(&parent, files, links).await
}

fn check_out<'a>(
    parent: &'a Parent<'a>,
    files: &'a mut SourceTree,
    links: &'a [Gitlink],
) -> BoxFuture<'a, Result<(), GitError>> {
    async move {
        if parent.depth >= DEEPEST {
            return Ok(());
        }
        let configuration = files.read(".gitmodules").cloned().unwrap_or_default();
        let modules = parse(&String::from_utf8_lossy(&configuration));
        for link in links {
            // A directory without an entry in `.gitmodules` stays empty, as in git.
            let Some(module) = modules.iter().find(|module| module.path == link.path) else {
                continue;
            };
            if parent.count.fetch_add(1, Ordering::Relaxed) >= MOST {
                let limit = u64::from(MOST);
                return Err(parent.failed(Cause::TooLarge { what: "submodules", limit }));
            }
            if !is_module_name(&module.name) {
                let name = shown(&module.name);
                return Err(parent.failed(malformed(format!("invalid submodule name {name:?}"))));
            }
            let mut tree = fetch(parent, module, link).await?;
            let failed = |error: crate::tree::TreeError| {
                parent.failed(malformed(format!("submodule '{}': {error}", link.path)))
            };
            // Flux's artifacts contain the `.git` file of a submodule.
            tree.insert_file(".git", git_file(module)).map_err(failed)?;
            files.graft(&link.path, &tree).map_err(failed)?;
        }
        Ok(())
    }
    .boxed()
}

async fn fetch(
    parent: &Parent<'_>,
    module: &Module,
    link: &Gitlink,
) -> Result<SourceTree, GitError> {
    let failed = |source| parent.failed(source);
    let parent_url =
        Url::parse(&parent.url).map_err(|error| failed(Cause::Url(error.to_string())))?;
    let url = resolve(&parent_url, &module.url).map_err(failed)?;
    let auth = parent.auth.for_submodule(&parent_url, &url);
    let remote = parent.transport.open(url.as_str(), &auth).map_err(failed)?;
    let wants = if remote.can_want_any().await.map_err(failed)? {
        FetchRequest { wants: vec![link.commit], depth: Some(1), ..FetchRequest::default() }
    } else {
        let refs = remote.list_refs(&["refs/heads/".to_owned()]).await.map_err(failed)?;
        let wants = refs.into_iter().map(|found| found.id).collect();
        FetchRequest { wants, ..FetchRequest::default() }
    };
    let objects = remote.fetch(wants).await.map_err(failed)?;
    let commit = Commit::find(&objects, link.commit).map_err(failed)?;
    let Worktree { mut files, submodules } =
        tree::checkout(&objects, commit.tree, &[]).map_err(failed)?;
    if !submodules.is_empty() {
        let inner = Parent {
            transport: parent.transport,
            url: url.to_string(),
            auth,
            depth: parent.depth + 1,
            count: parent.count,
        };
        check_out(&inner, &mut files, &submodules).await?;
    }
    Ok(files)
}

impl Parent<'_> {
    /// The error of a submodule that cannot be fetched.
    fn failed(&self, source: Cause) -> GitError {
        GitError::Clone { url: without_password(&self.url), source }
    }
}

/// Whether a name stays inside of `.git/modules`.
fn is_module_name(name: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && part != "." && part != "..";
    name.split(['/', '\\']).all(is_part) && !name.contains(char::is_control)
}

/// The content of a submodule's `.git` file: the path to its git directory.
fn git_file(module: &Module) -> String {
    let up = "../".repeat(module.path.split('/').count());
    format!("gitdir: {up}.git/modules/{}\n", module.name)
}

/// A section of `.gitmodules`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Module {
    name: String,
    path: String,
    url: String,
}

fn parse(text: &str) -> Vec<Module> {
    let mut modules: Vec<Module> = Vec::new();
    let mut in_submodule = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            in_submodule = line.starts_with("[submodule");
            if in_submodule {
                let name = line.split('"').nth(1).unwrap_or_default().to_owned();
                modules.push(Module { name, ..Module::default() });
            }
        } else if let (true, Some((key, value)), Some(module)) =
            (in_submodule, line.split_once('='), modules.last_mut())
        {
            let value = value.trim().trim_matches('"');
            match key.trim() {
                "path" => value.trim_end_matches('/').clone_into(&mut module.path),
                "url" => value.clone_into(&mut module.url),
                _ => {}
            }
        }
    }
    modules
}

/// Resolves a URL in `.gitmodules`: absolute, relative to the parent, or `user@host:path`.
fn resolve(parent: &Url, text: &str) -> Result<Url, Cause> {
    let invalid = |error: &dyn std::fmt::Display| Cause::Url(format!("{text:?}: {error}"));
    let url = if text.starts_with("./") || text.starts_with("../") {
        let mut url = parent.clone();
        let mut parts: Vec<&str> = parent
            .path()
            .trim_end_matches('/')
            .split('/')
            .filter(|part| !part.is_empty())
            .collect();
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    if parts.pop().is_none() {
                        return Err(invalid(&"it leaves the server"));
                    }
                }
                part => parts.push(part),
            }
        }
        url.set_path(&parts.join("/"));
        url
    } else if let (false, Some((host, path))) = (text.contains("://"), text.split_once(':')) {
        Url::parse(&format!("ssh://{host}/{}", path.trim_start_matches('/')))
            .map_err(|error| invalid(&error))?
    } else {
        Url::parse(text).map_err(|error| invalid(&error))?
    };
    match url.scheme() {
        "http" | "https" | "ssh" => Ok(url),
        other => Err(invalid(&format!("unsupported scheme {other:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_whole_relative_or_short() {
        let parent = Url::parse("https://a.test/org/app.git").expect("an address");
        let cases = [
            ("https://b.test/x", Some("https://b.test/x")),
            ("../lib.git", Some("https://a.test/org/lib.git")),
            ("../../other/lib", Some("https://a.test/other/lib")),
            ("./sub", Some("https://a.test/org/app.git/sub")),
            ("git@b.test:org/x.git", Some("ssh://git@b.test/org/x.git")),
            ("../../../../x", None),
            ("file:///etc", None),
            ("/srv/git/x", None),
        ];
        for (text, expected) in cases {
            let found = resolve(&parent, text).ok().map(|url| url.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn sections_are_read() {
        let text =
            "[submodule \"lib\"]\n\tpath = vendor/lib/\n\turl = ../lib\n[other]\n\tpath = x\n";
        let module = Module { name: "lib".into(), path: "vendor/lib".into(), url: "../lib".into() };
        assert_eq!(parse(text), [module]);
    }
}
