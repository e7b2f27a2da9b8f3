//! Objects under `generators`, `transformers` and `validators`: each configures a built-in one. Programs, containers
//! and Go plugins are errors.

use serde_json::Value;

use super::generate::Configured;
use super::{Accumulator, Session, Target, entries};
use crate::failure::{Failure, Result};
use crate::generators::Generator;
use crate::openapi::Schema;
use crate::origin::Origin;
use crate::read;
use crate::resource::Resource;
use crate::resources::Resources;
use crate::transformers::{self, Step, Transformer};

/// The configuration of one object.
enum Plugin {
    Generator(Box<Generator>),
    Transformer(Box<dyn Transformer>),
}

impl Target<'_> {
    pub(super) fn plugin_generators(&self, session: &mut Session) -> Result<Vec<Configured>> {
        let field = "generators";
        let configs = self.plugin_configs(&self.kustomization.generators, field, session);
        let configs = configs.map_err(|failure| failure.wrapped("loading generator plugins"))?;
        let mut all = Vec::new();
        for config in configs.iter() {
            let plugin = self.configure(config, &session.schema);
            let generator = match plugin.map_err(|failure| {
                let failure =
                    failure.wrapped("loading generator plugins: failed to load generator");
                self.kustomization.place(failure, &[field])
            })? {
                Plugin::Generator(generator) => *generator,
                Plugin::Transformer(_) => {
                    let id = config.original_id(&session.schema);
                    let failure = Failure::new(format!("plugin {id} not a generator"));
                    return Err(self.kustomization.place(failure, &[field]));
                }
            };
            let origin = Origin::of_configurer(config)?;
            all.push(Configured { generator, origin, field, index: None });
        }
        Ok(all)
    }

    pub(super) fn plugin_transformers(
        &self,
        paths: &[String],
        field: &'static str,
        session: &mut Session,
    ) -> Result<Vec<Step>> {
        let mut all = Vec::new();
        for config in self.plugin_configs(paths, field, session)?.iter() {
            let plugin = self.configure(config, &session.schema);
            let plugin = plugin.map_err(|failure| self.kustomization.place(failure, &[field]))?;
            let Plugin::Transformer(transformer) = plugin else {
                let id = config.original_id(&session.schema);
                let failure = Failure::new(format!("plugin {id} not a transformer"));
                return Err(self.kustomization.place(failure, &[field]));
            };
            let origin = Origin::of_configurer(config)?;
            all.push(Step { transformer, origin, times: 1, field, index: None });
        }
        Ok(all)
    }

    /// The objects of entries, which are paths or inline.
    fn plugin_configs(
        &self,
        list: &[String],
        field: &str,
        session: &mut Session,
    ) -> Result<Resources> {
        let mut all = Accumulator::default();
        let mut paths = Vec::new();
        for entry in list {
            let inline = read::read_resources(entry.as_bytes(), None)
                .and_then(|resources| entries::unique(resources, session));
            let Ok(mut inline) = inline else {
                paths.push(entry.clone());
                continue;
            };
            if let Some(origin) = &self.origin {
                let origin = origin.append(self.kustomization.file_name());
                for resource in inline.iter_mut_keeping_ids() {
                    origin.set_on(resource)?;
                }
            }
            all.resources.append_all(inline, &session.schema)?;
        }
        self.add_resources(&mut all, &paths, field, session)?;
        Ok(all.resources)
    }

    fn configure(&self, config: &Resource, schema: &Schema) -> Result<Plugin> {
        let (kind, id) = (config.kind(), config.original_id(schema));
        let place = |failure: Failure| match &config.file {
            Some(file) => failure.in_file_at(file, config.node.position),
            None => failure,
        };
        if config.api_version() != "builtin" {
            return Err(place(
                Failure::new(format!(
                    "external plugins disabled; unable to load external plugin '{}'",
                    id.gvk.kind
                ))
                .about(&id)
                .hint("only `apiVersion: builtin` is supported; programs are never run"),
            ));
        }
        let failed = |failure: Failure| {
            place(failure.wrapped(format_args!("plugin {id} fails configuration")).about(&id))
        };
        // kustomize passes the object as text, which is parsed again.
        let config_value: Value =
            config.node.marshal_json().map_err(|error| failed(error.into()))?;
        if let Some(generator) = Generator::from_config(kind, &config_value).map_err(failed)? {
            return Ok(Plugin::Generator(Box::new(generator)));
        }
        let transformer = transformers::from_config(kind, &config_value, &self.loader);
        transformer
            .map_err(failed)?
            .map(Plugin::Transformer)
            .ok_or_else(|| place(Failure::new(format!("unable to load builtin {}", config.gvk()))))
    }
}
