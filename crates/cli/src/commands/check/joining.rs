//! Whether a cluster is ready to join: everything that the Flux objects of a directory need is
//! there, and one reconciliation of them succeeds.
//!
//! ```text
//! PATH ─▶ inputs (Flux objects, what is declared beside them, what their paths build)
//!          ├─ needs         controllers, sources, ConfigMaps, Secrets, accounts
//!          ├─ dependencies  declared, or in the cluster; no circles
//!          ├─ routes        classes, gateways and Services behind Ingresses and HTTPRoutes
//!          └─ reconcile     one request each, and what came of it
//! ```

mod dependencies;
mod inputs;
mod needs;
mod reconcile;
mod routes;

use std::path::Path;

use super::findings::Findings;
use crate::outcome::Failure;
use crate::session::Session;
use inputs::Inputs;

/// The poll interval of controllers that are not ready.
const POLL: std::time::Duration = std::time::Duration::from_secs(2);

/// Checks the cluster against a directory.
pub(super) async fn check(
    session: &Session,
    path: &Path,
    findings: &mut Findings,
) -> Result<(), Failure> {
    let inputs = Inputs::read(path)?;
    super::controllers(session, POLL, findings).await;
    needs::definitions(session, &inputs, findings).await;
    needs::sources(session, &inputs, findings).await;
    needs::config(session, &inputs, findings).await;
    dependencies::check(session, &inputs, findings).await;
    routes::check(session, &inputs, findings).await;
    reconcile::check(session, &inputs, findings).await
}
