package main

import (
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/kubernetes/pkg/apis/admissionregistration"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/networking"
	"k8s.io/kubernetes/pkg/apis/policy"
	"k8s.io/kubernetes/pkg/apis/rbac"
	"k8s.io/kubernetes/pkg/apis/resource"
	"k8s.io/kubernetes/pkg/apis/storage"
)

var out = map[string]string{}

func tag(f reflect.StructField) (name string, omit bool, inline bool) {
	t, ok := f.Tag.Lookup("json")
	if !ok {
		return "", false, f.Anonymous
	}
	parts := strings.Split(t, ",")
	for _, p := range parts[1:] {
		if p == "omitempty" || p == "omitzero" {
			omit = true
		}
		if p == "inline" {
			inline = true
		}
	}
	if parts[0] == "" && f.Anonymous {
		inline = true
	}
	return parts[0], omit, inline
}

func flat(t reflect.Type) []reflect.StructField {
	var r []reflect.StructField
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		_, _, inline := tag(f)
		ft := f.Type
		if ft.Kind() == reflect.Ptr {
			ft = ft.Elem()
		}
		if inline && ft.Kind() == reflect.Struct {
			r = append(r, flat(ft)...)
			continue
		}
		if f.PkgPath != "" {
			continue
		}
		r = append(r, f)
	}
	return r
}

func name(t reflect.Type) string {
	switch t.String() {
	case "v1.Time", "v1.MicroTime":
		return "t"
	case "resource.Quantity":
		return "q"
	case "intstr.IntOrString":
		return "x"
	}
	switch t.Kind() {
	case reflect.String:
		return "s"
	case reflect.Bool:
		return "b"
	case reflect.Int32, reflect.Int64, reflect.Int, reflect.Uint32, reflect.Uint64, reflect.Float64, reflect.Uint16, reflect.Uint8:
		return "i"
	case reflect.Ptr:
		return "*"
	case reflect.Slice:
		return "[]"
	case reflect.Map:
		return "{}"
	case reflect.Struct:
		return t.Name()
	}
	return "?" + t.String()
}

func typ(in, ex reflect.Type) string {
	switch name(in) {
	case "*":
		return "*" + typ(in.Elem(), elem(ex))
	case "[]":
		if in.Elem().Kind() == reflect.Uint8 {
			return "*s"
		}
		return "[]" + typ(in.Elem(), elem(ex))
	case "{}":
		return "{}" + typ(in.Elem(), elem(ex))
	case "t", "q", "x", "s", "b", "i":
		return name(in)
	}
	walk(in, ex)
	return in.Name()
}

func elem(t reflect.Type) reflect.Type {
	if t == nil {
		return nil
	}
	switch t.Kind() {
	case reflect.Ptr, reflect.Slice, reflect.Map:
		return t.Elem()
	}
	return t
}

func walk(in, ex reflect.Type) {
	if ex != nil && ex.Kind() == reflect.Ptr {
		ex = ex.Elem()
	}
	if _, ok := out[in.Name()]; ok {
		return
	}
	out[in.Name()] = ""
	ext := map[string]reflect.StructField{}
	if ex != nil && ex.Kind() == reflect.Struct {
		for _, f := range flat(ex) {
			ext[strings.ToLower(f.Name)] = f
		}
	}
	var parts []string
	for _, f := range flat(in) {
		jn, omit, _ := tag(f)
		shown := f.Name
		var source string
		var et reflect.Type
		if jn != "" {
			shown = jn
			source = jn
		}
		if e, ok := ext[strings.ToLower(f.Name)]; ok {
			n, _, _ := tag(e)
			source = n
			et = e.Type
			if source == "" {
				source = "-"
			}
		} else if source == "" {
			// Only what a pod shares with its host stands elsewhere outside.
			source = strings.ToLower(f.Name[:1]) + f.Name[1:]
			fmt.Fprintln(os.Stderr, "no external:", in.String(), f.Name)
		}
		if jn == "-" {
			continue
		}
		q := ""
		if omit {
			q = "?"
		}
		if source == shown {
			source = ""
		}
		ty := typ(f.Type, et)
		parts = append(parts, fmt.Sprintf("%s%s=%s:%s", shown, q, source, ty))
	}
	out[in.Name()] = strings.Join(parts, " ")
}

func main() {
	p := func(a, b any) { walk(reflect.TypeOf(a), reflect.TypeOf(b)) }
	p(core.PodTemplateSpec{}, corev1.PodTemplateSpec{})
	p(core.PersistentVolumeSpec{}, corev1.PersistentVolumeSpec{})
	p(core.PersistentVolumeClaimSpec{}, corev1.PersistentVolumeClaimSpec{})
	p(core.PersistentVolumeSource{}, corev1.PersistentVolumeSource{})
	p(core.NodeSelector{}, corev1.NodeSelector{})
	p(resource.ResourceClaimSpec{}, resourcev1.ResourceClaimSpec{})
	p(apps.DeploymentStrategy{}, appsv1.DeploymentStrategy{})
	p(apps.DaemonSetUpdateStrategy{}, appsv1.DaemonSetUpdateStrategy{})
	p(apps.StatefulSetUpdateStrategy{}, appsv1.StatefulSetUpdateStrategy{})
	p(batch.PodFailurePolicy{}, batchv1.PodFailurePolicy{})
	p(batch.SuccessPolicy{}, batchv1.SuccessPolicy{})
	p(rbac.RoleRef{}, rbacv1.RoleRef{})
	p(policy.PodDisruptionBudgetSpec{}, policyv1.PodDisruptionBudgetSpec{})
	p(networking.ParentReference{}, networkingv1.ParentReference{})
	p(networking.IngressBackend{}, networkingv1.IngressBackend{})
	p(storage.CSIDriverSpec{}, storagev1.CSIDriverSpec{})
	p(storage.VolumeAttachmentSpec{}, storagev1.VolumeAttachmentSpec{})
	p(storage.TokenRequest{}, storagev1.TokenRequest{})
	p(autoscaling.MetricSpec{}, autoscalingv2.MetricSpec{})
	p(admissionregistration.ParamKind{}, admissionregistrationv1.ParamKind{})
	var names []string
	for n := range out {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		fmt.Printf("%s %s\n", n, out[n])
	}
}
