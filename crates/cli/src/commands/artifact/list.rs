//! `sluice list artifacts`: lists the tags of a repository, with their metadata.

use clap::{Args, Subcommand};
use regex::Regex;
use sluice_base::go::regexp;
use sluice_base::semver::{Constraint, Version};
use sluice_source::oci::{Access, OciError, REVISION, RemoteRepository, SOURCE};

use super::registry::Target;
use super::{Login, registry};
use crate::globals::Globals;
use crate::outcome::{Failure, Outcome};
use crate::{table, tell};

/// The tags of cosign.
const SIGNATURES: [&str; 3] = [".att", ".sbom", ".sig"];

/// Lists artifacts.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Prints the artifacts of a repository: address, digest, source, revision.
    #[command(alias = "artifact")]
    Artifacts(List),
}

#[derive(Debug, Args)]
struct List {
    /// The address: `oci://<registry>/<repository>`.
    url: Option<String>,
    /// A range of versions.
    #[arg(long, value_name = "RANGE", default_value = "", hide_default_value = true)]
    filter_semver: String,
    /// A regular expression for tags.
    #[arg(long, value_name = "EXPRESSION", default_value = "", hide_default_value = true)]
    filter_regex: String,
    #[command(flatten)]
    login: Login,
    /// Allows plain HTTP.
    #[arg(long)]
    insecure_registry: bool,
}

/// Runs `sluice list artifacts`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    let Command::Artifacts(wanted) = &arguments.command;
    let url = wanted.url.as_deref();
    let url = url.ok_or_else(|| Failure::flux("artifact repository URL is required"))?;
    let (reference, text) = registry::parse(url)?;
    let target = Target {
        repository: reference.repository(),
        login: &wanted.login,
        insecure: wanted.insecure_registry,
        access: Access::Pull,
    };
    let rows = registry::with(&target, globals.timeout(), async |remote| {
        rows(remote, wanted, text).await
    })?;
    tell::data(&table::render(&["artifact", "digest", "source", "revision"], &rows))?;
    Ok(Outcome::Fine)
}

/// One row per artifact, the last tags first.
async fn rows(
    remote: &RemoteRepository,
    wanted: &List,
    text: &str,
) -> Result<Vec<Vec<String>>, Failure> {
    let failed = |what: &'static str| {
        move |error: OciError| Failure::flux(format!("{what} failed: {error}"))
    };
    let mut tags = remote.tags().await.map_err(failed("listing tags"))?;
    tags.sort_unstable_by(|one, other| other.cmp(one));
    let filter = Filter::of(wanted)?;
    let mut rows = Vec::new();
    for tag in tags.iter().filter(|tag| filter.lets(tag)) {
        let found = remote.manifest(&remote.repository().tag(tag)).await;
        let found = found.map_err(failed("fetching manifest"))?;
        let manifest: sluice_source::oci::Manifest = serde_json::from_slice(&found.content)
            .map_err(|error| Failure::flux(format!("parsing manifest failed: {error}")))?;
        rows.push(vec![
            format!("{text}:{tag}"),
            found.digest.to_string(),
            manifest.annotation(SOURCE).to_owned(),
            manifest.annotation(REVISION).to_owned(),
        ]);
    }
    Ok(rows)
}

/// The filter of tags.
struct Filter {
    range: Option<Constraint>,
    expression: Option<Regex>,
}

impl Filter {
    fn of(wanted: &List) -> Result<Self, Failure> {
        let (range, expression) = (&wanted.filter_semver, &wanted.filter_regex);
        let bad = |what: &str, text: &str, error: &dyn std::fmt::Display| {
            Failure::flux(format!("{what} '{text}' parse error: {error}"))
        };
        let range = match range.as_str() {
            "" => None,
            text => Some(Constraint::parse(text).map_err(|error| bad("semver", text, &error))?),
        };
        let expression = match expression.as_str() {
            "" => None,
            text => Some(regexp::compile(text).map_err(|error| bad("regex", text, &error))?),
        };
        Ok(Self { range, expression })
    }

    fn lets(&self, tag: &str) -> bool {
        let in_range = self
            .range
            .as_ref()
            .is_none_or(|range| Version::parse_tag(tag).is_ok_and(|version| range.check(&version)));
        let matches = self.expression.as_ref().is_none_or(|it| it.is_match(tag));
        !SIGNATURES.iter().any(|end| tag.ends_with(end)) && in_range && matches
    }
}
