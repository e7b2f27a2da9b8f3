//! Builds of growing trees, and of 100 overlays over one base with one thread and with all.

use std::hint::black_box;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sluice_kustomize::{MemoryTree, Options, build};

/// A base of applications and some overlays over it.
fn tree(applications: usize, overlays: usize) -> MemoryTree {
    let mut tree = MemoryTree::default();
    let mut names = String::from("resources:\n");
    for number in 0..applications {
        let name = format!("app-{number}");
        let text = format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, labels: {{app: {name}}}}}\n\
             spec:\n  selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    metadata: {{labels: {{app: {name}}}}}\n\
             \x20   spec:\n      containers:\n      - name: app\n        image: example.com/app:1.0\n\
             \x20       envFrom: [{{configMapRef: {{name: {name}}}}}]\n---\n\
             apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{LEVEL: info}}\n"
        );
        tree.insert(format!("/base/{name}.yaml"), text);
        names.extend(["- ", &name, ".yaml\n"]);
    }
    tree.insert("/base/kustomization.yaml", names);
    for number in 0..overlays {
        tree.insert(
            format!("/overlay-{number}/kustomization.yaml"),
            format!(
                "resources: [../base]\nnamespace: n{number}\nnamePrefix: p{number}-\n\
                 labels: [{{pairs: {{team: t}}, includeSelectors: true}}]\n\
                 images: [{{name: example.com/app, newTag: \"2.0\"}}]\n\
                 patches:\n- target: {{kind: Deployment, name: app-1}}\n  patch: |\n    - op: add\n      path: /spec/replicas\n      value: 3\n"
            ),
        );
    }
    tree
}

fn written(tree: &MemoryTree, overlay: usize, threads: usize) -> usize {
    let options = Options { threads, ..Options::default() };
    let built = build(tree, &format!("/overlay-{overlay}"), &options);
    built.map_or(0, |built| built.to_yaml().len())
}

fn sizes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("objects");
    group.sample_size(10);
    for objects in [10, 1000, 4000] {
        let tree = tree(objects / 2, 1);
        group.throughput(Throughput::Elements(objects as u64));
        group.bench_function(BenchmarkId::from_parameter(objects), |bencher| {
            bencher.iter(|| black_box(written(&tree, 0, 1)));
        });
    }
    group.finish();
}

fn overlays(criterion: &mut Criterion) {
    const OVERLAYS: usize = 100;
    let tree = tree(100, OVERLAYS);
    let all = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut group = criterion.benchmark_group("100 overlays");
    group.sample_size(10);
    for threads in [1, all] {
        group.bench_function(BenchmarkId::new("threads", threads), |bencher| {
            bencher.iter(|| {
                let next = AtomicUsize::new(0);
                std::thread::scope(|scope| {
                    for _ in 0..threads {
                        scope.spawn(|| {
                            loop {
                                let overlay = next.fetch_add(1, Ordering::Relaxed);
                                if overlay >= OVERLAYS {
                                    break;
                                }
                                black_box(written(&tree, overlay, 1));
                            }
                        });
                    }
                });
            });
        });
    }
    group.finish();
}

criterion_group!(benches, sizes, overlays);
criterion_main!(benches);
