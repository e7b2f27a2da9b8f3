//! Builds as a caller sees them: errors, files that are read, results that do not depend on threads.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Mutex;

use sluice_kustomize::{Build, Entry, Failure, FileTree, MemoryTree, Options, TreeError, build};

fn tree(files: &[(&str, &str)]) -> MemoryTree {
    let mut tree = MemoryTree::default();
    for (path, content) in files {
        tree.insert(*path, *content);
    }
    tree
}

fn built(files: &[(&str, &str)]) -> Result<Build, Failure> {
    build(&tree(files), "/app", &Options::default())
}

fn causes(files: &[(&str, &str)]) -> Vec<String> {
    let failure = built(files).expect_err("something is wrong");
    failure.diagnostics().map(ToString::to_string).collect()
}

fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n")
}

#[test]
fn everything_that_is_missing_is_told_at_once() {
    let files = [
        ("/app/kustomization.yaml", "resources:\n- a.yaml\n- base\n- b.yaml\n"),
        ("/app/base/kustomization.yaml", "resources:\n- broken.yaml\n"),
        ("/app/base/broken.yaml", "kind: [\n"),
    ];
    let missing = |path: &str| {
        format!(
            "must build at directory: not a valid directory: evalsymlink failure on '{path}' : lstat \
             {path}: no such file or directory"
        )
    };
    assert_eq!(
        causes(&files),
        [
            format!("/app/kustomization.yaml:2:3: {}", missing("/app/a.yaml")),
            "/app/base/broken.yaml:1:1: MalformedYAMLError: yaml: line 1: did not find expected node \
             content"
                .to_owned(),
            format!("/app/kustomization.yaml:4:3: {}", missing("/app/b.yaml")),
        ]
    );
}

#[test]
fn an_unknown_field_hides_nothing_else() {
    let files = [
        ("/app/kustomization.yaml", "resourcs: [x]\nresources:\n- gone.yaml\n- base\n- bad.yaml\n"),
        ("/app/base/kustomization.yaml", "namePrefx: a\nresources: [broken.yaml]\n"),
        ("/app/base/broken.yaml", "kind: [\n"),
        ("/app/bad.yaml", "a: b\n"),
    ];
    let failure = built(&files).expect_err("five mistakes");
    let first = failure.diagnostics().next().expect("a cause");
    assert_eq!(
        first.original_message(),
        "invalid Kustomization: json: unknown field \"resourcs\"",
        "kustomize's own words come first"
    );
    let places: Vec<String> = failure
        .diagnostics()
        .map(|cause| {
            let line = cause.position.map_or(0, |position| position.line);
            format!("{}:{line}", cause.file.as_deref().unwrap_or_default())
        })
        .collect();
    let expected = [
        "/app/kustomization.yaml:1",
        "/app/kustomization.yaml:3",
        "/app/base/kustomization.yaml:1",
        "/app/base/broken.yaml:1",
        "/app/bad.yaml:1",
    ];
    assert_eq!(places, expected, "{failure}");
}

#[test]
fn a_file_out_of_reach_is_told_as_such() {
    let map = config_map("map");
    let files = [("/app/kustomization.yaml", "resources: [../map.yaml]\n"), ("/map.yaml", &map)];
    assert_eq!(
        causes(&files),
        ["/app/kustomization.yaml:1:13: security; file '/map.yaml' is not in or below '/app'"]
    );
}

#[test]
fn what_lies_on_another_machine_is_not_called_missing() {
    let files = [("/app/kustomization.yaml", "resources: [https://example.com/x.yaml]\n")];
    let causes = causes(&files);
    assert_eq!(causes.len(), 1);
    assert!(causes[0].contains("remote files are off"), "{causes:?}");
}

#[test]
fn a_failure_knows_how_the_original_tells_it() {
    let web = config_map("web");
    let files = [
        ("/app/kustomization.yaml", "components: [c]\nresources: [web.yaml]\n"),
        ("/app/web.yaml", web.as_str()),
        ("/app/c/kustomization.yaml", "kind: Component\nresources: [web.yaml]\n"),
        ("/app/c/web.yaml", web.as_str()),
    ];
    let failure = built(&files).expect_err("twice the same");
    let cause = failure.diagnostics().next().expect("there is a cause");
    assert_eq!(
        cause.to_string(),
        "/app/c/web.yaml:1:1: may not add resource with an already registered id: \
         ConfigMap.v1.[noGrp]/web.[noNs]"
    );
    assert_eq!(cause.through, ["/app/c"]);
    assert_eq!(
        cause.original_message(),
        "accumulating components: accumulateDirectory: \"recursed accumulation of path '/app/c': \
         accumulating resources: accumulation err='merging resources from 'web.yaml': may not add \
         resource with an already registered id: ConfigMap.v1.[noGrp]/web.[noNs]': must build at \
         directory: '/app/c/web.yaml': file is not directory\""
    );
}

