//! `sluice tree`: prints the inventory of a Kustomization or an artifact generator, recursively.

mod helm;
mod node;

use clap::{Subcommand, ValueEnum};
use serde_json::Value;
use sluice_ssa::ObjectId;

use crate::globals::Globals;
use crate::kinds::{self, Kind, text_at};
use crate::outcome::{Failure, Outcome};
use crate::session::{self, Session};
use crate::tell;
use node::Node;

/// Prints the inventory of objects as a tree.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    of: Of,
}

#[derive(Debug, Subcommand)]
enum Of {
    /// Of a Kustomization, and of the Kustomizations and HelmReleases in it.
    #[command(aliases = ["ks", "kustomizations"])]
    Kustomization(OfKustomization),
    /// Of an artifact generator.
    Artifact {
        #[command(subcommand)]
        of: OfArtifact,
    },
}

#[derive(Debug, Subcommand)]
enum OfArtifact {
    /// Of an artifact generator.
    Generator(OfGenerator),
}

#[derive(Debug, clap::Args)]
struct OfKustomization {
    /// The Kustomization.
    name: Option<String>,
    /// Only objects of Flux.
    #[arg(long)]
    compact: bool,
    /// The output format.
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    output: Output,
}

#[derive(Debug, clap::Args)]
struct OfGenerator {
    /// The artifact generator.
    name: Option<String>,
    /// The output format.
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Table,
    Json,
    Yaml,
}

/// Runs `sluice tree`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    let (tree, output) = match &arguments.of {
        Of::Kustomization(wanted) => {
            let name = wanted.name.as_deref();
            let name = name.ok_or_else(|| Failure::flux("kustomization name is required"))?;
            let tree = session::with(globals, async |session| {
                of_kustomization(session, name, wanted.compact).await
            })?;
            (tree, wanted.output)
        }
        Of::Artifact { of: OfArtifact::Generator(wanted) } => {
            let name = wanted.name.as_deref();
            let name = name.ok_or_else(|| Failure::flux("accepts 1 arg(s), received 0"))?;
            let tree = session::with(globals, async |session| of_generator(session, name).await)?;
            (tree, wanted.output)
        }
    };
    tell::data(&match output {
        Output::Table => format!("{}\n", tree.draw()),
        Output::Json => format!("{}\n", tree.to_json()),
        Output::Yaml => format!("{}\n", sluice_yaml::from_json(&tree.to_value())),
    })?;
    Ok(Outcome::Fine)
}

fn known(name: &str) -> Result<&'static Kind, Failure> {
    kinds::named(name).ok_or_else(|| Failure::flux(format!("{name} is no kind of Flux")))
}

async fn of_kustomization(session: &Session, name: &str, compact: bool) -> Result<Node, Failure> {
    let kind = known("Kustomization")?;
    let object = session.get(kind, &session.namespace, name).await?;
    let mut root = Node::new(id(kind, &object));
    grow(session, &mut root, &object, compact).await?;
    Ok(root)
}

fn id(kind: &Kind, object: &Value) -> ObjectId {
    ObjectId {
        namespace: text_at(object, "/metadata/namespace").to_owned(),
        name: text_at(object, "/metadata/name").to_owned(),
        group: kind.definition.group.to_owned(),
        kind: kind.name().to_owned(),
    }
}

/// The common suffix of Flux's groups.
const FLUX: &str = "toolkit.fluxcd.io";

async fn grow(
    session: &Session,
    node: &mut Node,
    object: &Value,
    compact: bool,
) -> Result<(), Failure> {
    let entries = object.pointer("/status/inventory/entries").and_then(Value::as_array);
    for entry in entries.into_iter().flatten() {
        let made = ObjectId::parse(text_at(entry, "/id"))
            .map_err(|error| Failure::flux(error.to_string()))?;
        if compact && !made.group.contains(FLUX) || made == node.id {
            continue;
        }
        let mut child = Node::new(made.clone());
        let is = |kind: &Kind| made.group == kind.definition.group && made.kind == kind.name();
        if is(known("HelmRelease")?) {
            let inventory = helm::inventory(session, &made).await?;
            let shown = inventory.into_iter().filter(|one| !compact || one.group.contains(FLUX));
            child.children.extend(shown.map(Node::new));
        }
        let kustomization = known("Kustomization")?;
        if is(kustomization) && object.pointer("/spec/kubeConfig").is_none() {
            let inner = session.get(kustomization, &made.namespace, &made.name).await;
            let inner =
                inner.map_err(|error| Failure::flux(format!("failed to find object: {error}")))?;
            Box::pin(grow(session, &mut child, &inner, compact)).await?;
        }
        node.children.push(child);
    }
    Ok(())
}

async fn of_generator(session: &Session, name: &str) -> Result<Node, Failure> {
    let kind = known("ArtifactGenerator")?;
    let object = session.get(kind, &session.namespace, name).await?;
    let artifact = known("ExternalArtifact")?;
    let mut root = Node::new(id(kind, &object));
    let inventory = object.pointer("/status/inventory").and_then(Value::as_array);
    root.children.extend(inventory.into_iter().flatten().map(|one| {
        Node::new(ObjectId {
            namespace: text_at(one, "/namespace").to_owned(),
            name: text_at(one, "/name").to_owned(),
            group: artifact.definition.group.to_owned(),
            kind: artifact.name().to_owned(),
        })
    }));
    Ok(root)
}
