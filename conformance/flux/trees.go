package main

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/fluxcd/pkg/kustomize"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// One directory of a tree, with its kustomization file generated.
type generation struct {
	// The files below /src; a text that starts with "link:" is a link to what follows.
	Files     map[string]string `json:"files"`
	Directory string            `json:"directory"`
	Spec      map[string]any    `json:"spec"`
	Path      string            `json:"path,omitempty"`
	Text      string            `json:"text,omitempty"`
	Created   bool              `json:"created,omitempty"`
	Error     string            `json:"error,omitempty"`
	// What building the directory gives.
	Build      string `json:"build,omitempty"`
	BuildError string `json:"buildError,omitempty"`
	// Whether to build, which takes upstream a tenth of a second.
	build bool
}

func generateAt(root string, input generation) (answer generation) {
	answer = input
	normal := func(text string) string { return strings.ReplaceAll(text, root, "/src") }
	directory := filepath.Join(root, input.Directory)
	kustomization := unstructured.Unstructured{Object: map[string]any{"spec": input.Spec}}
	generator := kustomize.NewGenerator(root, kustomization)
	text, path, action, err := generator.GenerateManifest(directory)
	if err != nil {
		answer.Error = normal(err.Error())
		return
	}
	answer.Path, answer.Text, answer.Created = normal(path), string(text), action == kustomize.CreatedAction
	if !input.build {
		return
	}
	_, err = generator.WriteFile(directory)
	fail(err)
	built, err := kustomize.SecureBuild(root, directory, false)
	if err == nil {
		text, err = built.AsYaml()
	}
	if err != nil {
		answer.BuildError = normal(err.Error())
		return
	}
	// A library has no version to put in the label; the program's is wanted.
	answer.Build = strings.ReplaceAll(string(text), "kustomize-(devel)", "kustomize-v5.8.1")
	return
}

// place writes the files of a case to disk, generates and clears up.
func place(input generation) generation {
	root, err := os.MkdirTemp("", "flux-")
	fail(err)
	defer os.RemoveAll(root)
	fail(os.MkdirAll(filepath.Join(root, input.Directory), 0o755))
	for name, text := range input.Files {
		path := filepath.Join(root, name)
		fail(os.MkdirAll(filepath.Dir(path), 0o755))
		if target, isLink := strings.CutPrefix(text, "link:"); isLink {
			fail(os.Symlink(target, path))
		} else {
			fail(os.WriteFile(path, []byte(text), 0o644))
		}
	}
	return generateAt(root, input)
}