#[test]
fn validators_may_look_but_not_change() {
    let web = config_map("web");
    let validator = |labels: &str| {
        format!(
            "apiVersion: builtin\nkind: LabelTransformer\nmetadata: {{name: v}}\nlabels: {labels}\n\
             fieldSpecs: [{{path: metadata/labels, create: true}}]\n"
        )
    };
    let run = |labels: &str| {
        built(&[
            ("/app/kustomization.yaml", "validators: [v.yaml]\nresources: [web.yaml]\n"),
            ("/app/web.yaml", &web),
            ("/app/v.yaml", &validator(labels)),
        ])
    };
    assert!(run("{validated-by: me}").is_ok(), "this label tells who looked");
    assert!(run("{}").is_ok());
    let failure = run("{a: b}").expect_err("it changes").to_string();
    assert!(failure.contains("validator shouldn't modify the resource map"), "{failure}");
}

#[test]
fn definitions_of_custom_kinds_say_which_fields_hold_names() {
    let bee = "apiVersion: x/v1\nkind: Bee\nmetadata: {name: bee}\nspec: {mapRef: {name: web}}\n";
    let definitions = "org.Bee:\n  Schema:\n    properties:\n      apiVersion: {}\n      kind: {}\n      \
                       metadata: {}\n      spec: {$ref: org.BeeSpec}\norg.BeeSpec:\n  Schema:\n    \
                       properties:\n      mapRef:\n        x-kubernetes-object-ref-api-version: v1\n        \
                       x-kubernetes-object-ref-kind: ConfigMap\n";
    let web = config_map("web");
    let kustomization = "namePrefix: a-\ncrds: [crds.yaml]\nresources: [web.yaml, bee.yaml]\n";
    let files = [
        ("/app/kustomization.yaml", kustomization),
        ("/app/crds.yaml", definitions),
        ("/app/web.yaml", web.as_str()),
        ("/app/bee.yaml", bee),
    ];
    let text = built(&files).expect("it builds").to_yaml();
    assert!(text.contains("  mapRef:\n    name: a-web\n"), "{text}");
    let manifest = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n";
    let files = [
        ("/app/kustomization.yaml", "crds: [crd.yaml]\nresources: [web.yaml]\n"),
        ("/app/crd.yaml", manifest),
        ("/app/web.yaml", web.as_str()),
    ];
    assert!(causes(&files).concat().contains("unable to parse open API definition"));
}

/// Counts how often each file is read.
struct Counting {
    tree: MemoryTree,
    reads: Mutex<BTreeMap<String, usize>>,
}

impl FileTree for Counting {
    fn entry(&self, path: &str) -> Option<Entry> {
        self.tree.entry(path)
    }

    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
        *self.reads.lock().expect("nobody panics").entry(path.to_owned()).or_default() += 1;
        self.tree.read(path)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, TreeError> {
        self.tree.list(path)
    }
}

#[test]
fn a_base_of_many_overlays_is_read_no_more_than_twice() {
    let mut tree = MemoryTree::default();
    let mut resources = String::from("resources:\n");
    for number in 0..100 {
        let overlay = format!("namePrefix: o{number}-\nresources: [../base]\n");
        tree.insert(format!("/app/o{number}/kustomization.yaml"), overlay);
        resources = format!("{resources}- o{number}\n");
    }
    tree.insert("/app/kustomization.yaml", resources);
    tree.insert("/app/base/kustomization.yaml", "resources: [map.yaml]\n");
    tree.insert("/app/base/map.yaml", config_map("map"));
    let tree = Counting { tree, reads: Mutex::default() };
    let build = build(&tree, "/app", &Options::default()).expect("it builds");
    assert_eq!(build.objects().count(), 100);
    let reads = tree.reads.lock().expect("nobody panics");
    assert_eq!(reads["/app/base/kustomization.yaml"], 1);
    assert_eq!(reads["/app/base/map.yaml"], 2);
}

#[test]
fn the_text_does_not_hang_on_threads() {
    let all: Vec<String> = (0..300).map(|number| config_map(&format!("m{number}"))).collect();
    let all = all.join("---\n");
    let files = [("/app/kustomization.yaml", "resources: [all.yaml]\n"), ("/app/all.yaml", &all)];
    let tree = tree(&files);
    let text = |threads| {
        let options = Options { threads, ..Options::default() };
        build(&tree, "/app", &options).expect("it builds").to_yaml()
    };
    assert_eq!(text(0), text(4));
    assert_eq!(text(1).matches("---\n").count(), 299);
}

#[test]
fn files_are_named_after_objects() {
    let both = format!("{}---\n{}  namespace: other\n", config_map("A"), config_map("b"));
    let build =
        built(&[("/app/kustomization.yaml", "resources: [all.yaml]\n"), ("/app/all.yaml", &both)]);
    let files = build.expect("it builds").to_files();
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(names, ["default_v1_configmap_a.yaml", "other_v1_configmap_b.yaml"]);
}
