//! From the fields of a kustomization file to transformers.
//!
//! Each transformer with a field has a function that looks at the file and adds its steps; `transformers.rs` lists
//! these functions in the order in which kustomize runs them.

use super::{Load, Transformer};
use crate::config::TransformerConfig;
use crate::failure::{Gathered, Result};
use crate::kustomization::Kustomization;
use crate::origin::Origin;

/// One transformer, and the position of its configuration.
pub(crate) struct Step {
    pub(crate) transformer: Box<dyn Transformer>,
    pub(crate) origin: Option<Origin>,
    /// The number of kustomize's transformers that it replaces.
    pub(crate) times: usize,
    pub(crate) field: &'static str,
    /// The index among the entries of the field, if each entry is one transformer.
    pub(crate) index: Option<usize>,
}

/// A kustomization file, what its fields refer to, and the steps that they make.
pub(crate) struct FieldSteps<'a> {
    pub(crate) kustomization: &'a Kustomization,
    pub(crate) files: &'a dyn Load,
    pub(crate) config: &'a TransformerConfig,
    pub(crate) origin: Option<&'a Origin>,
    list: Vec<Step>,
    wrong: Gathered,
}

impl<'a> FieldSteps<'a> {
    pub(crate) fn new(
        kustomization: &'a Kustomization,
        files: &'a dyn Load,
        config: &'a TransformerConfig,
        origin: Option<&'a Origin>,
    ) -> Self {
        let (list, wrong) = (Vec::new(), Gathered::default());
        Self { kustomization, files, config, origin, list, wrong }
    }

    /// Adds the transformer of a field, or of one entry of it; what is wrong with its configuration is gathered.
    pub(super) fn add<T: Transformer + 'static>(
        &mut self,
        kind: &str,
        field: &'static str,
        index: Option<usize>,
        made: Result<T>,
    ) {
        let it = self.kustomization;
        let made = made.map_err(|failure| {
            let index = index.map(|index| index.to_string());
            let path: Vec<&str> = std::iter::once(field).chain(index.as_deref()).collect();
            it.place(failure.wrapped(format_args!("trouble configuring builtin {kind}")), &path)
        });
        let Some(made) = self.wrong.take(made) else { return };
        let origin = self.origin.map(|origin| origin.of_builtin(it.file_name(), kind));
        self.list.push(Step { transformer: Box::new(made), origin, times: 1, field, index });
    }

    /// The step that was added last stands for several of kustomize's.
    pub(super) fn repeat_last(&mut self, times: usize) {
        if let Some(step) = self.list.last_mut() {
            step.times = times;
        }
    }

    /// The steps, or everything that is wrong.
    pub(crate) fn finish(self) -> Result<Vec<Step>> {
        self.wrong.finish()?;
        Ok(self.list)
    }
}
