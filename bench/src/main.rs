//! Measures what an API server can do, as a client without any controller.
//!
//! `bench/cluster` runs `load` against the embedded server and a real one; `bench/controllers` runs `floor` beside the controllers.

mod floor;
mod load;

use std::path::Path;

use clap::Parser;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

type Error = Box<dyn std::error::Error + Send + Sync>;

/// Measures what an API server can do and prints it as one line of JSON.
#[derive(Parser)]
enum Arguments {
    /// Creates, reads, applies and lists ConfigMaps.
    Load(load::Arguments),
    /// Sends the dry runs and applies of many Kustomizations, and nothing else.
    Floor(floor::Arguments),
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let measured = match Arguments::parse() {
        Arguments::Load(arguments) => load::run(&arguments).await?,
        Arguments::Floor(arguments) => floor::run(&arguments).await?,
    };
    print(&measured);
    Ok(())
}

async fn client(kubeconfig: &Path) -> Result<Client, Error> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

#[expect(clippy::print_stdout, reason = "the measurement is the output")]
fn print(value: &serde_json::Value) {
    println!("{value}");
}
