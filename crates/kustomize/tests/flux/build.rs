//! The Flux build as a whole: where its objects are written, and what it needs from outside.

use sluice_base::need::{Need, Step};
use sluice_kustomize::flux::{
    BuildError, Built, Inputs, Missing, Overrides, Purpose, Spec, Stage, Strategy, Variables, build,
};
use sluice_kustomize::{Answers, MemoryTree, RemoteFiles};

const DEPLOY: &str = "# The web server.\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  template:\n    spec:\n      containers:\n      - {name: c, image: web:1}\n";

/// A repository with a base, a component and an overlay that patches what they give.
const FILES: &[(&str, &str)] = &[
    ("base/deploy.yaml", DEPLOY),
    (
        "base/kustomization.yaml",
        "resources: [deploy.yaml, two.yaml]\nconfigMapGenerator:\n- name: one\n  literals: [a=b]\n- name: settings\n  literals: [a=b]\n",
    ),
    (
        "base/two.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n---\n\napiVersion: v1\nkind: Service\nmetadata: {name: other}\n",
    ),
    (
        "components/ha/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- path: replicas.yaml\n",
    ),
    (
        "components/ha/replicas.yaml",
        "\n\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3}\n",
    ),
    (
        "apps/web/kustomization.yaml",
        "# Production.\nresources: [../../base]\n\nconfigMapGenerator:\n- name: settings\n  behavior: merge\n  literals: [c=d]\npatches:\n- patch: |\n    apiVersion: v1\n    kind: Service\n    metadata: {name: other}\n    spec: {type: NodePort}\n",
    ),
];

fn tree(more: &[(&str, &str)]) -> MemoryTree {
    let mut tree = MemoryTree::default();
    for (path, content) in FILES.iter().chain(more) {
        tree.insert(format!("/src/{path}"), *content);
    }
    tree
}

fn run(tree: &MemoryTree, spec: &Spec, answers: &Answers) -> Result<Step<Built>, BuildError> {
    let inputs = Inputs {
        spec,
        tree,
        root: "/src",
        directory: "/src/apps/web",
        ignore: None,
        remote: Some(answers),
        remote_files: RemoteFiles::Everywhere,
        variables: Ok(&Variables::default()),
        missing: Missing::Error,
        purpose: Purpose::Apply,
    };
    build(&inputs, None)
}

/// Kind, name and place of each object.
fn places(tree: &MemoryTree, spec: &Spec, answers: &Answers) -> Vec<String> {
    let Ok(Step::Done(built)) = run(tree, spec, answers) else { panic!("it is built") };
    let line = |object: &sluice_kustomize::flux::BuiltObject| {
        let name = object.value["metadata"]["name"].as_str().unwrap_or_default();
        let name = name.split_once('-').map_or(name, |(name, _)| name);
        let place = object.place.as_ref().map(ToString::to_string).unwrap_or_default();
        format!("{}/{name} {place}", object.value["kind"].as_str().unwrap_or_default())
    };
    built.objects.iter().map(line).collect()
}

#[test]
fn objects_are_placed_in_bases_components_patches_and_generators() {
    let mut overrides =
        Overrides { components: vec!["../../components/ha".to_owned()], ..Overrides::default() };
    let spec = Spec { overrides: overrides.clone(), ..Spec::default() };
    let answers = Answers::default();
    assert_eq!(
        places(&tree(&[]), &spec, &answers),
        [
            "Deployment/web base/deploy.yaml:2, patched by components/ha/replicas.yaml:3",
            "Service/web base/two.yaml:1",
            "Service/other base/two.yaml:6, patched by apps/web/kustomization.yaml:9",
            "ConfigMap/one base/kustomization.yaml:3",
            "ConfigMap/settings base/kustomization.yaml:5, patched by apps/web/kustomization.yaml:5",
        ]
    );
    // What the spec adds has no file; what comes last is named.
    overrides.patches = serde_json::from_value(serde_json::json!([{
        "patch": "- {op: add, path: /metadata/labels, value: {a: b}}", "target": {"kind": "Service"},
    }]))
    .expect("patches of a spec");
    overrides.images = serde_json::from_value(serde_json::json!([{"name": "web", "newTag": "2"}]))
        .expect("images of a spec");
    let spec = Spec { overrides, ..Spec::default() };
    assert_eq!(
        places(&tree(&[]), &spec, &answers)[..3],
        [
            "Deployment/web base/deploy.yaml:2, patched by spec.images",
            "Service/web base/two.yaml:1, patched by spec.patches[0]",
            "Service/other base/two.yaml:6, patched by spec.patches[0]",
        ]
    );
}

