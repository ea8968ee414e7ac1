package forge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

type world struct {
	*testworld.World

	forge *testkit.Forge
}

func worlds(t *testing.T, test func(*testing.T, *world)) {
	t.Helper()
	var forges sync.Map
	testworld.Each(t, func(d *run.Deps) {
		f := testkit.NewForge(t, t.TempDir())
		d.Forges = testworld.To(t, f)
		forges.Store(d.Forges, f)
	}, func(w *testworld.World) {
		f, _ := forges.Load(w.Deps.Forges)
		test(w.T, &world{w, f.(*testkit.Forge)}) //nolint:errcheck,forcetypeassert // stored above
	})
}

func (w *world) admin() penstock.Principal { return w.As("admin", penstock.ScopeForgesManage) }

func (w *world) connect(change func(*forge.ConnectRequest)) (penstock.Forge, error) {
	req := forge.ConnectRequest{Name: "acme", Provider: penstock.HostGitea, URL: w.forge.URL, Token: "writer"}
	if change != nil {
		change(&req)
	}
	return w.Connections.Create(w.T.Context(), w.admin(), req)
}

func (w *world) connected(change func(*forge.ConnectRequest)) penstock.Forge {
	w.T.Helper()
	f, err := w.connect(change)
	if err != nil {
		w.T.Fatal(err)
	}
	return f
}

func TestAConnectionIsTriedAtOnce(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		f := w.connected(func(r *forge.ConnectRequest) { r.ReadToken = "reader" })
		if f.Status != penstock.ForgeConnected || f.Bot == nil || f.Bot.Login != "penstock-bot" || !f.ReadToken {
			t.Errorf("got %+v", f)
		}
		text, err := json.Marshal(f)
		if err != nil || strings.Contains(string(text), "writer") || strings.Contains(string(text), `"reader"`) {
			t.Errorf("the response shows a token: %s %v", text, err)
		}
		for name, tt := range map[string]struct {
			change func(*forge.ConnectRequest)
			want   string
		}{
			"refused token": {func(r *forge.ConnectRequest) { r.Token = "unknown" }, "/token"},
			"not the API":   {func(r *forge.ConnectRequest) { r.URL += "/elsewhere" }, "/url"},
			"plain HTTP":    {func(r *forge.ConnectRequest) { r.URL = strings.Replace(r.URL, "https", "http", 1) }, "https://"},
			"with a token":  {func(r *forge.ConnectRequest) { r.URL = "https://bot:writer@" + r.URL[len("https://"):] }, "/url"},
			"no token":      {func(r *forge.ConnectRequest) { r.Token = "" }, "/token"},
			"two lines":     {func(r *forge.ConnectRequest) { r.Token = "writer\nx" }, "/token"},
			"a page":        {func(r *forge.ConnectRequest) { r.URL += "/acme?tab=x" }, "/url"},
			"bad name":      {func(r *forge.ConnectRequest) { r.Name = "Acme Inc" }, "/name"},
			"bad pattern":   {func(r *forge.ConnectRequest) { r.Repositories = []string{"*/shop"} }, "/repositories/0"},
			"no factory":    {func(r *forge.ConnectRequest) { r.Factories = []string{"gone"} }, "/factories/0"},
			"taken name":    {func(*forge.ConnectRequest) {}, "already"},
			"gitlab":        {func(r *forge.ConnectRequest) { r.Provider = penstock.HostGitLab }, "gitlab"},
		} {
			_, err := w.connect(func(r *forge.ConnectRequest) {
				if name != "taken name" && name != "bad name" {
					r.Name = "other"
				}
				tt.change(r)
			})
			text, _ := json.Marshal(err)
			shown := fmt.Sprint(err) + string(text)
			if err == nil || !strings.Contains(shown, tt.want) || strings.Contains(shown, "writer") {
				t.Errorf("%s: got %s, want %s", name, shown, tt.want)
			}
		}
		if list, err := w.Connections.List(t.Context(), w.admin()); err != nil || len(list) != 1 {
			t.Errorf("got %d connections, %v; a rejected request leaves nothing", len(list), err)
		}
	})
}

// As in OpenHands/OpenHands#14927, forges are served below a path, and people give the URL of the API.
func TestTheURLOfAForgeHasManyForms(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		for i, suffix := range []string{"/", "/api/v1", "/api/v1/", "/git", "/git/api/v1/"} {
			w.forge.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
				r.URL.Path = strings.TrimPrefix(r.URL.Path, "/git")
				return false
			})
			f := w.connected(func(r *forge.ConnectRequest) {
				r.Name, r.URL = fmt.Sprintf("forge-%d", i), strings.ToUpper(r.URL[:5])+r.URL[5:]+suffix
			})
			want := w.forge.URL
			if strings.HasPrefix(suffix, "/git") {
				want += "/git"
			}
			if f.URL != want || f.Status != penstock.ForgeConnected {
				t.Errorf("%s: got %s %s (%s), want %s", suffix, f.URL, f.Status, f.Problem, want)
			}
			if got := f.CloneURL("acme/shop"); got != want+"/acme/shop.git" {
				t.Errorf("%s: got %s", suffix, got)
			}
		}
	})
}

