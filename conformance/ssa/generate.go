package main

import (
	"fmt"
	"math/rand"
)

type generator struct {
	*rand.Rand
	seed int64
}

// subject is an object of a story: where it is found, and how forms of it are made.
type subject struct {
	collection, name string
	form             func(g *generator) map[string]any
	patches          func(g *generator) any
}

func (s subject) path() string { return s.collection + "/" + s.name }

func (g *generator) chance(percent int) bool { return g.Intn(100) < percent }

func pick[T any](g *generator, values ...T) T { return values[g.Intn(len(values))] }

func object(version, kind, namespace, name string, rest map[string]any) map[string]any {
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	out := map[string]any{"apiVersion": version, "kind": kind, "metadata": metadata}
	for key, value := range rest {
		out[key] = value
	}
	return out
}

func (g *generator) data() map[string]any {
	out := map[string]any{}
	for _, key := range []string{"a", "b", "c"} {
		if g.chance(60) {
			out[key] = pick(g, "1", "2", "3")
		}
	}
	return out
}

func (g *generator) template(labels map[string]any) map[string]any {
	container := map[string]any{"name": "web", "image": pick(g, "web:1", "web:2")}
	if g.chance(50) {
		container["ports"] = []any{map[string]any{"containerPort": pick(g, 80, 8080)}}
	}
	if g.chance(50) {
		container["env"] = []any{map[string]any{"name": "A", "value": pick(g, "x", "y")}}
	}
	if g.chance(40) {
		container["resources"] = map[string]any{"limits": map[string]any{"cpu": pick[any](g, "1000m", "0.5", 2)}}
	}
	containers := []any{container}
	if g.chance(30) {
		containers = append(containers, map[string]any{"name": "side", "image": "side:1"})
	}
	return map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": containers}}
}

