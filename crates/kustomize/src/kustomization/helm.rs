//! Fields for Helm charts: decoded strictly, so that misspelt ones are reported, but charts are never
//! inflated.

use crate::decode::Fields;
use crate::failure::Result;

const TEXTS: [&str; 9] = [
    "name",
    "version",
    "repo",
    "releaseName",
    "namespace",
    "valuesFile",
    "valuesMerge",
    "kubeVersion",
    "nameTemplate",
];
const FLAGS: [&str; 5] = ["includeCRDs", "skipHooks", "skipTests", "debug", "devel"];
const LISTS: [&str; 2] = ["additionalValuesFiles", "apiVersions"];
const OLD_TEXTS: [&str; 11] = [
    "chartName",
    "chartVersion",
    "chartRepoUrl",
    "chartHome",
    "chartRepoName",
    "helmBin",
    "helmHome",
    "values",
    "valuesMerge",
    "releaseName",
    "releaseNamespace",
];

/// Whether the kustomization has charts to inflate.
pub(super) fn has_charts(fields: &Fields<'_>) -> Result<bool> {
    fields.object("helmGlobals", "HelmGlobals", |globals| {
        globals.text("chartHome")?;
        globals.text("configHome").map(drop)
    })?;
    let charts = fields.objects("helmCharts", "HelmChart", |chart| {
        for name in TEXTS {
            chart.text(name)?;
        }
        for name in FLAGS {
            chart.flag(name)?;
        }
        for name in LISTS {
            chart.texts(name)?;
        }
        chart.any("valuesInline");
        Ok(())
    });
    let old = fields.objects("helmChartInflationGenerator", "HelmChartArgs", |chart| {
        for name in OLD_TEXTS {
            chart.text(name)?;
        }
        chart.texts("extraArgs")?;
        chart.any("valuesLocal");
        Ok(())
    });
    Ok(!charts?.is_empty() || !old?.is_empty())
}
