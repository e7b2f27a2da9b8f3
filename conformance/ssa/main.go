// Command ssa records what Flux's server-side apply does on a real API server.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/engine"
	"github.com/fluxcd/pkg/runtime/statusreaders"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/jsondiff"
	"github.com/fluxcd/pkg/ssa/normalize"
	"github.com/fluxcd/pkg/ssa/utils"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const group = "kustomize.toolkit.fluxcd.io"

// step is one thing that happens in a story; one of the first four is set.
type step struct {
	Apply  []any    `json:"apply,omitempty"`
	Diff   []any    `json:"diff,omitempty"`
	Delete []any    `json:"delete,omitempty"`
	Send   *request `json:"send,omitempty"`

	Force    bool             `json:"force,omitempty"`
	Override []string         `json:"override,omitempty"`
	Ignore   []map[string]any `json:"ignore,omitempty"`
	Result   map[string]any   `json:"result"`
	Objects  map[string]any   `json:"objects,omitempty"`
	Normal   []map[string]any `json:"normal,omitempty"`
}

// request is what somebody else does.
type request struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Type   string `json:"type"`
	Body   any    `json:"body,omitempty"`
}

type story struct {
	Namespace string  `json:"namespace"`
	Steps     []*step `json:"steps"`
	// Watched are the paths whose objects are shown after each step.
	Watched []string `json:"watched"`
}

type recorder struct {
	config  *rest.Config
	http    *http.Client
	manager *ssa.ResourceManager
}

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: ssa KUBECONFIG COUNT SEED FILE")
		os.Exit(2)
	}
	log.SetLogger(log.Log)
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	check(err)
	config.QPS, config.Burst = 1000, 1000
	count, err := strconv.Atoi(os.Args[2])
	check(err)
	seed, err := strconv.ParseInt(os.Args[3], 10, 64)
	check(err)
	out, err := os.Create(os.Args[4])
	check(err)
	packed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	check(err)
	lines := bufio.NewWriter(packed)

	r := newRecorder(config)
	g := &generator{Rand: rand.New(rand.NewSource(seed)), seed: seed}
	for number := range count {
		s := g.story(number)
		r.play(s)
		line, err := json.Marshal(s)
		check(err)
		_, err = lines.Write(append(line, '\n'))
		check(err)
	}
	check(lines.Flush())
	check(packed.Close())
	check(out.Close())
}

func newRecorder(config *rest.Config) *recorder {
	httpClient, err := rest.HTTPClientFor(config)
	check(err)
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	check(err)
	c, err := client.New(config, client.Options{HTTPClient: httpClient, Mapper: mapper})
	check(err)
	poller := polling.NewStatusPoller(c, mapper, polling.Options{
		CustomStatusReaders: []engine.StatusReader{statusreaders.NewCustomJobStatusReader(mapper)},
	})
	manager := ssa.NewResourceManager(c, poller, ssa.Owner{Field: "kustomize-controller", Group: group})
	return &recorder{config: config, http: httpClient, manager: manager}
}

func (r *recorder) play(s *story) {
	for _, st := range s.Steps {
		st.Result = map[string]any{}
		switch {
		case st.Send != nil:
			code, _ := r.send(*st.Send)
			st.Result["code"] = code
		case st.Apply != nil:
			objects := r.prepare(st.Apply)
			for _, object := range objects {
				st.Normal = append(st.Normal, object.DeepCopy().Object)
			}
			changes, err := r.manager.ApplyAllStaged(context.Background(), objects, options(st))
			st.Result["changes"] = changes.String()
			if err != nil {
				st.Result["error"] = err.Error()
			}
		case st.Diff != nil:
			var lines []string
			for _, object := range r.prepare(st.Diff) {
				o := options(st)
				entry, _, _, err := r.manager.Diff(context.Background(), object, ssa.DiffOptions{
					Exclusions: o.ExclusionSelector, IfNotPresentSelector: o.IfNotPresentSelector,
					Force: o.Force, ForceSelector: o.ForceSelector, DriftIgnoreRules: o.DriftIgnoreRules,
				})
				if err != nil {
					lines = append(lines, err.Error())
				} else if entry.ObjMetadata.Name == "" {
					// Flux does not name what it skips before it is there.
					lines = append(lines, utils.FmtUnstructured(object)+" skipped")
				} else {
					lines = append(lines, entry.String())
				}
			}
			sort.Strings(lines)
			st.Result["diff"] = lines
		case st.Delete != nil:
			changes, err := r.manager.DeleteAll(context.Background(), read(st.Delete), ssa.DeleteOptions{
				PropagationPolicy: metav1.DeletePropagationBackground,
				Inclusions:        r.manager.GetOwnerLabels("apps", "flux-system"),
				Exclusions: map[string]string{
					group + "/prune": "disabled", group + "/reconcile": "disabled", group + "/ssa": "Ignore",
				},
			})
			st.Result["changes"] = changes.String()
			if err != nil {
				st.Result["error"] = err.Error()
			}
		}
		st.Objects = map[string]any{}
		for _, path := range s.Watched {
			if code, body := r.send(request{Method: "GET", Path: path}); code == 200 {
				st.Objects[path] = plain(body)
			}
		}
	}
}