func TestACheckNamesWhatIsMissing(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		f := w.connected(func(r *forge.ConnectRequest) { r.ReadToken = "reader" })
		check := func(status penstock.ForgeStatus, missing ...string) {
			t.Helper()
			got, err := w.Connections.Check(t.Context(), w.admin(), f.UID)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, c := range got.Checks {
				if !c.Passed {
					names = append(names, c.Name)
				}
			}
			if diff := cmp.Diff(missing, names); diff != "" || got.Forge.Status != status {
				t.Errorf("got %s %+v (-want +got)\n%s", got.Forge.Status, got.Checks, diff)
			}
		}
		check(penstock.ForgeConnected)
		w.forge.Grant("writer", "write:repository", "read:user") // as in Mic92/gitea-mq#67
		check(penstock.ForgeDegraded, "write:issue")
		w.forge.Grant("writer", "write:repository", "write:issue")
		check(penstock.ForgeDegraded, "read:user")
		w.forge.Grant("writer", "read:repository", "read:issue", "read:user")
		check(penstock.ForgeDegraded, "write:repository", "write:issue")
		w.forge.Grant("writer", "write:repository", "write:issue", "read:user")
		w.forge.Grant("reader", "write:repository")
		check(penstock.ForgeDegraded, "read_token reads only")
		w.forge.Grant("reader", "read:repository", "read:issue")
		check(penstock.ForgeConnected)
		w.forge.Grant("writer")
		check(penstock.ForgeRevoked, "api")
		w.forge.Answer(always(status(http.StatusBadGateway)))
		check(penstock.ForgeRevoked, "api") // that it does not answer now makes nothing better
		w.forge.Answer(nil)
		replace := func(token string) (penstock.Forge, error) {
			return w.Connections.Update(t.Context(), w.admin(), f.UID, forge.ChangeRequest{Token: new(token)})
		}
		after, err := replace("reader")
		if err != nil || after.Status != penstock.ForgeDegraded {
			t.Errorf("got %+v, %v", after, err)
		}
		w.forge.Grant("fresh", "write:repository", "write:issue", "read:user")
		if after, err = replace("fresh"); err != nil || after.Status != penstock.ForgeConnected ||
			after.Problem != "" {
			t.Errorf("got %+v, %v", after, err)
		}
		if _, err := replace("gone"); err == nil {
			t.Error("a token that the forge refuses replaced the one that works")
		}
		check(penstock.ForgeConnected)
	})
}

// go-gitea/gitea#26035: a token without the scope for it cannot even read the version.
func TestACheckWritesNothing(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		f := w.connected(func(r *forge.ConnectRequest) { r.ReadToken = "reader" })
		w.forge.Calls()
		if _, err := w.Connections.Check(t.Context(), w.admin(), f.UID); err != nil {
			t.Fatal(err)
		}
		for _, call := range w.forge.Calls() {
			if strings.HasPrefix(call, "POST /api/v1/repos/acme") || strings.Contains(call, "/version") ||
				strings.HasPrefix(call, "POST ") && !strings.HasPrefix(call, "POST /api/v1/repos/penstock-bot/") {
				t.Errorf("the check calls %s", call)
			}
		}
	})
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func always(answer http.HandlerFunc) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		answer(w, r)
		return true
	}
}

func TestAForgeThatMisbehaves(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		secondHost := testkit.NewForge(t, t.TempDir())
		for name, tt := range map[string]struct {
			answer http.HandlerFunc
			status penstock.ForgeStatus // "": the request is rejected
			want   string
		}{
			"down":    {status(http.StatusServiceUnavailable), penstock.ForgePending, "503"},
			"limited": {status(http.StatusTooManyRequests), penstock.ForgePending, "429"},
			"secondary": {func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Retry-After", "60")
				rw.WriteHeader(http.StatusForbidden)
			}, penstock.ForgePending, "403"},
			"cut off": {
				func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, penstock.ForgePending,
				"cannot be reached",
			},
			"a page": {func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", "text/html; charset=utf-8")
				_, _ = rw.Write([]byte("<html>sign in, token=writer</html>"))
			}, "", "web page"},
			"another API": {
				func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte(`{"hello": 1}`)) }, "",
				"does not answer as the API",
			},
			"endless": {func(rw http.ResponseWriter, _ *http.Request) {
				for range 300 {
					if _, err := rw.Write(make([]byte, 64<<10)); err != nil {
						return
					}
				}
			}, "", "too long"},
			"elsewhere": {func(rw http.ResponseWriter, r *http.Request) {
				http.Redirect(rw, r, secondHost.URL+r.URL.Path, http.StatusMovedPermanently)
			}, "", "redirects"},
		} {
			w.forge.Answer(always(tt.answer))
			f, err := w.connect(func(r *forge.ConnectRequest) { r.Name = strings.ToLower(strings.ReplaceAll(name, " ", "-")) })
			text, _ := json.Marshal(err)
			got := fmt.Sprint(err) + string(text) + f.Problem
			if f.Status != tt.status || !strings.Contains(got, tt.want) || strings.Contains(got, "token=") {
				t.Errorf("%s: got %q %s, want %q %s", name, f.Status, got, tt.status, tt.want)
			}
		}
		if calls := secondHost.Calls(); calls != nil {
			t.Errorf("the token went where the forge redirects: %v", calls)
		}
	})
}

