// Command workloads builds group objects with Kubernetes' own library for controller authors, one question a line:
// component-helpers/scheduling/schedulingv1/workloadbuilder. Input and output are JSON; an answer has what is wrong with the
// question (type and field of each error), or the Workload and its PodGroup.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/scheduling/schedulingv1/workloadbuilder"
)

type blocks struct {
	SchedulingPolicy      *schedulingv1alpha3.WorkloadPodGroupSchedulingPolicy      `json:"schedulingPolicy"`
	SchedulingConstraints *schedulingv1alpha3.WorkloadPodGroupSchedulingConstraints `json:"schedulingConstraints"`
	DisruptionMode        *schedulingv1alpha3.WorkloadPodGroupDisruptionMode        `json:"disruptionMode"`
	ResourceClaims        []schedulingv1alpha3.WorkloadPodGroupResourceClaim        `json:"resourceClaims"`
}

type question struct {
	Name              string                `json:"name"`
	Asked             blocks                `json:"asked"`
	Default           blocks                `json:"default"`
	PriorityClassName string                `json:"priorityClassName"`
	Count             int32                 `json:"count"`
	AllowedPolicies   []string              `json:"allowedPolicies"`
	AllowedModes      []string              `json:"allowedModes"`
	Owner             metav1.OwnerReference `json:"owner"`
	Workload          string                `json:"workload"`
	PodGroup          string                `json:"podGroup"`
}

type problem struct {
	Type   string `json:"type"`
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

type answer struct {
	Errors   []problem `json:"errors,omitempty"`
	Workload any       `json:"workload,omitempty"`
	PodGroup any       `json:"podGroup,omitempty"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 0, 1<<16), 1<<22)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, "not a question:", err)
			os.Exit(1)
		}
		if err := out.Encode(reply(asked)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func reply(asked question) answer {
	builder := workloadbuilder.NewBuilder(item(asked), workloadbuilder.BuildOptions{
		Name: asked.Workload, Namespace: "team-a", Owner: &asked.Owner,
		AllowedPolicies: policies(asked.AllowedPolicies), AllowedDisruptionModes: modes(asked.AllowedModes),
	})
	var found answer
	for _, wrong := range builder.Validate(context.Background(), workloadbuilder.ValidationInput{}) {
		found.Errors = append(found.Errors, problem{string(wrong.Type), wrong.Field, wrong.Detail})
	}
	if found.Errors != nil {
		return found
	}
	workload, err := builder.BuildWorkload()
	if err != nil {
		return answer{Errors: []problem{{Type: "Build", Detail: err.Error()}}}
	}
	group, err := builder.NewPodGroup(asked.PodGroup, asked.Name)
	if err != nil {
		return answer{Errors: []problem{{Type: "Build", Detail: err.Error()}}}
	}
	return answer{Workload: workload, PodGroup: group}
}

// item gives a gang without a number that of all pods, as the Job controller does.
func item(asked question) *workloadbuilder.WorkloadItem {
	count := func(config *workloadbuilder.SchedulingConfig) {
		if config.Policy != nil && config.Policy.Gang != nil && config.Policy.Gang.MinCount == nil && asked.Count > 0 {
			config.Policy.Gang.MinCount = &asked.Count
		}
	}
	return &workloadbuilder.WorkloadItem{
		Name: asked.Name, Path: field.NewPath("spec", "scheduling"), Input: input(asked.Asked),
		DefaultConfig: defaults(asked), Callbacks: []workloadbuilder.SchedulingConfigFunc{count},
	}
}

// defaults says what a controller wants where its user says nothing, in the library's own types.
func defaults(asked question) *workloadbuilder.SchedulingConfig {
	config := &workloadbuilder.SchedulingConfig{PriorityClassName: asked.PriorityClassName}
	if policy := asked.Default.SchedulingPolicy; policy != nil {
		if policy.Basic != nil {
			config.Policy = &workloadbuilder.SchedulingPolicy{Basic: &workloadbuilder.BasicSchedulingPolicy{}}
		} else if policy.Gang != nil {
			config.Policy = &workloadbuilder.SchedulingPolicy{
				Gang: &workloadbuilder.GangSchedulingPolicy{MinCount: policy.Gang.MinCount},
			}
		}
	}
	if mode := asked.Default.DisruptionMode; mode != nil {
		config.DisruptionMode = &workloadbuilder.DisruptionMode{}
		if mode.All != nil {
			config.DisruptionMode.All = &workloadbuilder.AllDisruptionMode{}
		} else {
			config.DisruptionMode.Single = &workloadbuilder.SingleDisruptionMode{}
		}
	}
	return config
}

func input(given blocks) workloadbuilder.WorkloadInput {
	return workloadbuilder.WorkloadInput{
		Policy:         workloadbuilder.PolicyInput{PodGroupData: given.SchedulingPolicy, PathElements: []string{"schedulingPolicy"}},
		Constraints:    workloadbuilder.ConstraintsInput{PodGroupData: given.SchedulingConstraints, PathElements: []string{"schedulingConstraints"}},
		DisruptionMode: workloadbuilder.DisruptionModeInput{PodGroupData: given.DisruptionMode, PathElements: []string{"disruptionMode"}},
		ResourceClaims: workloadbuilder.ResourceClaimsInput{PodGroupData: given.ResourceClaims, PathElements: []string{"resourceClaims"}},
	}
}

func policies(names []string) (found []workloadbuilder.SchedulingPolicyOption) {
	for _, name := range names {
		found = append(found, map[string]workloadbuilder.SchedulingPolicyOption{
			"basic": workloadbuilder.BasicPolicy, "gang": workloadbuilder.GangPolicy}[name])
	}
	return found
}

func modes(names []string) (found []workloadbuilder.DisruptionModeOption) {
	for _, name := range names {
		found = append(found, map[string]workloadbuilder.DisruptionModeOption{
			"single": workloadbuilder.SingleMode, "all": workloadbuilder.AllMode}[name])
	}
	return found
}