func (g *generator) subjects(ns string) []subject {
	core := "/api/v1/namespaces/" + ns
	labels := map[string]any{"app": "web"}
	return []subject{
		{core + "/configmaps", "map", func(g *generator) map[string]any {
			return object("v1", "ConfigMap", ns, "map", map[string]any{"data": g.data()})
		}, func(g *generator) any { return map[string]any{"data": g.data()} }},
		{core + "/secrets", "secret", func(g *generator) map[string]any {
			rest := map[string]any{}
			if g.chance(70) {
				rest["stringData"] = g.data()
			}
			if g.chance(50) {
				rest["data"] = map[string]any{"a": "YQ==", "z": pick(g, "YQ==", "Yg==")}
			}
			if g.chance(20) {
				rest["type"] = "example.com/kind"
			}
			return object("v1", "Secret", ns, "secret", rest)
		}, func(g *generator) any { return map[string]any{"stringData": g.data()} }},
		{core + "/services", "service", func(g *generator) map[string]any {
			port := map[string]any{"port": pick(g, 80, 81)}
			if g.chance(50) {
				port["targetPort"] = pick[any](g, "http", 8080)
			}
			spec := map[string]any{"ports": []any{port}, "selector": labels}
			if g.chance(30) {
				spec["ports"] = append(spec["ports"].([]any), map[string]any{"port": 53, "protocol": "UDP", "name": "dns"})
				port["name"] = "http"
			}
			return object("v1", "Service", ns, "service", map[string]any{"spec": spec})
		}, func(g *generator) any {
			return map[string]any{"spec": map[string]any{"selector": map[string]any{"tier": pick(g, "a", "b")}}}
		}},
		{core + "/serviceaccounts", "account", func(g *generator) map[string]any {
			rest := map[string]any{}
			if g.chance(50) {
				rest["automountServiceAccountToken"] = g.chance(50)
			}
			return object("v1", "ServiceAccount", ns, "account", rest)
		}, func(g *generator) any {
			return map[string]any{"imagePullSecrets": []any{map[string]any{"name": pick(g, "p", "q")}}}
		}},
		{"/apis/apps/v1/namespaces/" + ns + "/deployments", "web", func(g *generator) map[string]any {
			spec := map[string]any{"selector": map[string]any{"matchLabels": labels}, "template": g.template(labels)}
			if g.chance(70) {
				spec["replicas"] = g.Intn(4)
			}
			if g.chance(10) {
				// Nobody may change this one.
				spec["selector"] = map[string]any{"matchLabels": map[string]any{"app": "web", "new": "er"}}
				spec["template"].(map[string]any)["metadata"] = map[string]any{"labels": map[string]any{"app": "web", "new": "er"}}
			}
			if g.chance(10) {
				spec["nonsense"] = "dropped"
			}
			return object("apps/v1", "Deployment", ns, "web", map[string]any{"spec": spec})
		}, func(g *generator) any {
			if g.chance(50) {
				return map[string]any{"spec": map[string]any{"replicas": g.Intn(4)}}
			}
			return map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{
				"annotations": map[string]any{"restarted": pick(g, "1", "2")}}}}}
		}},
		{"/apis/batch/v1/namespaces/" + ns + "/cronjobs", "cron", func(g *generator) map[string]any {
			template := g.template(labels)
			template["spec"].(map[string]any)["restartPolicy"] = "Never"
			return object("batch/v1", "CronJob", ns, "cron", map[string]any{"spec": map[string]any{
				"schedule": pick(g, "* * * * *", "@daily"), "suspend": true,
				"jobTemplate": map[string]any{"spec": map[string]any{"template": template}},
			}})
		}, func(g *generator) any { return map[string]any{"spec": map[string]any{"schedule": "@hourly"}} }},
		{"/apis/batch/v1/namespaces/" + ns + "/jobs", "job", func(g *generator) map[string]any {
			return object("batch/v1", "Job", ns, "job", map[string]any{"spec": map[string]any{
				"suspend": true,
				"template": map[string]any{"spec": map[string]any{"restartPolicy": "Never",
					"containers": []any{map[string]any{"name": "c", "image": pick(g, "i:1", "i:2", "i:3")}}}},
			}})
		}, func(g *generator) any { return map[string]any{"spec": map[string]any{"parallelism": pick(g, 1, 2)}} }},
		{"/apis/autoscaling/v2/namespaces/" + ns + "/horizontalpodautoscalers", "scaler", func(g *generator) map[string]any {
			metric := map[string]any{"type": "Resource", "resource": map[string]any{"name": "cpu",
				"target": map[string]any{"type": "Utilization", "averageUtilization": pick(g, 50, 60)}}}
			return object("autoscaling/v2", "HorizontalPodAutoscaler", ns, "scaler", map[string]any{"spec": map[string]any{
				"minReplicas": 1, "maxReplicas": pick(g, 3, 4), "metrics": []any{metric},
				"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
			}})
		}, func(g *generator) any { return map[string]any{"spec": map[string]any{"maxReplicas": pick(g, 3, 5)}} }},
		{"/apis/networking.k8s.io/v1/namespaces/" + ns + "/networkpolicies", "policy", func(g *generator) map[string]any {
			rule := map[string]any{}
			if g.chance(60) {
				rule["ports"] = []any{map[string]any{"port": pick[any](g, 80, "http")}}
			}
			return object("networking.k8s.io/v1", "NetworkPolicy", ns, "policy", map[string]any{"spec": map[string]any{
				"podSelector": map[string]any{}, "ingress": []any{rule},
			}})
		}, func(g *generator) any { return map[string]any{"spec": map[string]any{"policyTypes": []any{"Ingress"}}} }},
		{"/apis/rbac.authorization.k8s.io/v1/namespaces/" + ns + "/roles", "a:role", func(g *generator) map[string]any {
			rest := map[string]any{}
			if g.chance(80) {
				rest["rules"] = []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": []any{pick(g, "get", "list")}}}
			}
			return object("rbac.authorization.k8s.io/v1", "Role", ns, "a:role", rest)
		}, func(g *generator) any {
			return map[string]any{"metadata": map[string]any{"labels": map[string]any{"theirs": "1"}}}
		}},
		{"/apis/rbac.authorization.k8s.io/v1/clusterroles", ns, func(g *generator) map[string]any {
			// A namespace on it means nothing.
			return object("rbac.authorization.k8s.io/v1", "ClusterRole", pick(g, "", ns), ns, map[string]any{
				"rules": []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"nodes"}, "verbs": []any{pick(g, "get", "list")}}}})
		}, func(g *generator) any {
			return map[string]any{"metadata": map[string]any{"annotations": map[string]any{"theirs": "1"}}}
		}},
		{"/apis/scheduling.k8s.io/v1/priorityclasses", ns, func(g *generator) map[string]any {
			return object("scheduling.k8s.io/v1", "PriorityClass", "", ns, map[string]any{
				"value": pick(g, 5, 5, 5, 6), "description": pick(g, "a", "b")})
		}, func(g *generator) any { return map[string]any{"description": pick(g, "c", "d")} }},
	}
}