// One that answers again is connected without anybody doing anything, and one that lost its token is found.
func TestConnectionsAreCheckedByThemselves(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		w.forge.Answer(always(status(http.StatusServiceUnavailable)))
		f := w.connected(nil)
		if f.Status != penstock.ForgePending {
			t.Fatalf("got %s", f.Status)
		}
		w.forge.Answer(nil)
		later := func(d time.Duration, want penstock.ForgeStatus, what string) {
			t.Helper()
			if err := w.Deps.Store.Write(t.Context(), func(tx *store.Tx) error {
				row, err := tx.Forges().Lock(t.Context(), store.DefaultTeam, f.UID)
				row.DueAt = row.DueAt.Add(-d)
				return errOr(err, func() error { return tx.Forges().Set(t.Context(), row) })
			}); err != nil {
				t.Fatal(err)
			}
			w.forge.Calls()
			if err := w.Connections.CheckDue(t.Context()); err != nil {
				t.Fatal(err)
			}
			testkit.Eventually(t, time.Minute, func() error { // the server may have begun the check itself
				got, err := w.Connections.Read(t.Context(), w.admin(), f.UID)
				if err == nil && got.Status != want {
					err = fmt.Errorf("got %s %s", got.Status, what)
				}
				return err
			})
		}
		later(0, penstock.ForgePending, "before its time")
		if calls := w.forge.Calls(); len(calls) > 0 {
			t.Errorf("before its time, the forge got %v", calls)
		}
		later(5*time.Minute, penstock.ForgeConnected, "after five minutes")
		w.forge.Grant("writer")
		later(59*time.Minute, penstock.ForgeConnected, "and a connection that works is checked once an hour")
		later(2*time.Minute, penstock.ForgeRevoked, "after an hour")
	})
}

func errOr(err error, then func() error) error {
	if err != nil {
		return err
	}
	return then()
}

// pd4d10/git-touch#103 and drone/go-scm#64: a forge gives fewer for each page than it was asked for.
func TestAllRepositoriesAreListed(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		f := w.connected(nil)
		for n, want := range map[int]int{0: 0, 3: 3, 20: 20, 105: 105, 520: 500} {
			w.forge.Repositories(n)
			list, err := w.Connections.Repositories(t.Context(), w.admin(), f.UID)
			if err != nil || len(list.Repositories) != want || list.Truncated != (n > want) {
				t.Errorf("of %d: got %d, %v, %v", n, len(list.Repositories), list.Truncated, err)
			}
		}
		n := 0
		w.forge.Answer(always(func(rw http.ResponseWriter, _ *http.Request) {
			n++
			_, _ = fmt.Fprintf(rw, `[{"id": %d, "full_name": "acme/shop%d", "default_branch": "main"}]`, n, n)
		}))
		if list, err := w.Connections.Repositories(t.Context(), w.admin(), f.UID); err != nil || !list.Truncated || n != 60 {
			t.Errorf("a forge whose pages never end: got %d pages, %v, %v", n, list.Truncated, err)
		}
		w.forge.Answer(always(func(rw http.ResponseWriter, r *http.Request) {
			branch := map[bool]string{true: strings.Repeat("b", 256), false: "main\\u0000"}[r.URL.Query().Get("page") == "1"]
			_, _ = fmt.Fprintf(rw, `[{"id": 1, "full_name": "acme/shop", "default_branch": "%s"}]`, branch)
		}))
		if list, err := w.Connections.Repositories(t.Context(), w.admin(), f.UID); err != nil || len(list.Repositories) > 0 {
			t.Errorf("got %+v, %v", list, err)
		}
		w.forge.Answer(nil)
		w.forge.Repositories(30)
		if _, err := w.Connections.Update(t.Context(), w.admin(), f.UID, forge.ChangeRequest{
			Repositories: &[]string{"ACME/shop2", "other/*"},
		}); err != nil {
			t.Fatal(err)
		}
		list, err := w.Connections.Repositories(t.Context(), w.admin(), f.UID)
		if err != nil || len(list.Repositories) != 1 || list.Repositories[0].Path != "acme/shop2" {
			t.Errorf("got %+v, %v", list, err)
		}
		w.forge.Answer(always(status(http.StatusBadGateway)))
		_, err = w.Connections.Repositories(t.Context(), w.admin(), f.UID)
		if penstock.CodeOf(err) != penstock.CodeUnavailable {
			t.Errorf("got %v", err)
		}
	})
}

