// Package control joins the rules of the control plane: rights, states, transactions, and the
// notifications after them. The HTTP layer, the command line and the worker act only through them.
//
// The rules are packages: access, announce, forge, run, factory. Each imports only those before it.
//
// A method of the rules takes the caller as a penstock.Principal. Resources of another team, and
// the personal runs of others, are reported as not found. Errors that are a *penstock.Error may be
// shown to the caller; all others are internal.
package control

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/announce"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// Rules are the control plane's rules over one store. They are safe for concurrent use.
type Rules struct {
	who
	forges
	runs
	starts
	announces

	deps run.Deps
}

// What a caller of the rules may use, by the package that has it.
type (
	who       = access.Rules
	forges    = forge.Rules
	runs      = run.Rules
	starts    = factory.Rules
	announces = announce.Rules
)

// New creates the rules. Nothing runs in the background before [Rules.Run].
func New(d run.Deps) *Rules {
	d.QueueTimeout = cmp.Or(d.QueueTimeout, 24*time.Hour)
	d.PublicURL = strings.TrimSuffix(d.PublicURL, "/")
	r := &Rules{deps: d}
	r.who = access.New(access.Options{
		Store: d.Store, Keyset: d.Keyset, Sessions: d.Sessions, Providers: d.SignIn, MaxSecrets: d.MaxSecrets,
		OnSecretChange: func(ctx context.Context, tx *store.Tx, p penstock.Principal, name, value string) error {
			return r.Webhooks.FollowSecret(ctx, tx, p, name, value)
		},
		OnDisable: func(ctx context.Context, tx *store.Tx, team, uid string) error {
			return r.Schedules.PauseOf(ctx, tx, team, uid)
		},
	})
	r.forges = forge.New(forge.Options{
		Store: d.Store, Keyset: d.Keyset, Responses: r.Responses, Log: d.Log, PublicURL: d.PublicURL,
		Outbound: d.Forges,
	})
	r.runs = run.New(d, r.who, r.forges)
	r.starts = factory.New(d, r.who, r.forges, r.runs)
	r.announces = announce.New(announce.Options{
		Store: d.Store, Keyset: d.Keyset, Responses: r.Responses, Log: d.Log, PublicURL: d.PublicURL,
		Networks: d.EventNetworks, Resolve: d.EventResolve, Dial: d.EventDial, Now: d.EventNow,
		Answer: func(ctx context.Context, p penstock.Principal, q announce.Question, message string) error {
			_, err := r.Questions.Answer(ctx, p, q.RunID, q.Execution, message)
			return err
		},
		Cancel: func(ctx context.Context, p penstock.Principal, q announce.Question) error {
			return r.Questions.Cancel(ctx, p, q.RunID, q.Execution)
		},
	})
	return r
}

// Ready returns nil if the store is reachable and writable, and the worker of this process is
// known. Before that, a run would report that no worker can execute it. Otherwise it returns
// resource_unavailable.
func (r *Rules) Ready(ctx context.Context) error {
	if r.deps.LocalWorker && !r.Executions.HasLocalWorker() {
		return &penstock.Error{
			Code: penstock.CodeUnavailable, Detail: "the worker of this server is starting", RetryAfter: time.Second,
		}
	}
	if err := r.deps.Store.Ping(ctx); err != nil {
		return &penstock.Error{Code: penstock.CodeUnavailable, Detail: "the database does not respond", Cause: err}
	}
	return nil
}
