package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/execution/launch"
)

func TestPlacesOfPods(t *testing.T) {
	t.Parallel()
	l := launching{
		PodNodeSelector: []string{"pool=agents", "gpu="},
		PodToleration:   []string{"dedicated=agents:NoSchedule", "spot:NoExecute", "any"},
	}
	if err := l.Validate(); err != nil {
		t.Fatal(err)
	}
	selector, err := l.nodeSelector()
	if diff := cmp.Diff(map[string]string{"pool": "agents", "gpu": ""}, selector); diff != "" || err != nil {
		t.Errorf("the node selector (-want +got, error %v):\n%s", err, diff)
	}
	tolerations, err := l.tolerations()
	want := []launch.Toleration{
		{Key: "dedicated", Operator: "Equal", Value: "agents", Effect: "NoSchedule"},
		{Key: "spot", Operator: "Exists", Effect: "NoExecute"},
		{Key: "any", Operator: "Exists"},
	}
	if diff := cmp.Diff(want, tolerations); diff != "" || err != nil {
		t.Errorf("the tolerations (-want +got, error %v):\n%s", err, diff)
	}
	for given, word := range map[*launching]string{
		{PodNodeSelector: []string{"pool"}}:       `--pod-node-selector: "pool" is not LABEL=VALUE`,
		{PodToleration: []string{"a=b:Sometime"}}: `--pod-toleration: "a=b:Sometime"`,
		{PodToleration: []string{"=b"}}:           `--pod-toleration: "=b"`,
	} {
		if err := given.Validate(); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%+v: got %v, want %q in it", given, err, word)
		}
	}
}