#[test]
fn failures_are_placed_in_the_files_of_the_source() {
    let spec = Spec::default();
    let broken = [("base/two.yaml", "apiVersion: v1\nkind: Service\nmetadata: [\n")];
    let missing = [("apps/web/kustomization.yaml", "resources:\n- ../../base\n- none.yaml\n")];
    let unmatched = [
        ("apps/web/kustomization.yaml", "\n\nresources: [../../base]\npatches:\n- path: a.yaml\n"),
        ("apps/web/a.yaml", "---\napiVersion: v1\nkind: Service\nmetadata: {name: nobody}\n"),
    ];
    for (files, stage, place) in [
        (&broken[..], Stage::Kustomize, "base/two.yaml:3"),
        (&missing[..], Stage::Kustomize, "apps/web/kustomization.yaml:3"),
        (&unmatched[..], Stage::Kustomize, "apps/web/a.yaml:2"),
    ] {
        let error = run(&tree(files), &spec, &Answers::default()).err().expect("it is wrong");
        let places: Vec<String> = error.places().iter().map(ToString::to_string).collect();
        assert_eq!((error.stage, places), (stage, vec![place.to_owned()]), "{error}");
        assert!(!error.to_string().contains("/src"), "{error}");
    }
    let spec = Spec { substitution: Some(Strategy::Always), ..Spec::default() };
    let variable = [("base/deploy.yaml", DEPLOY.replace("web:1", "'web:${tag}'"))];
    let variable = [(variable[0].0, variable[0].1.as_str())];
    let error = run(&tree(&variable), &spec, &Answers::default()).err().expect("it has no value");
    assert_eq!(error.stage, Stage::Substitute);
    assert_eq!(error.places()[0].to_string(), "base/deploy.yaml:2");
    assert!(error.to_string().starts_with("post build failed for 'Deployment.v1.apps/web': "));
}

#[test]
fn what_is_on_other_machines_is_needed_first_and_then_placed() {
    let files = [(
        "apps/web/kustomization.yaml",
        "resources:\n- https://files.test/a.yaml\n- https://git.test/org/repo//base?ref=v1\n",
    )];
    let (tree, spec) = (tree(&files), Spec::default());
    let mut answers = Answers::default();
    let Ok(Step::Needs(needs)) = run(&tree, &spec, &answers) else { panic!("it needs answers") };
    let mut is_repository = false;
    for need in needs {
        match need {
            Need::File(url) => {
                let found = url == "https://files.test/a.yaml";
                let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
                let refused = sluice_kustomize::RemoteError::Status("404 (Not Found)".to_owned());
                let answer = if found { Ok(object.into()) } else { Err(refused) };
                answers.files.insert(url, answer);
            }
            Need::Repository(wanted) => {
                assert_eq!((&*wanted.url, &*wanted.reference), ("https://git.test/org/repo", "v1"));
                let mut base = MemoryTree::default();
                base.insert("/base/kustomization.yaml", "resources: [b.yaml]\n");
                base.insert(
                    "/base/b.yaml",
                    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n",
                );
                answers.repositories.insert(wanted, Ok(std::sync::Arc::new(base)));
                is_repository = true;
            }
            Need::DataKey(key) => panic!("{key:?} is not needed"),
        }
    }
    assert!(is_repository);
    assert_eq!(
        places(&tree, &spec, &answers),
        [
            "ConfigMap/a https://files.test/a.yaml:1",
            "ConfigMap/b https://git.test/org/repo//base/b.yaml:1",
        ]
    );
}
