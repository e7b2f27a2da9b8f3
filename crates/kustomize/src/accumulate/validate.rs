//! `validators`: transformers that must change nothing.

use super::{Accumulator, Session, Target};
use crate::failure::{Failure, Result};
use crate::openapi::Schema;
use crate::resource::Resource;
use crate::resources::Resources;

/// The one label a validator may set.
const VALIDATED_BY: &str = "validated-by";

impl Target<'_> {
    pub(super) fn validate(&self, to: &mut Accumulator, session: &mut Session) -> Result<()> {
        let paths = &self.kustomization.validators;
        if paths.is_empty() {
            return Ok(());
        }
        for validator in self.plugin_transformers(paths, "validators", session)? {
            let before = to.resources.clone();
            validator.transformer.transform(&mut to.resources, &session.schema)?;
            check_unchanged(before, &to.resources, &session.schema).map_err(|failure| {
                let words = "validator shouldn't modify the resource map";
                self.kustomization.place(failure.context(words), &["validators"])
            })?;
        }
        Ok(())
    }
}

fn check_unchanged(mut before: Resources, after: &Resources, schema: &Schema) -> Result<()> {
    if before.len() != after.len() {
        return Err(Failure::new("lists have different number of entries"));
    }
    for resource in after.iter() {
        let mut resource = resource.clone();
        remove_label(&mut resource)?;
        let id = resource.id(schema);
        let was = before.with_current_id(&id, schema);
        let was = was.first().and_then(|&index| before.get(index));
        let Some(was) = was else {
            return Err(Failure::new(format!("id in self missing from other; id: {id}")));
        };
        if was.node != resource.node {
            return Err(Failure::new("nodes unequal").about(id));
        }
    }
    Ok(())
}

fn remove_label(resource: &mut Resource) -> Result<()> {
    let mut labels = resource.labels();
    if labels.remove(VALIDATED_BY).is_some() {
        resource.set_labels(&labels)?;
    }
    Ok(())
}
