package worker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/supply/secret"
	"github.com/penstock-dev/penstock/internal/wall/gate"
)

// pushGates are the ways of a sealed run to push. The proxy forwards no push to a host that has one.
type pushGates struct {
	dir   string // of the quarantines
	list  []pushGate
	stop  context.CancelFunc
	ready func() bool // the agent runs
}

// pushGate is the gate of one repository.
type pushGate struct {
	*gate.Gate

	address string // HOST:PORT
	path    string // of the repository's URL, in lower case, without .git
	name    string
}

// pushDir is the folder of the quarantines, beside the workspace. No sandbox sees it.
const pushDir = "push"

// minKnownSecret is the length from which a value of the run stops a push: shorter ones occur by chance.
const minKnownSecret = 12

// maxRefusals limits the refusals of an execution on its timeline.
const maxRefusals = 100

// openPushes makes the gates of an execution.
func (o *outlet) openPushes(ctx context.Context) error {
	o.pushes.dir = filepath.Join(o.kept, pushDir)
	if err := os.RemoveAll(o.pushes.dir); err != nil { // the rest of a killed worker
		return err
	}
	if len(o.task.Pushes) == 0 || o.task.w.Repositories == nil {
		return nil
	}
	if err := os.Mkdir(o.pushes.dir, 0o700); err != nil {
		return err
	}
	ctx, o.pushes.stop = context.WithCancel(ctx)
	o.pushes.ready = func() bool { return !o.preparing.Load() }
	var known []string
	for _, value := range o.task.secrets() {
		if len(value) >= minKnownSecret {
			known = append(known, value)
		}
	}
	masker := secret.NewMasker(known...)
	report := o.pushed()
	for i, grant := range o.task.Pushes {
		u, err := url.Parse(grant.URL)
		if err != nil {
			return setupFailed("The URL of the repository %s is invalid.", grant.Path)
		}
		source := git.Source{URL: grant.URL, Password: o.task.NetworkSecrets[grant.Credential]}
		dir := filepath.Join(o.pushes.dir, strconv.Itoa(i))
		o.pushes.list = append(o.pushes.list, pushGate{
			address: penstock.HostPort(u), name: grant.Path,
			path: strings.TrimSuffix(strings.ToLower(u.EscapedPath()), ".git"),
			Gate: gate.New(ctx, gate.Options{
				Repository: grant.Path, Connection: grant.Connection, Base: grant.Ref, Bot: grant.Bot, Policy: grant.Policy,
				Known: masker, Report: report, Log: o.task.log,
				Open: func(ctx context.Context) (*git.Quarantine, error) {
					return git.NewQuarantine(ctx, o.task.w.Repositories, source, dir)
				},
				Claim: func(ctx context.Context, branches []penstock.PushedBranch) ([]string, error) {
					return o.claimBranches(ctx, penstock.PushClaim{URL: grant.URL, Branches: branches})
				},
			}),
		})
	}
	return nil
}

func (o *outlet) claimBranches(ctx context.Context, claim penstock.PushClaim) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	refusals, err := o.task.w.Control.ClaimBranches(ctx, o.task.Lease, claim)
	if err != nil {
		o.task.log.Info("cannot claim branches", "error", err)
		if errors.Is(err, penstock.ErrLeaseLost) {
			return nil, &gate.Error{Sentence: "the run is over"}
		}
		return nil, &gate.Error{Sentence: "the worker cannot reach the Penstock server now. Push again"}
	}
	return refusals, nil
}

// pushed returns what records the pushes of an execution on the timeline. An accepted one is stored before git
// hears of it.
func (o *outlet) pushed() func(gate.Result) {
	var mu sync.Mutex
	refused := map[string]bool{}
	return func(r gate.Result) {
		payload := map[string]any{"repository": r.Repository, "branch": r.Branch, "before": r.Before, "after": r.After}
		if r.Refusal == "" {
			payload["commits"], payload["forced"] = r.Commits, r.Forced
			o.task.timeline(timelinePushAccepted, payload)
			_ = o.task.events.Flush() // an execution that cannot append ends by itself
			return
		}
		mu.Lock()
		key := fmt.Sprint(r.Repository, "\n", r.Branch, "\n", r.Refusal)
		first := !refused[key] && len(refused) < maxRefusals
		if first {
			refused[key] = true
		}
		mu.Unlock()
		if first {
			payload["reason"] = r.Refusal
			o.task.timeline(timelinePushRefused, payload)
		}
	}
}

// handler serves a push to a repository, nil if the host has no gate.
func (p *pushGates) handler(host string, port int, path string) http.Handler {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	repository := strings.TrimSuffix(strings.ToLower(path), ".git")
	var names []string
	for _, g := range p.list {
		if g.address != address {
			continue
		}
		if g.path == repository && p.ready() {
			return g
		}
		names = append(names, g.name)
	}
	if names == nil {
		return nil
	}
	sentence := "Penstock: this run may push to " + strings.Join(names, " and ") + " only."
	if !p.ready() {
		sentence = "Penstock: the preparation of an environment pushes nothing."
	}
	return gate.Refusing(sentence)
}

// close ends all pushes.
func (p *pushGates) close() {
	if p.stop != nil {
		p.stop()
	}
	for _, g := range p.list {
		g.Wait()
	}
	_ = os.RemoveAll(p.dir)
}