func TestWhoManagesConnections(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		f := w.connected(nil)
		agent := w.admin()
		agent.AgentUID = "agent"
		for name, p := range map[string]penstock.Principal{
			"agent": agent,
			"runs":  w.As("u", penstock.ScopeRunsWrite, penstock.ScopeFactoriesManage, penstock.ScopeSecretsManage),
		} {
			ctx := context.Background()
			_, create := w.Connections.Create(ctx, p, forge.ConnectRequest{Name: "x"})
			_, list := w.Connections.List(ctx, p)
			_, read := w.Connections.Read(ctx, p, f.UID)
			_, update := w.Connections.Update(ctx, p, f.UID, forge.ChangeRequest{})
			_, check := w.Connections.Check(ctx, p, f.UID)
			_, repos := w.Connections.Repositories(ctx, p, f.UID)
			for i, err := range []error{create, list, read, update, check, repos, w.Connections.Delete(ctx, p, f.UID)} {
				if penstock.CodeOf(err) != penstock.CodeNotAuthorized {
					t.Errorf("%s: call %d: got %v", name, i, err)
				}
			}
		}
		other := w.admin()
		other.Team = "other"
		if _, err := w.Connections.Read(t.Context(), other, f.UID); penstock.CodeOf(err) != penstock.CodeNotFound {
			t.Errorf("another team: got %v", err)
		}
	})
}

func (w *world) start(p penstock.Principal, repositories ...penstock.RunRepository) (penstock.Config, error) {
	created, err := w.Runs.Create(w.T.Context(), p, penstock.RunRequest{
		Prompt: "x", Config: &penstock.Config{Repositories: repositories},
	}, "API")
	if err != nil {
		return penstock.Config{}, err
	}
	row, err := w.Deps.Store.Runs.Find(w.T.Context(), store.DefaultTeam, created.ID)
	if err != nil {
		w.T.Fatal(err)
	}
	return *row.Config, nil
}

func TestARunNamesARepositoryOfAConnection(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		w.connected(func(r *forge.ConnectRequest) { r.Repositories = []string{"acme/*"} })
		p := w.As("u", penstock.ScopeRunsWrite, penstock.ScopeRunsRead)
		url := w.forge.URL + "/acme/shop.git"
		for name, given := range map[string]penstock.RunRepository{
			"by name": {Connection: "acme", Path: "acme/shop", Ref: "main"},
			"by URL":  {URL: url, Ref: "main"},
			"again":   {URL: url, Connection: "acme", Path: "acme/shop", Ref: "main"},
		} {
			config, err := w.start(p, given)
			want := []penstock.RunRepository{{URL: url, Ref: "main", Connection: "acme", Path: "acme/shop"}}
			if diff := cmp.Diff(want, config.Repositories); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got)\n%s", name, err, diff)
			}
		}
		for _, address := range []string{
			w.forge.URL + "/other/shop.git", "https://git.example.com/acme/shop.git",
			w.forge.URL + "/acme/shop/../../other/shop",
			w.forge.URL + "/acme/%2e%2e/other/shop", w.forge.URL + "/acme/shop/issues/1",
		} {
			config, err := w.start(p, penstock.RunRepository{URL: address})
			if err == nil && config.Repositories[0].Connection != "" {
				t.Errorf("%s: got the connection %s", address, config.Repositories[0].Connection)
			}
		}
		for pointer, r := range map[string]penstock.RunRepository{
			"/config/repositories/0/connection": {Connection: "acne", Path: "acme/shop"},
			"/config/repositories/0/path":       {Connection: "acme", Path: "other/shop"},
			"/config/repositories/0/url":        {Connection: "acme", Path: "acme/shop", URL: w.forge.URL + "/acme/secret.git"},
		} {
			_, err := w.start(p, r)
			wantField(t, err, pointer)
		}
		for _, path := range []string{
			"", "shop", "/acme/shop", "acme/shop.git", "acme/..", "acme/shop/x", url, "acme/sh op",
		} {
			_, err := w.start(p, penstock.RunRepository{Connection: "acme", Path: path})
			wantField(t, err, "/config/repositories/0/path")
		}
		_, err := w.start(p, penstock.RunRepository{Path: "acme/shop"})
		wantField(t, err, "/config/repositories/0/connection")

		w.connected(func(r *forge.ConnectRequest) { r.Name = "second" })
		_, err = w.start(p, penstock.RunRepository{URL: url})
		wantField(t, err, "/config/repositories/0/url")
	})
}