// decorate adds labels and the annotations that steer applying.
func (g *generator) decorate(object map[string]any) map[string]any {
	metadata := object["metadata"].(map[string]any)
	annotations, labels := map[string]any{}, map[string]any{}
	if g.chance(30) {
		annotations["note"] = pick(g, "x", "y")
	}
	if g.chance(30) {
		labels["team"] = pick(g, "x", "y")
	}
	// What is skipped and not there is waited for in vain where a stage has to be ready.
	kind := object["kind"]
	steered := kind != "PriorityClass" && kind != "ClusterRole"
	if steered && g.chance(6) {
		annotations[group+"/ssa"] = pick(g, "Merge", "merge", "IfNotPresent", "Ignore", "Override")
	}
	if steered && g.chance(3) {
		labels[group+"/reconcile"] = pick(g, "disabled", "Disabled", "enabled")
	}
	if g.chance(15) {
		annotations[group+"/force"] = pick(g, "enabled", "Enabled")
	}
	if g.chance(5) {
		annotations[group+"/prune"] = "disabled"
	}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	if len(labels) > 0 {
		metadata["labels"] = labels
	}
	return object
}

func (g *generator) story(number int) *story {
	ns := fmt.Sprintf("s%d-%d", g.seed, number)
	all := g.subjects(ns)
	g.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	cast := all[:1+g.Intn(4)]
	s := &story{Namespace: ns}
	for _, subject := range cast {
		s.Watched = append(s.Watched, subject.path())
	}
	first := object("v1", "Namespace", "", ns, nil)
	s.Steps = append(s.Steps, &step{Apply: []any{first}})
	forms := map[string]map[string]any{}
	form := func(subject subject) any {
		// Mostly the same as before, so that there is something to leave alone.
		if forms[subject.path()] == nil || g.chance(40) {
			forms[subject.path()] = g.decorate(subject.form(g))
		}
		return forms[subject.path()]
	}
	for range 3 + g.Intn(6) {
		subject := pick(g, cast...)
		switch g.Intn(10) {
		case 0, 1:
			manager := pick(g, "kubectl-edit", "kubectl-client-side-apply", "editor", "before-first-apply", "kustomize-controller", "hpa")
			s.Steps = append(s.Steps, &step{Send: &request{Method: "PATCH",
				Path: subject.path() + "?fieldManager=" + manager, Type: "application/merge-patch+json", Body: subject.patches(g)}})
		case 2:
			manager := pick(g, "kubectl", "other", "hpa")
			body := subject.form(g)
			s.Steps = append(s.Steps, &step{Send: &request{Method: "PATCH",
				Path: subject.path() + "?force=true&fieldManager=" + manager, Type: "application/apply-patch+yaml", Body: body}})
		case 3:
			body := subject.form(g)
			body["metadata"].(map[string]any)["annotations"] = map[string]any{
				"kubectl.kubernetes.io/last-applied-configuration": "{}", "fluxcd.io/sync-checksum": "x"}
			s.Steps = append(s.Steps, &step{Send: &request{Method: "POST",
				Path: subject.collection + "?fieldManager=kubectl-create", Type: "application/json", Body: body}})
		case 4:
			patch := map[string]any{"metadata": map[string]any{"labels": map[string]any{"theirs": pick[any](g, "1", nil)},
				"annotations": map[string]any{group + "/reconcile": pick[any](g, "disabled", nil, nil)}}}
			if g.chance(20) {
				patch["metadata"].(map[string]any)["labels"] = map[string]any{group + "/name": "somebody"}
			}
			s.Steps = append(s.Steps, &step{Send: &request{Method: "PATCH",
				Path: subject.path() + "?fieldManager=editor", Type: "application/merge-patch+json", Body: patch}})
		case 5:
			// Inventories know objects by the names the server has for them.
			stale := object(subject.form(g)["apiVersion"].(string), subject.form(g)["kind"].(string), ns, subject.name, nil)
			if subject.name == ns {
				delete(stale["metadata"].(map[string]any), "namespace")
			}
			s.Steps = append(s.Steps, &step{Delete: []any{stale}})
		default:
			st := &step{Force: g.chance(15)}
			if g.chance(10) {
				st.Override = []string{"editor"}
			}
			if g.chance(20) {
				st.Ignore = append(st.Ignore, map[string]any{"kind": "Deployment", "paths": []string{"/spec/replicas"}})
			}
			if g.chance(10) {
				st.Ignore = append(st.Ignore, map[string]any{"kind": "ConfigMap|Secret", "paths": []string{"/data/a", "/data/missing"}})
			}
			var set []any
			for _, subject := range cast {
				if g.chance(85) {
					set = append(set, form(subject))
				}
			}
			if len(set) == 0 {
				continue
			}
			if g.chance(25) {
				st.Diff = set
			} else {
				st.Apply = set
			}
			s.Steps = append(s.Steps, st)
		}
	}
	return s
}
