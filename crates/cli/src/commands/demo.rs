//! `sluice demo`: a short story on an embedded cluster, told live.
//!
//! A namespace, the CRDs of Flux, a custom object (first a wrong one), a Deployment that rolls out
//! and is changed, a foreign hand that is refused, and the end of it all. Everything goes through
//! the API, as anybody's client would.

mod story;

use std::time::Instant;

use jiff::Timestamp;
use kube::Client;
use sluice_cluster::Cluster;

use crate::outcome::{Failure, Outcome};
use crate::screen::{Screen, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The source of all chance in the cluster: uids, names, delays.
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Tell the story in a second or two.
    #[arg(long)]
    fast: bool,
}

/// Simulated delays pass this much faster than in life.
const SPEED: f64 = 2.0;
const FAST: f64 = 50.0;

/// Runs `sluice demo`.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let started = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::caused("cannot start the runtime", error))?;
    runtime.block_on(async {
        let cluster = Cluster::builder()
            .seed(arguments.seed)
            .epoch(Timestamp::now())
            .private_keys()
            .speed(if arguments.fast { FAST } else { SPEED })
            .build();
        let client = Client::new(cluster.service(), "default");
        let mut screen = Screen::stdout();
        let head = format!(
            "  {}   in this process, ready in {} ms, seed {}",
            screen.tone(Tone::Strong, "An embedded Kubernetes 1.35"),
            started.elapsed().as_millis(),
            arguments.seed
        );
        screen.line(&head);
        screen.line("");
        story::tell(&client, &mut screen)
            .await
            .map_err(|error| Failure::caused("the demo did not reach its end", error))?;
        Ok(Outcome::Fine)
    })
}