func wantField(t *testing.T, err error, pointer string) {
	t.Helper()
	text, _ := json.Marshal(err)
	known, ok := err.(*penstock.Error) //nolint:errorlint // as the API gets it
	if !ok || !slices.ContainsFunc(known.Fields, func(f penstock.FieldError) bool { return f.Pointer == pointer }) {
		t.Errorf("got %v %s, want an error at %s", err, text, pointer)
	}
}

// An agent gets nothing of a connection: by its name, by a URL, or by a schedule whose runs are a person's.
func TestAnAgentDoesNotUseConnections(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		w.connected(nil)
		agent := w.CreateAgent(factory.IdentityRequest{Name: new("agent")})
		p := w.As("u", penstock.ScopeRunsWrite, penstock.ScopeRunsRead)
		p.AgentUID, p.Actor = agent.UID, access.AgentActor(agent)
		for _, r := range []penstock.RunRepository{
			{Connection: "acme", Path: "acme/shop"},
			{Connection: "acne", Path: "acme/shop"},
			{URL: w.forge.URL + "/acme/shop.git"},
		} {
			_, err := w.start(p, r)
			if err == nil || strings.Contains(fmt.Sprint(err), "did you mean") {
				t.Errorf("%+v: got %v", r, err)
			}
			_, err = w.Schedules.Create(t.Context(), p, factory.ScheduleRequest{
				Name: "s", Cron: "@daily", Prompt: "x", Config: &penstock.Config{Repositories: []penstock.RunRepository{r}},
			})
			wantField(t, err, "/agent_config/repositories")
		}
	})
}

// The worker gets the token that can only read, for the hosts of the forge. What was allowed when the run was
// created is asked again at each claim.
func TestAClaimAsksAgain(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		f := w.connected(func(r *forge.ConnectRequest) { r.ReadToken = "reader" })
		mine := w.NewFactory("mine")
		p := w.As("u", penstock.ScopeRunsWrite, penstock.ScopeRunsRead)
		start := func() string {
			t.Helper()
			created, err := w.Runs.Create(t.Context(), p, penstock.RunRequest{Prompt: "x", Config: &penstock.Config{
				Repositories: []penstock.RunRepository{{Connection: "acme", Path: "acme/shop"}},
			}}, "API")
			if err != nil {
				t.Fatal(err)
			}
			return created.ID
		}
		start()
		a := w.Work()
		host, _, _ := strings.Cut(strings.TrimPrefix(w.forge.URL, "https://"), ":")
		name := penstock.ForgeCredential + f.UID
		if a.NetworkSecrets[name] != "reader" || !slices.Equal(a.Network.SecretHosts[name], []string{host}) {
			t.Errorf("got %v for %v", a.NetworkSecrets, a.Network.SecretHosts)
		}
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})

		change := func(req forge.ChangeRequest) {
			t.Helper()
			if _, err := w.Connections.Update(t.Context(), w.admin(), f.UID, req); err != nil {
				t.Fatal(err)
			}
		}
		fails := func(id, want string) {
			t.Helper()
			worker := testworld.AnyWorker
			worker.Wait = time.Millisecond
			_, err := w.Executions.Control().Claim(t.Context(), worker)
			got := w.Get(id)
			if got.State != penstock.StateFailed || !strings.Contains(fmt.Sprint(got.StatusMessage), want) {
				t.Errorf("got %v, %s %+v, want %q", err, got.State, got.StatusMessage, want)
			}
		}
		id := start()
		change(forge.ChangeRequest{Repositories: &[]string{"acme/other"}})
		network, err := w.Runs.Network(t.Context(), p, id)
		if err != nil || len(network.Policy.Layers) > 0 {
			t.Errorf("got %+v, %v; the run may reach nothing by the connection now", network.Policy.Layers, err)
		}
		fails(id, "not for the repository acme/shop")
		change(forge.ChangeRequest{Cleared: []string{"repositories"}})
		id = start()
		change(forge.ChangeRequest{Factories: &[]string{mine}})
		fails(id, "only for some factories")
		if _, err := w.start(p, penstock.RunRepository{Connection: "acme", Path: "acme/shop"}); err == nil {
			t.Error("a run without a factory was created")
		}
		change(forge.ChangeRequest{Cleared: []string{"factories"}})
		id = start()
		w.forge.Grant("writer")
		if _, err := w.Connections.Check(t.Context(), w.admin(), f.UID); err != nil {
			t.Fatal(err)
		}
		fails(id, "acme is not connected")
		id = start()
		if err := w.Connections.Delete(t.Context(), w.admin(), f.UID); err != nil {
			t.Fatal(err)
		}
		fails(id, "which was deleted")
	})
}

