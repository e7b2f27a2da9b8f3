// Writes scripts/requests/protobuf.http: requests whose bodies are protobuf, as client-go's typed clients send them.
//
//	go run . > ../scripts/requests/protobuf.http
package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

const namespace = "requests-protobuf"

func step(title, method, path string, object runtime.Object, version schema.GroupVersion) {
	fmt.Printf("### %s\n%s %s\n", title, method, path)
	if object != nil {
		var out bytes.Buffer
		encoder := scheme.Codecs.EncoderForVersion(protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), version)
		if err := encoder.Encode(object, &out); err != nil {
			fmt.Fprintln(os.Stderr, title, err)
			os.Exit(1)
		}
		fmt.Println("Content-Type: application/vnd.kubernetes.protobuf")
		fmt.Println("Accept: application/json")
		fmt.Printf("Body-Base64: %s\n", base64.StdEncoding.EncodeToString(out.Bytes()))
	}
	fmt.Println()
}

func pointer[T any](value T) *T { return &value }

func main() {
	core, apps, batch := corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion, batchv1.SchemeGroupVersion
	in := "/api/v1/namespaces/{{ns}}"
	group := func(version schema.GroupVersion) string {
		return "/apis/" + version.String() + "/namespaces/{{ns}}"
	}
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	pods := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "main", Image: "app:1", Args: []string{"", "two"},
				Ports: []corev1.ContainerPort{{ContainerPort: 80}},
				Env:   []corev1.EnvVar{{Name: "A"}, {Name: "B", Value: "2"}},
				Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourceMemory: resource.MustParse("1Gi")}},
				LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
					HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("http")}}},
				ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
					TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(80)}}},
			}},
			Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		},
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}

	fmt.Print("Bodies in protobuf. Written by conformance/protobuf; do not edit.\n\n")
	step("config map", "POST", in+"/configmaps", &corev1.ConfigMap{ObjectMeta: meta("a"),
		Data: map[string]string{"a": "1", "empty": ""}, BinaryData: map[string][]byte{"b": {0, 1, 2}}}, core)
	step("config map again", "GET", in+"/configmaps/a", nil, core)
	step("put config map", "PUT", in+"/configmaps/a", &corev1.ConfigMap{ObjectMeta: meta("a"), Data: map[string]string{"a": "2"}}, core)
	step("secret", "POST", in+"/secrets", &corev1.Secret{ObjectMeta: meta("a"), Data: map[string][]byte{"k": []byte("v")},
		Type: "helm.sh/release.v1", Immutable: pointer(false)}, core)
	step("namespace in a dry run", "POST", "/api/v1/namespaces?dryRun=All", &corev1.Namespace{ObjectMeta: meta(namespace + "-x")}, core)
	step("service", "POST", in+"/services", &corev1.Service{ObjectMeta: meta("a"), Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromString("http")}, {Name: "n", Port: 81, TargetPort: intstr.FromInt32(8081)}}}}, core)
	step("service account", "POST", in+"/serviceaccounts", &corev1.ServiceAccount{ObjectMeta: meta("a"), AutomountServiceAccountToken: pointer(false)}, core)
	step("deployment", "POST", group(apps)+"/deployments", &appsv1.Deployment{ObjectMeta: meta("a"), Spec: appsv1.DeploymentSpec{
		Replicas: pointer(int32(0)), Selector: selector, Template: pods,
		Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: pointer(intstr.FromString("50%")), MaxUnavailable: pointer(intstr.FromInt32(1))}}}}, apps)
	step("stateful set", "POST", group(apps)+"/statefulsets", &appsv1.StatefulSet{ObjectMeta: meta("a"), Spec: appsv1.StatefulSetSpec{
		Selector: selector, Template: pods, ServiceName: "a", VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: meta("data"),
			Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteOnce"},
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")}}}}}}}, apps)
	job := batchv1.JobSpec{Suspend: pointer(true), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: "Never",
		Containers: []corev1.Container{{Name: "c", Image: "c"}}}}}
	step("job", "POST", group(batch)+"/jobs", &batchv1.Job{ObjectMeta: meta("a"), Spec: job}, batch)
	step("cron job", "POST", group(batch)+"/cronjobs", &batchv1.CronJob{ObjectMeta: meta("a"), Spec: batchv1.CronJobSpec{
		Schedule: "@daily", JobTemplate: batchv1.JobTemplateSpec{Spec: job}}}, batch)
	moment := metav1.NewMicroTime(time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC))
	step("lease", "POST", group(coordinationv1.SchemeGroupVersion)+"/leases", &coordinationv1.Lease{ObjectMeta: meta("a"), Spec: coordinationv1.LeaseSpec{
		HolderIdentity: pointer("me"), LeaseDurationSeconds: pointer(int32(15)), AcquireTime: &moment, RenewTime: &moment}}, coordinationv1.SchemeGroupVersion)
	second := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	step("event", "POST", in+"/events", &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "a.1", Namespace: namespace},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: "p"}, Reason: "Tested", Message: "m", Type: "Normal",
		Source: corev1.EventSource{Component: "c"}, FirstTimestamp: second, LastTimestamp: second, Count: 1}, core)
	step("role", "POST", group(rbacv1.SchemeGroupVersion)+"/roles", &rbacv1.Role{ObjectMeta: meta("a"), Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}}}, rbacv1.SchemeGroupVersion)
	step("network policy", "POST", group(networkingv1.SchemeGroupVersion)+"/networkpolicies", &networkingv1.NetworkPolicy{ObjectMeta: meta("a"), Spec: networkingv1.NetworkPolicySpec{
		Ingress: []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{{Port: pointer(intstr.FromInt32(80))}}}}}}, networkingv1.SchemeGroupVersion)
	step("budget", "POST", group(policyv1.SchemeGroupVersion)+"/poddisruptionbudgets", &policyv1.PodDisruptionBudget{ObjectMeta: meta("a"), Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: pointer(intstr.FromString("50%")), Selector: selector}}, policyv1.SchemeGroupVersion)
	step("access review", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Resource: "pods", Namespace: namespace}}}, authorizationv1.SchemeGroupVersion)
	step("rules review", "POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews?dryRun=Wrong", &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace}}, authorizationv1.SchemeGroupVersion)
	step("token", "POST", in+"/serviceaccounts/a/token", &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: []string{"example.com"}, ExpirationSeconds: pointer(int64(3600))}}, authenticationv1.SchemeGroupVersion)
	step("eviction of an absent pod", "POST", in+"/pods/none/eviction", &policyv1.Eviction{ObjectMeta: meta("none")}, policyv1.SchemeGroupVersion)
	step("invalid", "POST", in+"/configmaps", &corev1.ConfigMap{ObjectMeta: meta("Bad Name")}, core)
	step("delete with options", "DELETE", in+"/configmaps/a", &metav1.DeleteOptions{PropagationPolicy: pointer(metav1.DeletePropagationBackground)}, core)
	fmt.Print("### not protobuf\nPOST /api/v1/namespaces/{{ns}}/configmaps\nContent-Type: application/vnd.kubernetes.protobuf\nBody-Base64: azhzAP8=\n\n")
	fmt.Print("### JSON called protobuf\nPOST /api/v1/namespaces/{{ns}}/configmaps\nContent-Type: application/vnd.kubernetes.protobuf\n\n{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\"}\n")
}
