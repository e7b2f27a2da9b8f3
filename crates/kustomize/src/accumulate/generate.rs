//! Runs the generators of a kustomization: its ConfigMaps and Secrets, then those under `generators`.

use super::{Accumulator, Session, Target, absorb};
use crate::failure::{Failure, Gathered, Result};
use crate::generators::Generator;
use crate::origin::Origin;

/// A generator, and the position of its configuration.
pub(super) struct Configured {
    pub(super) generator: Generator,
    pub(super) origin: Option<Origin>,
    pub(super) field: &'static str,
    /// The index among the entries of the field, if each entry is one generator.
    pub(super) index: Option<usize>,
}

impl Target<'_> {
    pub(super) fn generate(&self, to: &mut Accumulator, session: &mut Session) -> Result<()> {
        let mut all = self.own_generators()?;
        all.extend(self.plugin_generators(session)?);
        let mut wrong = Gathered::default();
        for Configured { generator, origin, field, index } in all {
            let made = generator.generate(&self.loader).and_then(|mut made| {
                if let Some(origin) = origin {
                    origin.set_where_missing(&mut made)?;
                }
                if let Some(entry) = self.entry(field, index, session) {
                    made.made_by(entry);
                }
                absorb::absorb(&mut to.resources, made, &session.schema)
                    .map_err(|failure| failure.wrapped("merging from generator"))
            });
            wrong.take(made.map_err(|failure| {
                let index = index.map(|index| index.to_string());
                let path: Vec<&str> = std::iter::once(field).chain(index.as_deref()).collect();
                self.kustomization.place(failure, &path)
            }));
        }
        wrong.finish()
    }

    fn own_generators(&self) -> Result<Vec<Configured>> {
        let it = &self.kustomization;
        let options = it.generator_options.as_ref();
        let origin = |kind| {
            let origin = self.origin.as_ref();
            origin.map(|origin| origin.of_builtin(it.file_name(), kind))
        };
        let config_maps = it.config_maps.iter().enumerate().map(|(index, arguments)| Configured {
            generator: Generator::ConfigMap(arguments.clone().with_options(options)),
            origin: origin("ConfigMapGenerator"),
            field: "configMapGenerator",
            index: Some(index),
        });
        let secrets = it.secrets.iter().enumerate().map(|(index, (arguments, kind))| Configured {
            generator: Generator::Secret {
                arguments: arguments.clone().with_options(options),
                kind: kind.clone(),
            },
            origin: origin("SecretGenerator"),
            field: "secretGenerator",
            index: Some(index),
        });
        let all = config_maps.chain(secrets).collect();
        if it.has_helm_charts {
            let failure = Failure::new("must specify --enable-helm")
                .wrapped("trouble configuring builtin HelmChartInflationGenerator")
                .hint(
                    "charts are not inflated here; use a HelmRelease, or inflate the chart before",
                );
            return Err(it.place(failure, &["helmCharts"]));
        }
        Ok(all)
    }
}