func (r *recorder) prepare(raw []any) []*unstructured.Unstructured {
	objects := read(raw)
	r.manager.SetOwnerLabels(objects, "apps", "flux-system")
	check(normalize.UnstructuredList(objects))
	return objects
}

func read(raw []any) []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for _, object := range raw {
		text, err := json.Marshal(object)
		check(err)
		u := &unstructured.Unstructured{}
		check(u.UnmarshalJSON(text))
		objects = append(objects, u)
	}
	return objects
}

// options are those of kustomize-controller 1.9.5.
func options(st *step) ssa.ApplyOptions {
	o := ssa.DefaultApplyOptions()
	o.WaitInterval = 50 * time.Millisecond
	o.Force = st.Force
	o.ExclusionSelector = map[string]string{group + "/reconcile": "disabled", group + "/ssa": "Ignore"}
	o.IfNotPresentSelector = map[string]string{group + "/ssa": "IfNotPresent"}
	o.ForceSelector = map[string]string{group + "/force": "enabled"}
	managers := []ssa.FieldManager{
		{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationApply},
		{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationUpdate},
		{Name: "before-first-apply", OperationType: metav1.ManagedFieldsOperationUpdate},
		{Name: "kustomize-controller", OperationType: metav1.ManagedFieldsOperationUpdate},
	}
	for _, name := range st.Override {
		managers = append(managers,
			ssa.FieldManager{Name: name, OperationType: metav1.ManagedFieldsOperationApply},
			ssa.FieldManager{Name: name, OperationType: metav1.ManagedFieldsOperationUpdate})
	}
	o.Cleanup = ssa.ApplyCleanupOptions{
		Annotations: []string{"kubectl.kubernetes.io/last-applied-configuration",
			"kustomize.toolkit.fluxcd.io/checksum", "fluxcd.io/sync-checksum"},
		Labels:        []string{"fluxcd.io/sync-gc-mark"},
		FieldManagers: managers,
		Exclusions:    map[string]string{group + "/ssa": "Merge"},
	}
	for _, rule := range st.Ignore {
		var paths []string
		for _, path := range rule["paths"].([]string) {
			paths = append(paths, path)
		}
		o.DriftIgnoreRules = append(o.DriftIgnoreRules, jsondiff.IgnoreRule{
			Paths: paths, Selector: &jsondiff.Selector{Kind: rule["kind"].(string)},
		})
	}
	return o
}

func (r *recorder) send(q request) (int, map[string]any) {
	var body io.Reader
	if q.Body != nil {
		text, err := json.Marshal(q.Body)
		check(err)
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequest(q.Method, strings.TrimSuffix(r.config.Host, "/")+q.Path, body)
	check(err)
	if q.Type != "" {
		req.Header.Set("Content-Type", q.Type)
	}
	response, err := r.http.Do(req)
	check(err)
	defer response.Body.Close()
	var object map[string]any
	text, err := io.ReadAll(response.Body)
	check(err)
	_ = json.Unmarshal(text, &object)
	return response.StatusCode, object
}

// plain is an object without what differs from run to run.
func plain(object map[string]any) map[string]any {
	metadata := object["metadata"].(map[string]any)
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "selfLink"} {
		delete(metadata, field)
	}
	if entries, ok := metadata["managedFields"].([]any); ok {
		for _, entry := range entries {
			delete(entry.(map[string]any), "time")
		}
	}
	delete(object, "status")
	if spec, ok := object["spec"].(map[string]any); ok {
		for _, field := range []string{"clusterIP", "clusterIPs", "healthCheckNodePort"} {
			delete(spec, field)
		}
	}
	return object
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		panic(err)
	}
}
