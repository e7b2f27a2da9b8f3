//! The fields of a kustomization file, as kustomize 5.8.1's Go types have them.

use super::shape::Shape::{
    AnyMap, Flag, Integer, List, NamedText, OptionalText, Pointer, Struct as Inline, Text, TextMap,
};
use super::shape::{Field, Shape, Struct};

const TEXTS: Shape = List(&Text);

macro_rules! structure {
    ($constant:ident, $name:literal, [$($field:expr),* $(,)?]) => {
        pub(super) static $constant: Struct = Struct { name: $name, fields: &[$($field),*] };
    };
}

const fn field(name: &'static str, shape: Shape) -> Field {
    Field::new(name, shape)
}

structure!(
    KUSTOMIZATION,
    "Kustomization",
    [
        field("kind", Text).through("TypeMeta."),
        field("apiVersion", Text).through("TypeMeta."),
        field("metadata", Pointer(&METADATA)),
        field("openapi", TextMap),
        field("namePrefix", Text),
        field("nameSuffix", Text),
        field("namespace", Text),
        field("commonLabels", TextMap),
        field("labels", List(&Inline(&LABEL))),
        field("commonAnnotations", TextMap),
        field("patchesStrategicMerge", List(&NamedText("types.PatchStrategicMerge"))),
        field("patchesJson6902", List(&Inline(&PATCH))),
        field("patches", List(&Inline(&PATCH))),
        field("images", List(&Inline(&IMAGE))),
        field("imageTags", List(&Inline(&IMAGE))),
        field("replacements", List(&Inline(&REPLACEMENT))),
        field("replicas", List(&Inline(&REPLICA))),
        field("vars", List(&Inline(&VAR))),
        field("sortOptions", Pointer(&SORT_OPTIONS)),
        field("resources", TEXTS),
        field("components", TEXTS),
        field("crds", TEXTS),
        field("bases", TEXTS),
        field("configMapGenerator", List(&Inline(&CONFIG_MAP))),
        field("secretGenerator", List(&Inline(&SECRET))),
        field("helmGlobals", Pointer(&HELM_GLOBALS)),
        field("helmCharts", List(&Inline(&HELM_CHART))),
        field("helmChartInflationGenerator", List(&Inline(&HELM_INFLATION))),
        field("generatorOptions", Pointer(&GENERATOR_OPTIONS)),
        field("configurations", TEXTS),
        field("generators", TEXTS),
        field("transformers", TEXTS),
        field("validators", TEXTS),
        field("buildMetadata", TEXTS),
    ]
);

structure!(
    METADATA,
    "ObjectMeta",
    [
        field("name", Text),
        field("namespace", Text),
        field("labels", TextMap),
        field("annotations", TextMap),
    ]
);

structure!(
    LABEL,
    "Label",
    [
        field("pairs", TextMap),
        field("includeSelectors", Flag),
        field("includeTemplates", Flag),
        field("fields", List(&Inline(&FIELD_SPEC))),
    ]
);

structure!(
    FIELD_SPEC,
    "FieldSpec",
    [
        field("group", Text).through("Gvk."),
        field("version", Text).through("Gvk."),
        field("kind", Text).through("Gvk."),
        field("path", Text),
        field("create", Flag),
    ]
);

structure!(
    PATCH,
    "Patch",
    [
        field("path", Text),
        field("patch", Text),
        field("target", Pointer(&SELECTOR)),
        field("options", Pointer(&PATCH_OPTIONS)),
    ]
);

structure!(
    PATCH_OPTIONS,
    "PatchArgs",
    [field("allowNameChange", Flag), field("allowKindChange", Flag)]
);

structure!(
    SELECTOR,
    "Selector",
    [
        field("group", Text).through("ResId.Gvk."),
        field("version", Text).through("ResId.Gvk."),
        field("kind", Text).through("ResId.Gvk."),
        field("name", Text).through("ResId."),
        field("namespace", Text).through("ResId."),
        field("annotationSelector", Text),
        field("labelSelector", Text),
    ]
);

structure!(
    IMAGE,
    "Image",
    [
        field("name", Text),
        field("newName", Text),
        field("tagSuffix", Text),
        field("newTag", Text),
        field("digest", Text),
    ]
);

structure!(
    REPLACEMENT,
    "ReplacementField",
    [
        field("source", Pointer(&SOURCE)).through("Replacement."),
        field("targets", List(&Pointer(&TARGET))).through("Replacement."),
        field("sourceValue", OptionalText).through("Replacement."),
        field("path", Text),
    ]
);

