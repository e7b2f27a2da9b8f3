package main

import "math/rand"

type generator struct{ *rand.Rand }

type kind struct {
	version, kind string
	spec, status  []string
	phases        []string
	conditions    []string
	reasons       []string
}

var replicas = []string{"replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas", "fullyLabeledReplicas"}

var kinds = []kind{
	{version: "apps/v1", kind: "Deployment", spec: []string{"replicas", "progressDeadlineSeconds"}, status: replicas,
		conditions: []string{"Progressing", "Available", "ReplicaFailure"},
		reasons:    []string{"NewReplicaSetAvailable", "ProgressDeadlineExceeded", "ReplicaSetUpdated", "MinimumReplicasAvailable"}},
	{version: "extensions/v1beta1", kind: "Deployment", spec: []string{"replicas"}, status: replicas,
		conditions: []string{"Progressing", "Available"}, reasons: []string{"NewReplicaSetAvailable"}},
	{version: "apps/v1", kind: "StatefulSet", spec: []string{"replicas"}, status: replicas},
	{version: "apps/v1", kind: "ReplicaSet", spec: []string{"replicas"}, status: replicas, conditions: []string{"ReplicaFailure"}},
	{version: "extensions/v1beta1", kind: "ReplicaSet", spec: []string{"replicas"}, status: replicas},
	{version: "apps/v1", kind: "DaemonSet",
		status: []string{"desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled", "numberAvailable", "numberReady"}},
	{version: "batch/v1", kind: "Job", spec: []string{"parallelism", "completions"}, status: []string{"succeeded", "active", "failed"},
		conditions: []string{"Complete", "Failed", "Suspended", "SuccessCriteriaMet"}, reasons: []string{"BackoffLimitExceeded"}},
	{version: "batch/v1", kind: "CronJob", status: []string{"active"}},
	{version: "v1", kind: "Pod", phases: []string{"Pending", "Running", "Running", "Succeeded", "Failed", "Unknown", ""},
		conditions: []string{"PodScheduled", "Ready", "Initialized"}, reasons: []string{"Unschedulable", "ContainersNotReady"}},
	{version: "v1", kind: "PersistentVolumeClaim", phases: []string{"Pending", "Bound", "Lost", ""}},
	{version: "v1", kind: "Service"},
	{version: "v1", kind: "Secret"},
	{version: "v1", kind: "ConfigMap"},
	{version: "v1", kind: "Namespace", phases: []string{"Active", "Terminating"}},
	{version: "v1", kind: "Node", conditions: []string{"Ready", "MemoryPressure"}},
	{version: "policy/v1", kind: "PodDisruptionBudget", status: []string{"disruptionsAllowed", "expectedPods"}},
	{version: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition",
		conditions: []string{"NamesAccepted", "Established", "NonStructuralSchema"}, reasons: []string{"Installing", "NotAccepted", "NoConflicts", "InitialNamesAccepted"}},
	{version: "autoscaling/v2", kind: "HorizontalPodAutoscaler", status: replicas, conditions: []string{"AbleToScale", "ScalingActive"}},
	{version: "networking.k8s.io/v1", kind: "Ingress"},
	{version: "rbac.authorization.k8s.io/v1", kind: "ClusterRole"},
	{version: "kustomize.toolkit.fluxcd.io/v1", kind: "Kustomization", conditions: []string{"Ready", "Healthy"}, reasons: []string{"ReconciliationSucceeded"}},
	{version: "example.com/v1", kind: "Widget", status: replicas, conditions: []string{"Ready", "Synced"}},
	{version: "example.com/v1", kind: "Deployment", status: replicas, conditions: []string{"Ready"}},
	{version: "a/b/c", kind: "Deployment", status: replicas, conditions: []string{"Ready"}},
}

func (g *generator) chance(percent int) bool { return g.Intn(100) < percent }

func (g *generator) pick(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[g.Intn(len(values))]
}

// odd is a value of a wrong type.
func (g *generator) odd() any {
	values := []any{nil, true, int64(7), -0.5, 3000000.25, 1e21, "words", []any{"a", int64(1), nil},
		map[string]any{"b": int64(1), "a": "x"}, []any{}, map[string]any{}}
	return values[g.Intn(len(values))]
}

// mostly is the value, or now and then something odd.
func (g *generator) mostly(value any) any {
	if g.chance(2) {
		return g.odd()
	}
	return value
}

func (g *generator) number() any {
	if g.chance(1) {
		return 2.5
	}
	if g.chance(1) {
		return int64(2147483647)
	}
	// Mostly equal ones, or nothing would ever be complete.
	if g.chance(70) {
		return int64(2)
	}
	return int64(g.Intn(5) - 1)
}

