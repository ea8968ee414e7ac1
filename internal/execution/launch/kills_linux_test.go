package launch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// How TestKillsLoseNothing paces itself, and how long a run may take beyond all kills.
const (
	killEvery = 10 * time.Second
	longest   = 10 * time.Minute
)

// Runs end, and none works twice at once, while one part of the cluster or of Penstock is killed every
// ten seconds. `scripts/kube-test --kills N` starts all parts, restarts those that are killed, and runs
// this test on the node: so the test sees the processes of all agents, and when each begins and ends.
func TestKillsLoseNothing(t *testing.T) {
	t.Parallel()
	n, err := strconv.Atoi(os.Getenv("PENSTOCK_TEST_KILLS"))
	if err != nil {
		t.Skip("PENSTOCK_TEST_KILLS has no number of runs: `scripts/kube-test --kills 200` sets it")
	}
	k := newKilling(t)
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	defer working.Wait()
	defer stop()
	agents := watchAgents(t)
	working.Go(func() { agents.run(ctx) })
	for i := range n {
		k.create(i)
	}
	killing, enough := context.WithCancel(ctx)
	working.Go(func() { k.kill(killing) })
	ends := k.wait(longest + time.Duration(n)*killEvery)
	enough()
	k.report(ends)
	// An agent that still works after its run has ended is one too many.
	testkit.Eventually(t, time.Minute, agents.none)
	stop()
	working.Wait()
	agents.check(ends)
}

// killing holds what the test calls.
type killing struct {
	t       *testing.T
	cluster *cluster
	url     string
	ids     []string
	kills   map[string]int
}

func newKilling(t *testing.T) *killing {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := connect(config, "runs")
	if err != nil {
		t.Fatal(err)
	}
	return &killing{t: t, cluster: c, url: os.Getenv("PENSTOCK_BASE_URL") + "/api/v1/agent/", kills: map[string]int{}}
}

// api calls Penstock, until it answers.
func (k *killing) api(method, path, body string, result any) {
	k.t.Helper()
	key := penstock.NewUID()
	testkit.Eventually(k.t, 2*time.Minute, func() error {
		ctx, cancel := context.WithTimeout(k.t.Context(), 10*time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, method, k.url+path, strings.NewReader(body))
		if err != nil {
			return err
		}
		r.Header.Set("Authorization", "Bearer "+os.Getenv("PENSTOCK_API_KEY"))
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Idempotency-Key", key)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s %s: %s %s", method, path, resp.Status, raw)
		}
		return json.Unmarshal(raw, result)
	})
}

// create starts a run of two commands, which take some seconds.
func (k *killing) create(i int) {
	prompt := fmt.Sprintf("Run %d.\ndemo: run sleep 2; echo one >> steps\ndemo: run sleep 2; cat steps", i)
	body, err := json.Marshal(map[string]any{"prompt": prompt})
	if err != nil {
		k.t.Fatal(err)
	}
	var made struct {
		ID string `json:"run_id"`
	}
	k.api(http.MethodPost, "runs", string(body), &made)
	k.ids = append(k.ids, made.ID)
}

// runEnd is how a run has ended.
type runEnd struct {
	ID      string                  `json:"run_id"`
	State   penstock.State          `json:"state"`
	Message *penstock.StatusMessage `json:"status_message"`
	events  []timelineEvent
}

type timelineEvent struct {
	Type      string          `json:"event_type"`
	Execution int             `json:"execution_id"`
	Payload   json.RawMessage `json:"payload"`
}

// wait returns once all runs have ended.
func (k *killing) wait(limit time.Duration) map[string]runEnd {
	k.t.Helper()
	deadline := time.Now().Add(limit)
	ends := map[string]runEnd{}
	for _, id := range k.ids {
		for {
			var r runEnd
			k.api(http.MethodGet, "runs/"+id, "", &r)
			if r.State.Done() {
				var list struct {
					Events []timelineEvent `json:"events"`
				}
				k.api(http.MethodGet, "runs/"+id+"/timeline", "", &list)
				r.events = list.Events
				ends[id] = r
				break
			}
			if time.Now().After(deadline) {
				k.t.Fatalf("run %s is %s after %s, and %d of %d have ended", id, r.State, limit, len(ends), len(k.ids))
			}
			<-time.After(time.Second)
		}
	}
	return ends
}

