//! Runs the transformers of a kustomization: those of its fields, in kustomize's order, then those under
//! `transformers`.

use super::{Accumulator, Session, Target};
use crate::config::TransformerConfig;
use crate::failure::Result;
use crate::transformers::{FIELDS, FieldSteps, Step};

impl Target<'_> {
    pub(super) fn transform(&self, to: &mut Accumulator, session: &mut Session) -> Result<()> {
        let mut steps = self.own_transformers(&to.config)?;
        let others = &self.kustomization.transformers;
        if !others.is_empty() {
            steps.extend(self.plugin_transformers(others, "transformers", session)?);
        }
        for step in steps {
            let Step { transformer, origin, times, field, index } = step;
            to.resources.set_changing(self.entry(field, index, session));
            let transformed = transformer.transform(&mut to.resources, &session.schema);
            to.resources.set_changing(None);
            transformed.map_err(|failure| {
                let index = index.map(|index| index.to_string());
                let path: Vec<&str> = std::iter::once(field).chain(index.as_deref()).collect();
                self.kustomization.place(failure, &path)
            })?;
            if let Some(origin) = origin {
                for resource in to.resources.iter_mut_keeping_ids() {
                    for _ in 0..times {
                        origin.note_change_of(resource)?;
                    }
                }
            }
            to.resources.drop_empty();
        }
        Ok(())
    }

    /// The transformers of fields; reports all configuration errors.
    fn own_transformers(&self, config: &TransformerConfig) -> Result<Vec<Step>> {
        let origin = self.origin.as_ref();
        let mut steps = FieldSteps::new(&self.kustomization, &self.loader, config, origin);
        for field in FIELDS {
            field(&mut steps);
        }
        steps.finish()
    }
}
