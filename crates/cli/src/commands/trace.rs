//! `sluice trace`: traces an object back to its source, through the Kustomization or HelmRelease that owns it.

mod made_by;
mod report;
mod which;

use crate::globals::Globals;
use crate::outcome::{Failure, Outcome};
use crate::session::{self, Session};
use crate::tell;

/// Traces objects back to their sources.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// `KIND NAME…`, or `KIND/NAME…`.
    #[arg(value_name = "OBJECT")]
    objects: Vec<String>,
    /// The kind of the object, with --api-version.
    #[arg(long)]
    kind: Option<String>,
    /// The API version of the object, with --kind.
    #[arg(long)]
    api_version: Option<String>,
}

/// Runs `sluice trace`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    session::with(globals, async |session| trace(session, arguments).await)?;
    Ok(Outcome::Fine)
}

async fn trace(session: &Session, arguments: &Arguments) -> Result<(), Failure> {
    let objects = if arguments.kind.is_some() || arguments.api_version.is_some() {
        let kind = arguments.kind.as_deref();
        vec![
            which::exactly(session, kind, arguments.api_version.as_deref(), &arguments.objects)
                .await?,
        ]
    } else {
        which::by_words(session, &arguments.objects).await?
    };
    let last = objects.len().saturating_sub(1);
    for (position, object) in objects.iter().enumerate() {
        match made_by::report(session, object).await {
            Ok(report) => tell::data(&report)?,
            // Flux prints an empty value here, and continues.
            Err(failure) => tell::plain_error(&format!(
                "failed to trace {}/{} in namespace {}: {}",
                crate::kinds::text_at(object, "/kind"),
                crate::kinds::text_at(object, "/metadata/name"),
                crate::kinds::text_at(object, "/metadata/namespace"),
                failure.message()
            )),
        }
        if position < last {
            tell::data("---\n")?;
        }
    }
    Ok(())
}