// A rule of somebody else cannot name the token of a connection, as its credential or as a secret.
func TestNobodyElseNamesTheTokenOfAConnection(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		f := w.connected(nil)
		p := w.As("u", penstock.ScopeAdmin)
		name := penstock.ForgeCredential + f.UID
		_, err := w.Catalog.CreateEnvironment(t.Context(), p, penstock.EnvironmentConfig{
			Name: "evil", Network: &penstock.Network{Allow: []penstock.NetworkRule{{
				Host: "evil.example.com", Credential: &penstock.NetworkCredential{Secret: name, As: penstock.CredentialBearer},
			}}},
		})
		if penstock.CodeOf(err) != penstock.CodeInvalidRequest {
			t.Errorf("an environment: got %v", err)
		}
		if _, err := w.start(p, penstock.RunRepository{Connection: name, Path: "acme/shop"}); err == nil {
			t.Error("a run named a connection by its credential")
		}
		_, err = w.Runs.Create(t.Context(), p, penstock.RunRequest{
			Prompt: "x", Config: &penstock.Config{Secrets: []string{name}},
		}, "API")
		if penstock.CodeOf(err) != penstock.CodeInvalidRequest {
			t.Errorf("a secret of a run: got %v", err)
		}
	})
}

// A check that began before the tokens changed does not overwrite what the new ones are found to be.
func TestACheckOfOldTokensSaysNothingAboutNewOnes(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		f := w.connected(nil)
		w.forge.Grant("fresh", "write:repository", "write:issue", "read:user")
		w.forge.Grant("writer")
		asked, replaced := make(chan struct{}), make(chan struct{})
		w.forge.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Authorization") == "Bearer writer" {
				close(asked)
				<-replaced
			}
			return false
		})
		done := make(chan forge.Checked)
		go func() {
			got, err := w.Connections.Check(context.Background(), w.admin(), f.UID)
			if err != nil {
				t.Error(err)
			}
			done <- got
		}()
		<-asked
		fresh := forge.ChangeRequest{Token: new("fresh")}
		if _, err := w.Connections.Update(t.Context(), w.admin(), f.UID, fresh); err != nil {
			t.Error(err)
		}
		close(replaced)
		<-done
		got, err := w.Connections.Read(t.Context(), w.admin(), f.UID)
		if err != nil || got.Status != penstock.ForgeConnected {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// Two people who change a connection at the same time both get what they asked for.
func TestTwoChangesAtTheSameTime(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		f := w.connected(nil)
		w.forge.Grant("fresh", "write:repository", "write:issue", "read:user")
		update := func(req forge.ChangeRequest) error {
			_, err := w.Connections.Update(context.Background(), w.admin(), f.UID, req)
			return err
		}
		asked, go1 := make(chan struct{}, 9), make(chan struct{})
		w.forge.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/api/v1/user" && r.Header.Get("Authorization") == "Bearer fresh" {
				asked <- struct{}{}
				<-go1
			}
			return false
		})
		done := make(chan error)
		go func() { done <- update(forge.ChangeRequest{Token: new("fresh")}) }()
		<-asked
		if err := update(forge.ChangeRequest{Repositories: &[]string{"acme/*"}}); err != nil {
			t.Error(err)
		}
		if err := update(forge.ChangeRequest{ReadToken: new("reader")}); err != nil {
			t.Error(err)
		}
		close(go1)
		if err := <-done; err != nil {
			t.Error(err)
		}
		got, err := w.Connections.Read(t.Context(), w.admin(), f.UID)
		if err != nil || !got.ReadToken || !slices.Equal(got.Repositories, []string{"acme/*"}) {
			t.Errorf("got %+v, %v", got, err)
		}
		w.forge.Grant("writer")
		checked, err := w.Connections.Check(t.Context(), w.admin(), f.UID)
		if err != nil || checked.Forge.Status != penstock.ForgeConnected {
			t.Errorf("got %+v, %v; the new token was lost", checked, err)
		}
	})
}

