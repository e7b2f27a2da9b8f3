#!/bin/sh
# Records the goldens of crates/kustomize/tests/flux with Flux's own libraries, in the versions that
# kustomize-controller v1.9.5 pins.
set -eu
cd "$(dirname "$0")"
tests=../../crates/kustomize/tests/flux
go run . texts 7 2000 | gzip -9n >"$tests/texts.jsonl.gz"
go run . objects 7 1500 | gzip -9n >"$tests/objects.jsonl.gz"
go run . trees 7 800 | gzip -9n >"$tests/trees.jsonl.gz"
go run . builds 5 120 2>/dev/null | gzip -9n >"$tests/builds.jsonl.gz"