// testdata generates in every directory of the test data of fluxcd/pkg/kustomize, with the specs that
// lie there and with one of our own.
func testdata(out *writer) {
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/fluxcd/pkg/kustomize").Output()
	fail(err)
	top := filepath.Join(strings.TrimSpace(string(module)), "testdata")
	files := map[string]string{}
	directories := []string{}
	specs := []map[string]any{{}, {"targetNamespace": "apps", "namePrefix": "p-", "images": []any{map[string]any{"name": "nginx", "newTag": "9"}}}}
	fail(filepath.Walk(top, func(path string, info os.FileInfo, err error) error {
		fail(err)
		name, err := filepath.Rel(top, path)
		fail(err)
		if info.IsDir() {
			directories = append(directories, name)
			return nil
		}
		text, err := os.ReadFile(path)
		fail(err)
		files[name] = string(text)
		var object map[string]any
		if yaml.Unmarshal(text, &object) == nil && strings.HasPrefix(fmt.Sprint(object["apiVersion"]), "kustomize.toolkit.fluxcd.io/") {
			if spec, ok := object["spec"].(map[string]any); ok {
				specs = append(specs, spec)
			}
		}
		return nil
	}))
	for _, directory := range directories {
		for _, spec := range specs {
			out.line(place(generation{Files: files, Directory: directory, Spec: spec, build: true}))
		}
	}
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n  key: \"1\"\n"

var contents = []string{
	"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: %s\nspec:\n  template:\n    spec:\n      containers:\n      - name: web\n        image: nginx:1.0\n",
	configMap, configMap, configMap,
	"# a comment\n---\n" + configMap + "---\n",
	configMap, configMap,
	"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: %s\n",
	"apiVersion: v1\nkind: Service\nmetadata:\n  name: %s\n  namespace: own\n",
	"", "# only a comment\n", "---\n", "a: b\n", "broken: [\n", "- a\n- b\n", "text\n", "apiVersion: v1\nkind: ConfigMap\n", "{{ template }}\n",
	"kind: ConfigMap\nmetadata:\n  name: %s\n", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  generateName: %s\n",
}

var paths = []string{"a.yaml", "b.yml", "c.yaml", "sub/d.yaml", "sub/deep/e.yaml", "other/f.yaml", "notes.txt", "g.json", ".hidden.yaml", "z-last.yaml", "sub-2/h.yml", "UPPER.YAML"}

var scalars = []string{"x", "1", "1.10", "true", "yes", "null", "~", "''", "'5'", "0x10", "1.5e-7", "2001-01-01", "[a]", "{a: b}", "a.yaml", "-1"}

func list(random *rand.Rand) string {
	items := make([]string, random.Intn(4))
	for i := range items {
		items[i] = pick(random, scalars)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

func pairs(random *rand.Rand, names ...string) string {
	fields := []string{}
	for _, name := range names {
		if random.Intn(2) == 0 {
			fields = append(fields, name+": "+pick(random, scalars))
		}
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// kustomizationFile is a file that is mostly right, with odd types, cases and fields in it.
func kustomizationFile(random *rand.Rand, resources []string) string {
	var out strings.Builder
	if random.Intn(3) > 0 {
		out.WriteString("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n")
	}
	if random.Intn(6) > 0 {
		out.WriteString(pick(random, []string{"resources", "resources", "resources", "Resources", "bases"}) + ":\n")
		for _, resource := range resources {
			out.WriteString("- " + resource + "\n")
		}
	}
	odd := []string{
		"namespace: " + pick(random, scalars), "namePrefix: " + pick(random, scalars), "nameSuffix: -s", "nameprefix: low-", "NAMESPACE: up",
		"unknown: field", "metadata: " + pairs(random, "name", "namespace", "labels", "extra"), "commonLabels: " + pairs(random, "app", "tier", "n"),
		"commonAnnotations: {a: 1, b: true, c: text, d: null}", "labels:\n- pairs: " + pairs(random, "app", "x") + "\n  includeSelectors: true\n  fields:\n  - {path: spec/x, create: true, kind: A}",
		"images:\n- " + pairs(random, "newTag", "newName", "digest", "tagSuffix") + "\n- {name: nginx, newTag: " + pick(random, scalars) + "}\n- null",
		"replicas:\n- {name: web, count: " + pick(random, []string{"3", "1.5", "'3'", "null", "0", "3.0"}) + "}\n- {name: " + pick(random, scalars) + "}",
		"patches:\n- {path: p.yaml}\n- patch: '[]'\n  target: " + pairs(random, "kind", "name", "labelSelector", "group") + "\n  options: {allowNameChange: true}",
		"patchesStrategicMerge: " + list(random), "patchesJson6902:\n- {path: x, target: {kind: A, name: b, version: v1}}",
		"configMapGenerator:\n- name: " + pick(random, scalars) + "\n  literals: [a=b]\n  options: {labels: {a: b}, disableNameSuffixHash: true}",
		"secretGenerator:\n- {name: s, type: " + pick(random, scalars) + ", envs: [x.env]}",
		"generatorOptions: {disableNameSuffixHash: true, immutable: " + pick(random, []string{"true", "false", "'x'", "null"}) + "}",
		"vars:\n- {name: V, objref: {kind: Service, name: s, apiVersion: v1}}\n- {fieldref: {fieldPath: a.b}}",
		"replacements:\n- source: {kind: A, fieldPath: a.b, options: {index: 1, delimiter: '.'}}\n  targets:\n  - {select: {kind: B}, fieldPaths: [x]}\n  - {fieldPaths: [y]}\n  - null\n- path: r.yaml\n- sourceValue: " + pick(random, []string{"x", "''", "null"}),
		"sortOptions: {order: legacy, legacySortOptions: {orderFirst: [A]}}", "openapi: {path: x.json}", "crds: " + list(random),
		"components: " + list(random), "helmGlobals: {chartHome: c}", "helmCharts:\n- {name: c, valuesInline: {a: 1, b: [1.5, 1e3], c: {d: 12345678901}}, includeCRDs: true}",
		"helmChartInflationGenerator:\n- {chartName: c, valuesLocal: {a: 9007199254740993}}", "buildMetadata: [originAnnotations, managedByLabel]", "buildMetadata: null",
		"configurations: " + list(random), "generators: []", "transformers: [t.yaml]", "validators: null", "imageTags:\n- {name: a, newTag: 3}",
		"- broken", "kind: " + pick(random, []string{"Component", "''", "null", "5"}), "apiVersion: " + pick(random, []string{"x/v1", "''", "1"}), "? {a: b}\n: c", "x: &a {b: c}\ny: *a",
	}
	count := random.Intn(5)
	for range count {
		line := pick(random, odd)
		if strings.HasPrefix(line, "- broken") && random.Intn(5) > 0 {
			continue
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}

func spec(random *rand.Rand) map[string]any {
	fields := map[string]any{}
	maybe := func(name string, value any) {
		if random.Intn(4) == 0 {
			fields[name] = value
		}
	}
	maybe("targetNamespace", "target")
	maybe("namePrefix", "pre-")
	maybe("nameSuffix", "-post")
	maybe("buildMetadata", []any{"originAnnotations", "transformerAnnotations"}[:1+random.Intn(2)])
	maybe("ignoreMissingComponents", true)
	maybe("components", []any{"../component", "gone", "sub"}[random.Intn(3):])
	if random.Intn(20) == 0 {
		fields["components"] = []any{pick(random, []string{"https://example.org/x", "github.com/x/y", "/abs", "file:///abs", "GIT@host:x", "gh:x", "file://rel", "git@"})}
	}
	if random.Intn(3) == 0 {
		image := map[string]any{"name": pick(random, []string{"nginx", "other", "x"})}
		for _, name := range []string{"newName", "newTag", "digest"} {
			if random.Intn(2) == 0 {
				image[name] = pick(random, []string{"v1", "sha256:abc", "1.10"})
			}
		}
		fields["images"] = []any{image, map[string]any{"name": "nginx", "newTag": "last"}}
	}
	if random.Intn(4) == 0 {
		target := map[string]any{}
		for _, name := range []string{"group", "version", "kind", "name", "namespace", "labelSelector", "annotationSelector"} {
			if random.Intn(4) == 0 {
				target[name] = pick(random, []string{"Deployment", "web.*", "apps", "a=b"})
			}
		}
		patch := map[string]any{"patch": "- op: add\n  path: /metadata/labels\n  value: {a: b}\n"}
		if random.Intn(4) > 0 {
			patch["target"] = target
		}
		fields["patches"] = []any{patch}
	}
	return fields
}

func trees(out *writer, seed int64, count int)  { makeTrees(out, seed, count, false) }
func builds(out *writer, seed int64, count int) { makeTrees(out, seed, count, true) }

func makeTrees(out *writer, seed int64, count int, build bool) {
	random := rand.New(rand.NewSource(seed))
	for range count {
		files := map[string]string{"component/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnameSuffix: -c\n"}
		resources := []string{}
		for number, path := range paths {
			if random.Intn(3) > 0 {
				continue
			}
			good := 9
			if random.Intn(6) == 0 {
				good = len(contents)
			}
			content := contents[random.Intn(good)]
			if strings.Contains(content, "%s") {
				content = fmt.Sprintf(content, fmt.Sprintf("n%d", number))
			}
			files["app/"+path] = content
			if strings.HasSuffix(path, "ml") {
				resources = append(resources, path)
			}
		}
		if random.Intn(2) == 0 {
			name := pick(random, []string{"kustomization.yaml", "kustomization.yml", "Kustomization"})
			files["app/"+name] = kustomizationFile(random, resources)
		}
		if random.Intn(4) == 0 {
			files["app/nested/kustomization.yaml"] = "resources: [x.yaml]\n"
			files["app/nested/x.yaml"] = fmt.Sprintf(configMap, "nested")
			files["app/nested/broken.yaml"] = "broken: [\n"
		}
		if random.Intn(10) == 0 {
			target := pick(random, []string{"a.yaml", "../component", "/etc/hostname", "../../..", "gone", "nested", "sub"})
			files["app/"+pick(random, []string{"link.yaml", "linked", "sub/link"})] = "link:" + target
		}
		if random.Intn(40) == 0 {
			files = map[string]string{"app/notes.txt": ""}
		}
		out.line(place(generation{Files: files, Directory: "app", Spec: spec(random), build: build}))
	}
}
