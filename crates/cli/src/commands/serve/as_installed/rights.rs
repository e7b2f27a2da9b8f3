//! The table of rights is exactly what the controllers use: no request is denied, no right is unused.

use std::collections::BTreeSet;

use sluice_cluster::audit::Event;
use sluice_controllers::rights::{Place, Right, When, rights_of};
use sluice_controllers::table::Controller;

use super::scene::Installation;

/// Rights that this run does not use, and their reasons.
const NOT_DRIVEN: [(&str, &str, &str); 6] = [
    (
        "serviceaccounts/token",
        "create",
        "only clouds ask; crates/controllers/tests/suite/clouds.rs",
    ),
    ("buckets", "get", LOST_RACE),
    ("gitrepositories", "get", LOST_RACE),
    ("ocirepositories", "get", LOST_RACE),
    ("artifactgenerators", "get", LOST_RACE),
    ("kustomizations", "get", LOST_RACE),
];
const LOST_RACE: &str = "a status that lost a race is read again; crates/runtime/src/status.rs";

/// Group, resource with subresource, and verb of a request; impersonation is a request of its own.
fn used(events: &[Event]) -> BTreeSet<(String, String, String)> {
    let mut out = BTreeSet::new();
    for event in events {
        let Some(about) = &event.object_ref else { continue };
        if event.impersonated_user.is_some() {
            out.insert((String::new(), "serviceaccounts".to_owned(), "impersonate".to_owned()));
            continue;
        }
        let resource = if about.subresource.is_empty() {
            about.resource.clone()
        } else {
            format!("{}/{}", about.resource, about.subresource)
        };
        if event.verb == "patch" && event.code() == 201 {
            // An apply that creates needs both.
            out.insert((about.api_group.clone(), resource.clone(), "create".to_owned()));
        }
        out.insert((about.api_group.clone(), resource, event.verb.to_owned()));
    }
    out
}

/// Removing any verb of any right denies a request that was made; unused ones are listed with a reason.
#[tokio::test(start_paused = true)]
async fn every_right_is_used() {
    let flags = ["--components-extra=source-watcher", "--lockdown"];
    let installation = Installation::start(&flags).await;
    installation.drive().await;
    let events = installation.events();
    for (unit, controllers) in [
        ("source-controller", &[Controller::Source, Controller::Watcher][..]),
        ("kustomize-controller", &[Controller::Kustomize][..]),
    ] {
        let of_unit: Vec<Event> = events
            .iter()
            .filter(|event| event.user.name.ends_with(&format!(":{unit}")))
            .cloned()
            .collect();
        let used = used(&of_unit);
        let is_used = |right: &Right, resource: &str, verb: &str| {
            used.contains(&(right.group.to_owned(), resource.to_owned(), verb.to_owned()))
        };
        let mut idle = BTreeSet::new();
        for right in controllers.iter().flat_map(|controller| rights_of(*controller)) {
            for resource in right.resource_names() {
                for verb in right.verbs {
                    let named =
                        NOT_DRIVEN.iter().any(|(known, of, _)| *known == resource && of == verb);
                    if !named && !is_used(&right, &resource, verb) {
                        idle.insert(format!("{verb} {resource}.{}", right.group));
                    }
                }
            }
        }
        assert!(idle.is_empty(), "{unit} never uses {idle:#?}; it uses {used:#?}");
    }
    let all = Controller::ALL.into_iter().flat_map(rights_of);
    assert!(
        all.filter(|right| right.place == Place::Own).all(|right| right.resources == ["leases"]),
        "only leases are the controllers' own"
    );
}

/// `docs/rights.md` matches the table. `UPDATE=1` writes it.
#[test]
fn the_document_of_rights_is_current() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rights.md");
    let text = document();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        found, text,
        "UPDATE=1 cargo test -p sluice the_document_of_rights writes docs/rights.md"
    );
}

fn document() -> String {
    let mut out = String::from(
        "# Rights of the controllers\n\n\
        What `sluice install` grants, from the table in `crates/controllers/src/table.rs`. A test writes this page, runs an object of every kind with exactly these rights on the embedded cluster's RBAC\n\
        (`what_is_installed_reconciles_each_kind`: no request of a controller is refused), and finds each verb used (`every_right_is_used`).\n\n\
        - **split** (default): `source-controller` and `source-watcher` share the account `source-controller`; `kustomize-controller` has its own. **single**: one account, `sluice`, with all of it.\n\
        - Without `--lockdown` the account that applies is also bound to `cluster-admin` (`cluster-reconciler-NAMESPACE`), as in Flux: a Kustomization without `serviceAccountName` acts as it.\n\
        - With `--lockdown` it is not: every object is applied as a service account of the Kustomization's namespace (`default`, where none is named), references across namespaces and remote bases are refused. It\n\
        \u{20} can act as every service account in the namespaces that it watches, so it is as mighty as the mightiest of these. Watches for drift (`sluice.dev/drift`) and of other kinds (`sluice.dev/depends-on`) take the right to read them,\n\
        \u{20} which the operator grants to `kustomize-controller`, or else the interval decides.\n\
        - With `--watch-all-namespaces=false` everything is granted in the namespace of the controllers only.\n\
        - `flux-edit` and `flux-view` are aggregated to `edit` and `view`; they name Flux's kinds and no `/status`, which only controllers write.\n",
    );
    for controller in Controller::ALL {
        let heading = format!(
            "\n## {}\n\n| group | resources | verbs | where | for |\n|---|---|---|---|---|\n",
            controller.name()
        );
        out.push_str(&heading);
        for right in rights_of(controller) {
            let group = if right.group.is_empty() { "core" } else { right.group };
            let place = match right.place {
                Place::Watched => "watched namespaces",
                Place::Own => "its own namespace",
            };
            let condition = match right.when {
                When::Always => String::new(),
                When::With(other) => format!(" (with {})", other.name()),
                When::WithTokens => " (with `--workload-identity`)".to_owned(),
            };
            let row = format!(
                "| {group} | {} | {} | {place} | {}{condition} |\n",
                right.resource_names().collect::<Vec<_>>().join(", "),
                right.verbs.join(", "),
                right.why
            );
            out.push_str(&row);
        }
    }
    out
}