func (g *generator) condition(k kind) any {
	types := append([]string{"Ready", "Reconciling", "Stalled", "Other"}, k.conditions...)
	kind := g.pick(types)
	if len(k.conditions) > 0 && g.chance(80) {
		kind = g.pick(k.conditions)
	}
	out := map[string]any{}
	if g.chance(97) {
		out["type"] = g.mostly(kind)
	}
	if g.chance(97) {
		out["status"] = g.mostly(g.pick([]string{"True", "True", "True", "False", "Unknown", "", "true"}))
	}
	if g.chance(85) {
		out["reason"] = g.mostly(g.pick(append([]string{"Because", ""}, append(k.reasons, k.reasons...)...)))
	}
	if g.chance(85) {
		out["message"] = g.mostly(g.pick([]string{"it is so", "", "no node\nfor it", "a, b: <c> & \"d\""}))
	}
	return out
}

func (g *generator) numbers(out map[string]any, names []string) {
	for _, name := range names {
		if g.chance(85) {
			out[name] = g.mostly(g.number())
		}
	}
}

func (g *generator) containers() any {
	out := []any{}
	for i := range g.Intn(3) {
		state := map[string]any{}
		switch g.Intn(3) {
		case 0:
			state["waiting"] = map[string]any{"reason": g.pick([]string{"CrashLoopBackOff", "ContainerCreating"})}
		case 1:
			state["running"] = map[string]any{}
		}
		container := map[string]any{"state": state}
		if g.chance(95) {
			container["name"] = string(rune('a' + i))
		}
		out = append(out, container)
	}
	return out
}

func (g *generator) object() map[string]any {
	k := kinds[g.Intn(len(kinds))]
	metadata := map[string]any{"name": "it", "namespace": "default"}
	spec, status := map[string]any{}, map[string]any{}
	if g.chance(85) {
		metadata["generation"] = g.mostly(int64(2))
	}
	if g.chance(3) {
		metadata["deletionTimestamp"] = g.mostly("2026-01-01T00:00:00Z")
	}
	if g.chance(90) {
		// A moment long ago, one to come, or no moment.
		metadata["creationTimestamp"] = g.mostly(g.pick([]string{"2001-01-01T00:00:00Z", "2201-01-01T00:00:00Z", "soon"}))
	}
	if g.chance(80) {
		status["observedGeneration"] = g.mostly(int64(2))
		if g.chance(5) {
			status["observedGeneration"] = int64(1)
		}
	}
	g.numbers(spec, k.spec)
	g.numbers(status, k.status)
	if len(k.phases) > 0 && g.chance(95) {
		status["phase"] = g.mostly(g.pick(k.phases))
	}
	if g.chance(70) {
		conditions := []any{}
		for range g.Intn(4) {
			conditions = append(conditions, g.mostly(g.condition(k)))
		}
		status["conditions"] = g.mostly(conditions)
	}
	switch k.kind {
	case "StatefulSet":
		if g.chance(50) {
			strategy := map[string]any{"type": g.pick([]string{"RollingUpdate", "RollingUpdate", "OnDelete"})}
			if g.chance(50) {
				strategy["rollingUpdate"] = g.mostly(map[string]any{"partition": g.mostly(g.number())})
			}
			spec["updateStrategy"] = g.mostly(strategy)
		}
		status["currentRevision"] = g.mostly("a")
		status["updateRevision"] = g.mostly(g.pick([]string{"a", "a", "b"}))
	case "Job":
		if g.chance(10) {
			spec["suspend"] = g.mostly(g.chance(50))
		}
		if g.chance(80) {
			status["startTime"] = g.mostly(g.pick([]string{"2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", ""}))
		}
	case "Service":
		if g.chance(80) {
			spec["type"] = g.mostly(g.pick([]string{"ClusterIP", "LoadBalancer", "NodePort", "ExternalName"}))
		}
		if g.chance(60) {
			spec["clusterIP"] = g.mostly(g.pick([]string{"10.0.0.1", "None", ""}))
		}
	case "Pod":
		if g.chance(70) {
			status["containerStatuses"] = g.mostly(g.containers())
		}
	}
	out := map[string]any{"apiVersion": k.version, "kind": k.kind, "metadata": metadata}
	if g.chance(98) {
		out["spec"] = g.mostly(spec)
	}
	if g.chance(95) {
		out["status"] = g.mostly(status)
	}
	return out
}
