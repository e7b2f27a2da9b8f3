//! Runs the transformers of a kustomization: those of its fields, in kustomize's order, then those under
//! `transformers`.

use super::{Accumulator, Session, Target};
use crate::config::TransformerConfig;
use crate::failure::{Gathered, Result};
use crate::origin::Origin;
use crate::transformers::{
    Affix, Annotations, Images, Labels, Namespace, Patch, PatchJson6902, PatchStrategicMerge,
    Replacements, Replicas, Side, Transformer,
};

/// One transformer, and the position of its configuration.
pub(super) struct Step {
    pub(super) transformer: Box<dyn Transformer>,
    pub(super) origin: Option<Origin>,
    /// The number of kustomize's transformers that it replaces.
    pub(super) times: usize,
    pub(super) field: &'static str,
    /// The index among the entries of the field, if each entry is one transformer.
    pub(super) index: Option<usize>,
}

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
        let it = &self.kustomization;
        let mut steps = Steps { target: self, list: Vec::new(), wrong: Gathered::default() };
        let files = &self.loader;
        if !it.patches_strategic_merge.is_empty() {
            let made = PatchStrategicMerge::new(&it.patches_strategic_merge, files);
            steps.add("PatchStrategicMergeTransformer", "patchesStrategicMerge", None, made);
        }
        for (index, patch) in it.patches.iter().enumerate() {
            let made = Patch::new(patch.clone(), files);
            steps.add("PatchTransformer", "patches", Some(index), made);
        }
        if !it.namespace.is_empty() {
            let made = Namespace::new(it.namespace.clone(), config.namespace.clone());
            steps.add("NamespaceTransformer", "namespace", None, Ok(made));
        }
        if !it.name_prefix.is_empty() {
            let made = Affix::new(Side::Prefix, it.name_prefix.clone(), config.name_prefix.clone());
            steps.add("PrefixTransformer", "namePrefix", None, Ok(made));
        }
        if !it.name_suffix.is_empty() {
            let made = Affix::new(Side::Suffix, it.name_suffix.clone(), config.name_suffix.clone());
            steps.add("SuffixTransformer", "nameSuffix", None, Ok(made));
        }
        for (index, label) in it.labels.iter().enumerate() {
            let made = Labels::of_entry(label.pairs.clone(), &label.wanted, config);
            steps.add("LabelTransformer", "labels", Some(index), made);
        }
        if !it.labels.is_empty() || !it.common_labels.is_empty() {
            let made = Labels::new(it.common_labels.clone(), config.common_labels.clone());
            steps.add("LabelTransformer", "commonLabels", None, Ok(made));
        }
        if !it.common_annotations.is_empty() {
            let specs = config.common_annotations.clone();
            let made = Annotations::new(it.common_annotations.clone(), specs);
            steps.add("AnnotationsTransformer", "commonAnnotations", None, Ok(made));
        }
        for (index, patch) in it.patches_json6902.iter().enumerate() {
            let target = patch.target.clone();
            let made = PatchJson6902::new(target, &patch.path, &patch.patch, files);
            steps.add("PatchJson6902Transformer", "patchesJson6902", Some(index), made);
        }
        for (index, replica) in it.replicas.iter().enumerate() {
            let made = Replicas::new(replica.clone(), config.replicas.clone());
            steps.add("ReplicaCountTransformer", "replicas", Some(index), Ok(made));
        }
        if !it.images.is_empty() {
            let made = Images::new(it.images.clone(), config.images.clone());
            steps.add("ImageTagTransformer", "images", None, made);
            steps.repeat_last(it.images.len());
        }
        if !it.replacements.is_empty() {
            let made = Replacements::new(&it.replacements, &self.loader);
            steps.add("ReplacementTransformer", "replacements", None, made);
        }
        steps.wrong.finish()?;
        Ok(steps.list)
    }
}

/// The list of transformers under construction.
struct Steps<'a, 't> {
    target: &'a Target<'t>,
    list: Vec<Step>,
    wrong: Gathered,
}

impl Steps<'_, '_> {
    fn add<T: Transformer + 'static>(
        &mut self,
        kind: &str,
        field: &'static str,
        index: Option<usize>,
        made: Result<T>,
    ) {
        let it = &self.target.kustomization;
        let made = made.map_err(|failure| {
            let index = index.map(|index| index.to_string());
            let path: Vec<&str> = std::iter::once(field).chain(index.as_deref()).collect();
            it.place(failure.wrapped(format_args!("trouble configuring builtin {kind}")), &path)
        });
        let Some(made) = self.wrong.take(made) else { return };
        let origin = self.target.origin.as_ref();
        let origin = origin.map(|origin| origin.of_builtin(it.file_name(), kind));
        self.list.push(Step { transformer: Box::new(made), origin, times: 1, field, index });
    }

    fn repeat_last(&mut self, times: usize) {
        if let Some(step) = self.list.last_mut() {
            step.times = times;
        }
    }
}