structure!(
    SOURCE,
    "SourceSelector",
    [
        field("group", Text).through("ResId.Gvk."),
        field("version", Text).through("ResId.Gvk."),
        field("kind", Text).through("ResId.Gvk."),
        field("name", Text).through("ResId."),
        field("namespace", Text).through("ResId."),
        field("fieldPath", Text),
        field("options", Pointer(&FIELD_OPTIONS)),
    ]
);

structure!(
    TARGET,
    "TargetSelector",
    [
        field("select", Pointer(&SELECTOR)).always(),
        field("reject", List(&Pointer(&SELECTOR))),
        field("fieldPaths", TEXTS),
        field("options", Pointer(&FIELD_OPTIONS)),
    ]
);

structure!(
    FIELD_OPTIONS,
    "FieldOptions",
    [
        field("delimiter", Text),
        field("index", Integer("int")),
        field("encoding", Text),
        field("create", Flag),
    ]
);

structure!(REPLICA, "Replica", [field("name", Text), field("count", Integer("int64")).always()]);

structure!(
    VAR,
    "Var",
    [
        field("name", Text).always(),
        field("objref", Inline(&VAR_TARGET)).always(),
        field("fieldref", Inline(&FIELD_REF)).always(),
    ]
);

structure!(
    VAR_TARGET,
    "Target",
    [
        field("apiVersion", Text),
        field("group", Text).through("Gvk."),
        field("version", Text).through("Gvk."),
        field("kind", Text).through("Gvk."),
        field("name", Text).always(),
        field("namespace", Text),
    ]
);

structure!(FIELD_REF, "FieldSelector", [field("fieldPath", Text)]);

structure!(
    SORT_OPTIONS,
    "SortOptions",
    [
        field("order", NamedText("types.SortOrder")),
        field("legacySortOptions", Pointer(&LEGACY_SORT)),
    ]
);

structure!(
    LEGACY_SORT,
    "LegacySortOptions",
    [field("orderFirst", TEXTS).always(), field("orderLast", TEXTS).always(),]
);

structure!(
    CONFIG_MAP,
    "ConfigMapArgs",
    [
        field("namespace", Text).through("GeneratorArgs."),
        field("name", Text).through("GeneratorArgs."),
        field("behavior", Text).through("GeneratorArgs."),
        field("literals", TEXTS).through("GeneratorArgs.KvPairSources."),
        field("files", TEXTS).through("GeneratorArgs.KvPairSources."),
        field("envs", TEXTS).through("GeneratorArgs.KvPairSources."),
        field("env", Text).through("GeneratorArgs.KvPairSources."),
        field("options", Pointer(&GENERATOR_OPTIONS)).through("GeneratorArgs."),
    ]
);

structure!(
    SECRET,
    "SecretArgs",
    [
        field("namespace", Text).through("GeneratorArgs."),
        field("name", Text).through("GeneratorArgs."),
        field("behavior", Text).through("GeneratorArgs."),
        field("literals", TEXTS).through("GeneratorArgs.KvPairSources."),
        field("files", TEXTS).through("GeneratorArgs.KvPairSources."),
        field("envs", TEXTS).through("GeneratorArgs.KvPairSources."),
        field("env", Text).through("GeneratorArgs.KvPairSources."),
        field("options", Pointer(&GENERATOR_OPTIONS)).through("GeneratorArgs."),
        field("type", Text),
    ]
);

structure!(
    GENERATOR_OPTIONS,
    "GeneratorOptions",
    [
        field("labels", TextMap),
        field("annotations", TextMap),
        field("disableNameSuffixHash", Flag),
        field("immutable", Flag),
    ]
);

structure!(HELM_GLOBALS, "HelmGlobals", [field("chartHome", Text), field("configHome", Text)]);

structure!(
    HELM_CHART,
    "HelmChart",
    [
        field("name", Text),
        field("version", Text),
        field("repo", Text),
        field("releaseName", Text),
        field("namespace", Text),
        field("additionalValuesFiles", TEXTS),
        field("valuesFile", Text),
        field("valuesInline", AnyMap),
        field("valuesMerge", Text),
        field("includeCRDs", Flag),
        field("skipHooks", Flag),
        field("apiVersions", TEXTS),
        field("kubeVersion", Text),
        field("nameTemplate", Text),
        field("skipTests", Flag),
        field("debug", Flag),
        field("devel", Flag),
    ]
);

structure!(
    HELM_INFLATION,
    "HelmChartArgs",
    [
        field("chartName", Text),
        field("chartVersion", Text),
        field("chartRepoUrl", Text),
        field("chartHome", Text),
        field("chartRepoName", Text),
        field("helmBin", Text),
        field("helmHome", Text),
        field("values", Text),
        field("valuesLocal", AnyMap),
        field("valuesMerge", Text),
        field("releaseName", Text),
        field("releaseNamespace", Text),
        field("extraArgs", TEXTS),
    ]
);