// report says how the runs have ended. One that did not succeed must say why.
func (k *killing) report(ends map[string]runEnd) {
	k.t.Helper()
	states, executions := map[string]int{}, 0
	for _, r := range ends {
		last := 0
		for _, e := range r.events {
			last = max(last, e.Execution)
		}
		executions += last
		said := string(r.State)
		if r.State != penstock.StateSucceeded {
			if r.Message == nil || r.Message.Message == "" {
				k.t.Errorf("run %s is %s without a reason: %s", r.ID, r.State, r.said())
				continue
			}
			said += ": " + r.Message.Message
			k.t.Logf("run %s is %s: %s\n  %s", r.ID, r.State, r.Message.Message, r.said())
		}
		states[said]++
	}
	k.t.Logf("kills: %v", k.kills)
	for _, said := range slices.Sorted(maps.Keys(states)) {
		k.t.Logf("%d runs: %s", states[said], said)
	}
	k.t.Logf("%d runs had %d executions", len(ends), executions)
}

func (r runEnd) said() string {
	var said []string
	for _, e := range r.events {
		said = append(said, fmt.Sprintf("%d %s %s", e.Execution, e.Type, e.Payload))
	}
	return strings.Join(said, "\n  ")
}

// kill kills one part after the other until ctx ends.
func (k *killing) kill(ctx context.Context) {
	parts := map[string]func(context.Context) error{
		"launcher":         killProcess("penstock worker --launch"),
		"worker in a Pod":  killProcess("penstock worker --once"),
		"server":           killProcess("penstock serve"),
		"kubelet":          killProcess("kubelet "),
		"API server":       killProcess("cluster apiserver"),
		"controllers":      killProcess("cluster controller-manager"),
		"scheduler":        killProcess("cluster scheduler"),
		"containerd":       killProcess("containerd --config"),
		"Pod":              k.deletePod(""),
		"Pod, by force":    k.deletePod("?gracePeriodSeconds=0"),
		"command of a run": killProcess("/bin/sh -c sleep 2"),
	}
	for {
		names := slices.Sorted(maps.Keys(parts))
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, part := range names {
			next := time.After(killEvery)
			k.killOnce(ctx, part, parts[part])
			select {
			case <-ctx.Done():
				return
			case <-next:
			}
		}
	}
}

// killOnce waits for the part to be there.
func (k *killing) killOnce(ctx context.Context, part string, kill func(context.Context) error) {
	err := kill(ctx)
	for tries := 0; err != nil && ctx.Err() == nil && tries < 100; tries++ {
		<-time.After(killEvery / 100)
		err = kill(ctx)
	}
	k.t.Logf("%s kill: %s: %v", time.Now().Format(time.TimeOnly), part, err)
	if err == nil {
		k.kills[part]++
	}
}

// killProcess kills one process of those whose command line begins like this.
func killProcess(command string) func(context.Context) error {
	return func(context.Context) error {
		var found []process
		for _, p := range processes() {
			if strings.Contains(p.command, command) {
				found = append(found, p)
			}
		}
		if len(found) == 0 {
			return fmt.Errorf("there is no %s", command)
		}
		p, err := os.FindProcess(found[rand.IntN(len(found))].id)
		if err != nil {
			return err
		}
		return p.Kill()
	}
}

// deletePod deletes one Pod of a run.
func (k *killing) deletePod(query string) func(context.Context) error {
	return func(ctx context.Context) error {
		pods, err := k.cluster.listPods(ctx, labelManaged+"="+managedBy)
		if err != nil {
			return err
		}
		live := slices.DeleteFunc(pods.Items, func(p pod) bool {
			return ended(&p) || p.Meta.DeletionTimestamp != nil
		})
		if len(live) == 0 {
			return fmt.Errorf("there is no Pod")
		}
		name := live[rand.IntN(len(live))].Meta.Name
		return k.cluster.call(ctx, http.MethodDelete, k.cluster.path("v1", "pods")+"/"+name+query, nil, nil)
	}
}