// A forge that hangs delays no other connection, and is not stored as it likes.
func TestWhatAForgeSaysIsChecked(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		hanging := testkit.NewForge(t, t.TempDir())
		release := make(chan struct{})
		f := w.connected(func(r *forge.ConnectRequest) { r.Name = "good" })
		w.connected(func(r *forge.ConnectRequest) { r.Name, r.URL = "hanging", hanging.URL })
		hanging.Answer(always(func(http.ResponseWriter, *http.Request) { <-release }))
		w.forge.Grant("writer")
		w.Write(func(tx *store.Tx) error {
			for _, name := range []string{f.UID, w.uidOf("hanging")} {
				row, err := tx.Forges().Lock(t.Context(), store.DefaultTeam, name)
				if err != nil {
					return err
				}
				row.DueAt = 1
				if name == f.UID {
					row.DueAt = 2 // after the other
				}
				if err := tx.Forges().Set(t.Context(), row); err != nil {
					return err
				}
			}
			return nil
		})
		done := make(chan error)
		go func() { done <- w.Connections.CheckDue(context.Background()) }()
		testkit.Eventually(t, 10*time.Second, func() error {
			got, err := w.Connections.Read(t.Context(), w.admin(), f.UID)
			if err == nil && got.Status != penstock.ForgeRevoked {
				err = fmt.Errorf("got %s while another forge hangs", got.Status)
			}
			return err
		})
		close(release)
		if err := <-done; err != nil {
			t.Error(err)
		}
		w.forge.Answer(always(func(rw http.ResponseWriter, _ *http.Request) {
			_, _ = rw.Write([]byte(`{"id": 1, "login": "bot\u001b[2J", "email": "x"}`))
		}))
		if _, err := w.connect(func(r *forge.ConnectRequest) { r.Name = "odd" }); err == nil {
			t.Error("a login with control characters was stored")
		}
	})
}

func (w *world) uidOf(name string) string {
	w.T.Helper()
	list, err := w.Connections.List(w.T.Context(), w.admin())
	if err != nil {
		w.T.Fatal(err)
	}
	i := slices.IndexFunc(list, func(f penstock.Forge) bool { return f.Name == name })
	return list[i].UID
}

func TestTokensAreTried(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		_, err := w.connect(func(r *forge.ConnectRequest) { r.ReadToken = "unknown" })
		wantField(t, err, "/read_token")
		f := w.connected(func(r *forge.ConnectRequest) { r.ReadToken = "reader" })
		update := func(req forge.ChangeRequest) error {
			_, err := w.Connections.Update(t.Context(), w.admin(), f.UID, req)
			return err
		}
		wantField(t, update(forge.ChangeRequest{ReadToken: new("unknown")}), "/read_token")
		w.forge.Answer(always(status(http.StatusServiceUnavailable)))
		if err := update(forge.ChangeRequest{Token: new("typo")}); penstock.CodeOf(err) != penstock.CodeUnavailable {
			t.Errorf("got %v", err)
		}
		if err := update(forge.ChangeRequest{Repositories: &[]string{"acme/*"}}); err != nil {
			t.Errorf("a change that needs no answer of the forge: %v", err)
		}
		w.forge.Answer(nil)
		checked, err := w.Connections.Check(t.Context(), w.admin(), f.UID)
		if err != nil || checked.Forge.Status != penstock.ForgeConnected {
			t.Errorf("got %+v, %v; the token that works is gone", checked, err)
		}
		w.forge.Grant("nobody", "write:repository", "write:issue")
		if err := update(forge.ChangeRequest{Token: new("nobody")}); err != nil {
			t.Fatal(err)
		}
		if got, err := w.Connections.Read(t.Context(), w.admin(), f.UID); err != nil || got.Bot != nil {
			t.Errorf("got the bot %+v of the token before, %v", got.Bot, err)
		}
	})
}

func TestAnOlderCheckDoesNotWin(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		f := w.connected(nil)
		asked, answer := make(chan struct{}), make(chan struct{})
		var once sync.Once
		w.forge.Answer(func(rw http.ResponseWriter, _ *http.Request) (answered bool) {
			once.Do(func() {
				close(asked)
				<-answer
				rw.WriteHeader(http.StatusUnauthorized)
				answered = true
			})
			return answered
		})
		done := make(chan error)
		check := func() error {
			_, err := w.Connections.Check(context.Background(), w.admin(), f.UID)
			return err
		}
		go func() { done <- check() }()
		<-asked
		w.forge.Answer(nil)
		if err := check(); err != nil {
			t.Error(err)
		}
		close(answer)
		if err := <-done; err != nil {
			t.Error(err)
		}
		got, err := w.Connections.Read(t.Context(), w.admin(), f.UID)
		if err != nil || got.Status != penstock.ForgeConnected {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestPortsOfForges(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		for _, port := range []string{"0", "65536", "99999", "x"} {
			_, err := w.connect(func(r *forge.ConnectRequest) { r.URL = "https://git.example.com:" + port })
			wantField(t, err, "/url")
		}
		host, port, _ := strings.Cut(strings.TrimPrefix(w.forge.URL, "https://"), ":")
		if f := w.connected(func(r *forge.ConnectRequest) { r.URL = "https://" + host + ":0" + port }); f.URL != w.forge.URL {
			t.Errorf("got %s, want %s", f.URL, w.forge.URL)
		}
	})
}

