package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// realCluster is a namespace of a real cluster whose only node is the test: it writes the status of Pods.
type realCluster struct {
	*cluster
	t *testing.T
	o Options
	p *plane
}

// newReal uses the cluster of the kubeconfig PENSTOCK_TEST_KUBECONFIG, which needs the API server,
// the controllers and the scheduler, but no kubelet.
func newReal(t *testing.T, p *plane) *realCluster {
	t.Helper()
	path := os.Getenv("PENSTOCK_TEST_KUBECONFIG")
	if path == "" {
		t.Skip("PENSTOCK_TEST_KUBECONFIG names no cluster: `make kube-test` builds one and runs this test")
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	o := options(nil, p)
	o.Cluster, o.Namespace = config, "runs-"+strings.ToLower(penstock.NewUID()[:8])
	c, err := connect(config, o.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	r := &realCluster{cluster: c, t: t, o: o, p: p}
	r.must(http.MethodPost, "/api/v1/namespaces", map[string]any{"metadata": map[string]any{"name": o.Namespace}})
	t.Cleanup(func() {
		_ = c.call(context.Background(), http.MethodDelete, "/api/v1/namespaces/"+o.Namespace, nil, nil)
	})
	r.must(http.MethodPost, c.path("v1", "serviceaccounts"), map[string]any{"metadata": map[string]any{"name": "default"}})
	r.node("test-node")
	return r
}

func (r *realCluster) must(method, path string, body any) {
	r.t.Helper()
	if err := r.call(r.t.Context(), method, path, body, nil); err != nil && answered(err) != http.StatusConflict {
		r.t.Fatal(err)
	}
}

func (r *realCluster) patch(path string, change any) {
	r.t.Helper()
	raw, err := json.Marshal(change)
	if err != nil {
		r.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPatch, r.base+path, bytes.NewReader(raw))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/merge-patch+json")
	resp, err := r.http.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		r.t.Fatalf("patch %s: %s", path, resp.Status)
	}
}

func (r *realCluster) node(name string) {
	r.must(http.MethodPost, "/api/v1/nodes", map[string]any{"metadata": map[string]any{"name": name}})
	r.patch("/api/v1/nodes/"+name+"/status", map[string]any{"status": map[string]any{
		"allocatable": map[string]string{"cpu": "64", "memory": "256Gi", "pods": "500", "ephemeral-storage": "1Ti"},
		"conditions": []map[string]any{{
			"type": "Ready", "status": "True", "reason": "Test", "lastHeartbeatTime": time.Now().UTC().Format(time.RFC3339),
			"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
		}},
	}})
	r.patch("/api/v1/nodes/"+name, map[string]any{"spec": map[string]any{"taints": nil}})
}

// scheduled waits for the Pod of the run, until the scheduler has given it a node.
func (r *realCluster) scheduled(id string) pod {
	r.t.Helper()
	var found pod
	testkit.Eventually(r.t, time.Minute, func() error {
		pods, err := r.listPods(r.t.Context(), r.o.selector()+","+labelRun+"="+id)
		if err != nil {
			return err
		}
		if len(pods.Items) != 1 || pods.Items[0].Spec.NodeName == "" {
			return fmt.Errorf("got Pods %+v", pods.Items)
		}
		found = pods.Items[0]
		return nil
	})
	return found
}

// The real API stores the Job as it is sent, its controllers create the Pod, and a loss is reported
// with its reason.
func TestRealAPIAcceptsTheJobAndReportsLosses(t *testing.T) {
	t.Parallel()
	p := newPlane()
	r := newReal(t, p)
	l, err := New(r.o)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Preflight(t.Context()); err != nil {
		t.Fatalf("preflight: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var launching sync.WaitGroup
	launching.Go(func() {
		if err := l.Run(ctx); err != nil && ctx.Err() == nil {
			t.Errorf("run: %v", err)
		}
	})
	defer launching.Wait()
	defer cancel()
	for reason, status := range map[string]map[string]any{
		"InvalidImageName": {"phase": "Pending", "containerStatuses": []any{map[string]any{
			"name": mainContainer, "image": "x", "imageID": "", "ready": false, "restartCount": 0,
			"state": map[string]any{"waiting": map[string]any{"reason": "InvalidImageName", "message": "x"}},
		}}},
		"OOMKilled": {"phase": "Failed", "containerStatuses": []any{map[string]any{
			"name": mainContainer, "image": "x", "imageID": "", "ready": false, "restartCount": 0,
			"state": map[string]any{"terminated": map[string]any{"reason": "OOMKilled", "exitCode": 137}},
		}}},
		"Evicted": {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."},
	} {
		id := strings.ToLower(reason)
		p.mu.Lock()
		p.waiting = append(p.waiting, newPlane(id).waiting...)
		p.mu.Unlock()
		made := r.scheduled(id)
		if reason != "InvalidImageName" {
			p.adopt(id)
		}
		r.patch(r.path("v1", "pods")+"/"+made.Meta.Name+"/status", map[string]any{"status": status})
		testkit.Eventually(t, time.Minute, func() error {
			losses, _ := p.lost()
			for _, loss := range losses {
				if loss.Reason == reason {
					return nil
				}
			}
			return fmt.Errorf("got losses %+v, want %s", losses, reason)
		})
	}
}

// The real API keeps everything that places a Pod. Where it refuses a part of that, the launcher names
// the field, and does not blame user namespaces.
func TestRealAPIAcceptsWhatPlacesPods(t *testing.T) {
	t.Parallel()
	r := newReal(t, newPlane())
	r.o.NodeSelector = map[string]string{"pool": "agents", "kubernetes.io/arch": "arm64"}
	r.o.Tolerations = []Toleration{
		{Key: "dedicated", Operator: "Equal", Value: "agents", Effect: "NoSchedule"}, {Key: "spot", Operator: "Exists"},
	}
	r.o.RuntimeClass, r.o.PriorityClass, r.o.PullSecrets = "gvisor", "batch", []string{"registry"}
	l, err := New(r.o)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Preflight(t.Context()); err != nil {
		t.Fatalf("preflight: %v", err)
	}
	a := penstock.Assignment{
		Lease:  penstock.Lease{RunID: penstock.NewID(), ExecutionID: 1},
		Runner: &penstock.RunnerSpec{Image: "debian:13", OS: "linux", Arch: "x86_64", VCPUs: 2, MemoryGB: 1.5},
	}
	made, err := l.cluster.createJob(t.Context(), l.newJob(a), true)
	if err != nil {
		t.Fatal(err)
	}
	got := made.Spec.Template.Spec
	want := podSpec{
		NodeSelector: map[string]string{"pool": "agents", "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"},
		Tolerations:  r.o.Tolerations, RuntimeClassName: "gvisor", PriorityClassName: "batch",
		ImagePullSecrets: []named{{"registry"}},
	}
	kept := podSpec{
		NodeSelector: got.NodeSelector, Tolerations: got.Tolerations, RuntimeClassName: got.RuntimeClassName,
		PriorityClassName: got.PriorityClassName, ImagePullSecrets: got.ImagePullSecrets,
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("the API keeps (-want +got):\n%s", diff)
	}
	if limits := marshalled(t, got.Containers[0].Resources["limits"]); limits != `{"cpu":"2","memory":"1500M"}` {
		t.Errorf("got limits %s", limits)
	}

	l.Tolerations[0].Effect = "Sometimes"
	err = l.Preflight(t.Context())
	if err == nil || errors.Is(err, ErrUnsealed) || !strings.Contains(err.Error(), "tolerations[0].effect") {
		t.Errorf("with an unknown effect: got %v", err)
	}
}

// The real API accepts the manifests of the documentation, and the policy holds for the Pods of runs.
func TestRealAPIAcceptsTheManifestsOfTheDocumentation(t *testing.T) {
	t.Parallel()
	r := newReal(t, newPlane())
	page, err := os.ReadFile("../../../docs/deploy/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{
		"Role":          "/apis/rbac.authorization.k8s.io/v1/namespaces/" + r.namespace + "/roles",
		"NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/" + r.namespace + "/networkpolicies",
	}
	for _, block := range strings.Split(string(page), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		var manifest map[string]any
		var parts struct {
			Kind string `yaml:"kind"`
			Spec struct {
				PodSelector struct {
					MatchLabels map[string]string `yaml:"matchLabels"`
				} `yaml:"podSelector"`
			} `yaml:"spec"`
		}
		text = strings.ReplaceAll(text, "namespace: runs}", "namespace: "+r.namespace+"}")
		if err := errors.Join(yaml.Unmarshal([]byte(text), &manifest), yaml.Unmarshal([]byte(text), &parts)); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		kind := parts.Kind
		if kinds[kind] == "" {
			t.Errorf("there is no path for the kind %q", kind)
			continue
		}
		path := kinds[kind] + "?dryRun=All&fieldValidation=Strict"
		if err := r.call(t.Context(), http.MethodPost, path, manifest, nil); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		labels := r.o.newJob(penstock.Assignment{}).Spec.Template.Meta.Labels
		for name, value := range parts.Spec.PodSelector.MatchLabels {
			if labels[name] != value {
				t.Errorf("the policy selects %s=%s, but a Pod has %v", name, value, labels)
			}
		}
		delete(kinds, kind)
	}
	if len(kinds) > 0 {
		t.Errorf("the page lacks %v", kinds)
	}
}
