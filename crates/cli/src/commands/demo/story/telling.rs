//! How the story is told: headings, claims, and the layers, drawn until something holds of them.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::{PATIENCE, Stopped, Story};
use crate::commands::demo::evidence::{Workload, workload};
use crate::commands::demo::layers::{
    Layer, State, WIDTH, clock, held, layers, progress, row, shortened, unhealthy,
};
use crate::commands::demo::pace::Tempo;
use crate::screen::Tone;

impl Story<'_> {
    /// Begins a chapter.
    pub(super) fn heading(&mut self, text: &str, revision: Option<&str>) {
        let id = revision.and_then(|revision| revision.rsplit(':').next()?.get(..8));
        let commit = id.map_or_else(String::new, |id| format!("commit {id}"));
        let room = WIDTH - 2 - commit.len();
        let text = self.screen.tone(Tone::Strong, &format!("{text:<room$}"));
        self.screen.line("");
        self.screen.line(format!("  {text}{commit}").trim_end());
    }

    /// Says what is done to the platform.
    pub(super) fn note(&mut self, text: &str) {
        let text = self.screen.tone(Tone::Faint, &shortened(text, WIDTH - 4));
        self.screen.line(&format!("    {text}"));
    }

    /// Says something that was seen.
    pub(super) fn proved(&mut self, text: &str) {
        self.proofs += 1;
        let mark = self.screen.tone(Tone::Good, "✓");
        self.screen.line(&format!("  {mark} {}", shortened(text, WIDTH - 4)));
    }

    /// Draws the layers until something holds of them.
    pub(super) async fn follow(
        &mut self,
        revision: &str,
        tempo: Tempo,
        mut vigil: Option<&mut Vigil>,
        until: impl Fn(&[Layer]) -> bool,
    ) -> Result<Vec<Layer>, Stopped> {
        let began = Instant::now();
        let mut reached: BTreeMap<String, Duration> = BTreeMap::new();
        loop {
            let layers = layers(self.stage).await?;
            if let Some(vigil) = vigil.as_deref_mut() {
                vigil.look(&workload(self.stage, vigil.of).await?);
            }
            for layer in &layers {
                let settled = matches!(layer.state(revision), State::Ready | State::Failed);
                if settled {
                    reached.entry(layer.name.clone()).or_insert(began.elapsed());
                } else {
                    reached.remove(&layer.name);
                }
            }
            let is_end = !layers.is_empty() && until(&layers);
            let is_late = began.elapsed() > PATIENCE;
            if is_end || is_late || self.screen.is_live() {
                let rows = self.rows(&layers, revision, &reached).await?;
                if is_end || is_late {
                    self.screen.settle(&rows);
                } else {
                    self.screen.draw(&rows);
                }
            }
            if is_end {
                return Ok(layers);
            }
            if is_late {
                let open = layers.iter().find(|layer| layer.state(revision) != State::Ready);
                let seen = open.map_or_else(
                    || "there are no layers".to_owned(),
                    |layer| format!("{}: {}", layer.name, layer.message()),
                );
                return Err(Stopped::Finding(format!("after {}, {seen}", clock(PATIENCE))));
            }
            self.pace.frame(tempo).await;
        }
    }

    async fn rows(
        &self,
        layers: &[Layer],
        revision: &str,
        reached: &BTreeMap<String, Duration>,
    ) -> Result<Vec<String>, Stopped> {
        let mut rows = Vec::new();
        for layer in layers {
            let state = layer.state(revision);
            let (done, detail) = match state {
                State::Ready => (layer.objects.len(), format!("{} objects", layer.objects.len())),
                State::Held => (0, held(layer)),
                State::Failed => (0, unhealthy(layer)),
                State::Waiting => (0, String::new()),
                State::Proving => {
                    let (done, open) = progress(self.stage, layer).await?;
                    (done, open.unwrap_or_default())
                }
            };
            let at = reached.get(&layer.name).copied();
            rows.push(row(self.screen, layer, state, at, (done, &detail)));
        }
        Ok(rows)
    }
}

/// Watches that enough pods are ready all the while.
pub(super) struct Vigil {
    pub(super) of: (&'static str, &'static str),
    pub(super) least: i64,
}

impl Vigil {
    fn look(&mut self, seen: &Workload) {
        self.least = self.least.min(seen.ready);
    }
}