// GitHub says when a token expires, and which scopes a classic one has. The earlier of two tokens counts.
func TestGitHubSaysWhenATokenExpires(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		in := func(days int) string {
			return penstock.Now().Add(time.Duration(days) * 24 * time.Hour).Std().UTC().Format("2006-01-02 15:04:05 MST")
		}
		for i, tt := range []struct {
			writer, reader, scopes string
			status                 penstock.ForgeStatus
			want                   string
		}{
			{in(30), in(30), "", penstock.ForgeConnected, ""},
			{"", "", "repo, workflow", penstock.ForgeConnected, ""},
			{in(13), in(30), "", penstock.ForgeDegraded, "expires on"},
			{in(30), in(13), "", penstock.ForgeDegraded, "expires on"},
			{"", "", "public_repo", penstock.ForgeDegraded, "lacks the scope repo"},
			{"soon", "", "", penstock.ForgeConnected, ""},
		} {
			w.forge.Answer(func(rw http.ResponseWriter, r *http.Request) bool {
				r.URL.Path = strings.Replace(r.URL.Path, "/api/v3/", "/api/v1/", 1)
				rw.Header().Set("X-Oauth-Scopes", tt.scopes)
				rw.Header().Set("Github-Authentication-Token-Expiration", tt.writer)
				if r.Header.Get("Authorization") == "Bearer reader" {
					rw.Header().Set("Github-Authentication-Token-Expiration", tt.reader)
				}
				return false
			})
			f := w.connected(func(r *forge.ConnectRequest) {
				r.Name, r.Provider, r.ReadToken = fmt.Sprintf("forge-%d", i), penstock.HostGitHub, "reader"
			})
			if f.Status != tt.status || !strings.Contains(f.Problem, tt.want) {
				t.Errorf("%+v: got %s %q", tt, f.Status, f.Problem)
			}
		}
		w.forge.Grant("reader")
		got, err := w.Connections.Check(t.Context(), w.admin(), w.uidOf("forge-0"))
		if err != nil || got.Forge.Status != penstock.ForgeRevoked {
			t.Errorf("got %+v, %v; the token of runs is gone", got, err)
		}
	})
}

// A server that ends in the middle of a check leaves it to another one, but only when it would have ended.
func TestAnotherServerChecksWhatOneLeft(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		f := w.connected(nil)
		now := f.CreatedAt.Add(2 * time.Hour)
		for _, tt := range []struct {
			after time.Duration
			due   int
		}{{0, 1}, {0, 0}, {time.Minute, 0}, {2 * time.Minute, 1}} {
			at := now.Add(tt.after)
			due, err := w.Deps.Store.Forges.Due(t.Context(), at, at.Add(2*time.Minute), 20)
			if err != nil || len(due) != tt.due {
				t.Errorf("after %s: got %d, %v, want %d", tt.after, len(due), err, tt.due)
			}
		}
	})
}

// GitHub's answer about a repository can have a token to clone it, so that runs do not get it.
func TestARunDoesNotReadWhatHasAToken(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		w.forge.Answer(func(_ http.ResponseWriter, r *http.Request) bool {
			r.URL.Path = strings.Replace(r.URL.Path, "/api/v3/", "/api/v1/", 1)
			return false
		})
		w.connected(func(r *forge.ConnectRequest) { r.Provider = penstock.HostGitHub })
		created := w.Create(penstock.RunRequest{Prompt: "x", Config: &penstock.Config{
			Repositories: []penstock.RunRepository{{Connection: "acme", Path: "acme/shop"}},
		}})
		network, err := w.Runs.Network(t.Context(), w.Admin, created.ID)
		if err != nil || len(network.Policy.Layers) != 1 {
			t.Fatalf("got %+v, %v", network.Policy.Layers, err)
		}
		var paths []string
		for _, rule := range network.Policy.Layers[0].Network.Allow {
			paths = append(paths, rule.Paths...)
		}
		if !slices.Contains(paths, "/api/v3/repos/acme/shop/issues") || slices.Contains(paths, "/api/v3/repos/acme/shop") {
			t.Errorf("the run may read %v", paths)
		}
	})
}

func TestATeamHasTwentyConnections(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		for i := range 20 {
			w.connected(func(r *forge.ConnectRequest) { r.Name = fmt.Sprintf("forge-%d", i) })
		}
		_, err := w.connect(func(r *forge.ConnectRequest) { r.Name = "one-more" })
		if penstock.CodeOf(err) != penstock.CodeConflict || !strings.Contains(err.Error(), "20") {
			t.Errorf("got %v", err)
		}
	})
}
