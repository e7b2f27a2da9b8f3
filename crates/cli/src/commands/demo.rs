//! `sluice demo`: the main job in small, told live.
//!
//! A platform in four layers (`examples/four-layers`, part of this binary) becomes a Git repository
//! on the spot; the controllers of `sluice serve` install it on an embedded cluster, layer by layer.
//! Then a new commit rolls out, a foreign change is repaired, a broken commit stops at its layer,
//! and its revert recovers. What is told was read from the cluster; what was not seen there ends
//! the story.
//!
//! The story runs in virtual time, so that the same seed tells the same one; for people it is
//! slowed down. With `--keep` the clock is then set to the real one, and everything gets a port.

mod evidence;
mod keep;
mod layers;
mod pace;
mod platform;
mod stage;
mod story;

use std::path::PathBuf;

use crate::outcome::{Failure, Outcome};
use crate::screen::{Screen, Tone};
use pace::Pace;
use platform::Platform;
use stage::Stage;
use story::{Stopped, Story};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The source of all chance in the cluster: uids, names, delays.
    #[arg(long, default_value_t = 7)]
    seed: u64,
    /// Tell the story in a few seconds.
    #[arg(long)]
    fast: bool,
    /// Leave the cluster and the controllers running afterwards, for kubectl and flux, until stopped.
    #[arg(long)]
    keep: bool,
    /// With --keep, the kubeconfig to write; whoever reads it is administrator.
    #[arg(long, value_name = "FILE", requires = "keep")]
    kubeconfig: Option<PathBuf>,
}

/// Runs `sluice demo`.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .map_err(|error| Failure::caused("cannot start the runtime", error))?;
    let pace = if arguments.fast { Pace::Fast } else { Pace::Told };
    runtime.block_on(async {
        let (mut stage, ports) = if arguments.keep {
            let opened = Stage::with_ports(arguments.seed).await;
            let (stage, ports) =
                opened.map_err(|error| Failure::caused("the demo cannot be kept", error))?;
            (stage, Some(ports))
        } else {
            (Stage::new(arguments.seed), None)
        };
        let platform = Platform::as_embedded();
        let mut screen = Screen::stdout();
        let told = Story::new(&mut stage, &mut screen, pace, platform).tell().await;
        let outcome = match told {
            Ok(()) => Outcome::Fine,
            Err(Stopped::Finding(seen)) => {
                let line = format!("  {} {seen}", screen.tone(Tone::Bad, "✗"));
                screen.settle(&[line]);
                Outcome::Findings
            }
            Err(Stopped::Failed(error)) => {
                return Err(Failure::caused("the demo did not reach its end", error));
            }
        };
        if let Some(ports) = ports {
            keep::serve(stage, ports, arguments.kubeconfig.as_deref(), &mut screen).await?;
        } else if outcome == Outcome::Fine {
            try_next(&mut screen);
        }
        Ok(outcome)
    })
}

fn try_next(screen: &mut Screen) {
    screen.line("");
    screen.line("  Try next:");
    for (command, what) in [
        ("sluice demo --keep", "then yours, for kubectl and flux"),
        ("sluice demo --fast --seed 8", "other delays, in a few seconds"),
        ("sluice cluster serve --kubeconfig kc", "an empty cluster on a port"),
    ] {
        let line = format!("    {command:<38} {}", screen.tone(Tone::Faint, what));
        screen.line(&line);
    }
}
