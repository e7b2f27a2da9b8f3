//! Kustomization files, good and bad.

use super::Kustomization;

fn read(text: &str) -> Result<Kustomization, Vec<String>> {
    let read = Kustomization::read(text.as_bytes(), "/app", "kustomization.yaml");
    let read = read.and_then(|mut read| read.faults.take().map_or(Ok(read), Err));
    read.map_err(|failure| failure.diagnostics().map(ToString::to_string).collect())
}

#[test]
fn names_match_whatever_their_case_and_older_ones_are_moved() {
    let read = read(
        "NAMEPREFIX: a-\nbases: [b]\nresources: [a]\nimageTags: [{name: x}]\n\
         configMapGenerator: [{name: c, env: e, envs: [d]}]\nmetadata: {name: any}\n",
    )
    .unwrap();
    assert_eq!(read.name_prefix, "a-");
    assert_eq!(read.resources, ["a", "b"]);
    assert_eq!(read.images.len(), 1);
    assert_eq!(read.config_maps[0].envs, ["d", "e"]);
    assert_eq!(read.kind, "Kustomization");
    let warnings: Vec<String> = read.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "/app/kustomization.yaml:2:1: 'bases' is deprecated. Please use 'resources' instead. Run \
             'kustomize edit fix' to update your Kustomization automatically.",
            "/app/kustomization.yaml:4:1: 'imageTags' is deprecated. Please use 'images' instead. Run \
             'kustomize edit fix' to update your Kustomization automatically.",
        ]
    );
}

#[test]
fn everything_that_is_wrong_is_told_with_its_place() {
    let text = "namePrefix: 1\nresourcs: [a]\npatches:\n- path: a\n  targt: {}\n- path: b\n  \
                target: {kind: [x]}\nresources: [a, {b: c}]\n";
    let at = |place: &str, message: &str| {
        format!("/app/kustomization.yaml:{place}: invalid Kustomization: json: {message}")
    };
    let wrong = [
        at(
            "1:13",
            "cannot unmarshal number into Go struct field Kustomization.namePrefix of type string",
        ),
        at("5:3", "unknown field \"targt\""),
        at("7:18", "cannot unmarshal array into Go struct field Selector.kind of type string"),
        at(
            "8:16",
            "cannot unmarshal object into Go struct field Kustomization.resources of type string",
        ),
        at("2:1", "unknown field \"resourcs\""),
    ];
    assert_eq!(read(text).expect_err("five mistakes"), wrong);
}

#[test]
fn a_file_that_says_nothing_is_refused() {
    for text in ["", "kind: Kustomization\n", "bases: []\n", "namePrefix: \"\"\n", "resources:\n"] {
        let wrong = read(text).expect_err(text);
        assert_eq!(wrong, ["/app/kustomization.yaml: kustomization.yaml is empty"], "{text}");
    }
    for text in ["resources: []\n", "metadata: {}\n", "commonLabels: {}\n"] {
        assert!(read(text).is_ok(), "{text}");
    }
}

#[test]
fn kind_and_version_go_together() {
    assert!(read("kind: Component\nresources: [a]\n").unwrap().is_component());
    let wrong = read("kind: Deployment\napiVersion: apps/v1\nresources: [a]\n").expect_err("both");
    let under = "Failed to read kustomization file under /app:\n";
    assert_eq!(
        wrong,
        [
            format!(
                "/app/kustomization.yaml:1:1: {under}kind should be Kustomization or Component"
            ),
            format!(
                "/app/kustomization.yaml:2:1: {under}apiVersion for Deployment should be \
                 kustomize.config.k8s.io/v1beta1"
            ),
        ]
    );
}

#[test]
fn charts_are_noticed_and_their_fields_are_checked() {
    assert!(read("helmCharts: [{name: a, valuesInline: {x: 1}}]\n").unwrap().has_helm_charts);
    assert!(read("helmChartInflationGenerator: [{chartName: a}]\n").unwrap().has_helm_charts);
    assert!(read("helmCharts: [{nme: a}]\n").is_err());
}
