#!/bin/sh
# Records the goldens of crates/yaml: what go-yaml, sigs.k8s.io/yaml and kyaml say about its cases, and
# about 3,000 texts made up from seed 7. The versions are those of go.mod; the answers carry them.
set -eu
cd "$(dirname "$0")"
tests=../../crates/yaml/tests
go run . cases "$tests/cases"
go run . generate 7 3000 "$tests/cases" | gzip -9n >"$tests/generated.jsonl.gz"
