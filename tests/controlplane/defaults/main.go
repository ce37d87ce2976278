// Command apidefaults knows what the API server makes of an object before admission sees it, from the API server's own code.
//
//	apidefaults apply   reads objects, one JSON document a line, and prints each as CEL sees it (or {"error": ...})
//	apidefaults table   prints webhook/admission/_defaults_table.py
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
)

// roots are the kinds that offline commands complete.
var roots = []runtime.Object{
	&batchv1.Job{}, &batchv1.CronJob{},
	&corev1.Pod{}, &corev1.PodTemplate{},
	&schedulingv1beta1.Workload{}, &schedulingv1beta1.PodGroup{},
}

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: apidefaults apply|table"))
	}
	switch os.Args[1] {
	case "apply":
		fail(applyLines())
	case "table":
		text, err := table()
		fail(err)
		fmt.Print(text)
	default:
		fail(fmt.Errorf("unknown command %q", os.Args[1]))
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func applyLines() error {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		seen, err := asAdmissionSees(lines.Bytes())
		if err != nil {
			seen = map[string]any{"error": err.Error()}
		}
		if err := out.Encode(seen); err != nil {
			return err
		}
	}
	return lines.Err()
}

// asAdmissionSees goes the way of a request: decode and default to the internal type, then what admission does for a
// policy (apiserver pkg/admission/conversion.go, pkg/admission/plugin/cel): to the versioned type, then to a map.
func asAdmissionSees(document []byte) (map[string]any, error) {
	internal, kind, err := legacyscheme.Codecs.UniversalDeserializer().Decode(document, nil, nil)
	if err != nil {
		return nil, err
	}
	legacyscheme.Scheme.Default(internal)
	hub, err := legacyscheme.Scheme.UnsafeConvertToVersion(internal, runtime.InternalGroupVersioner)
	if err != nil {
		return nil, err
	}
	versioned, err := legacyscheme.Scheme.ConvertToVersion(hub, kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(versioned)
}
