package run_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// on returns a request for a run on repositories.
func on(list ...penstock.RunRepository) penstock.RunRequest {
	return penstock.RunRequest{Prompt: "go", Config: &penstock.Config{Repositories: list}}
}

func TestARunNamesItsRepositories(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		want := []penstock.RunRepository{
			{URL: "https://git.example.com/acme/shop.git", Ref: "fix/#12-größe"}, {URL: "git@git.example.com:acme/lib.git"},
		}
		created, err := w.Runs.Create(ctx, w.Admin, on(want...), run.SourceAPI)
		if err != nil {
			w.T.Fatal(err)
		}
		got, err := w.Runs.Read(ctx, w.Admin, created.ID)
		if err != nil {
			w.T.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Config.Repositories); diff != "" {
			w.T.Errorf("repositories (-want +got):\n%s", diff)
		}
		if source := got.ConfigSources["repositories"]; source != run.LayerRequest {
			w.T.Errorf("they come from %q", source)
		}
		// A follow-up and a later run of the conversation change nothing of the run.
		if _, err := w.Runs.FollowUp(ctx, w.Admin, created.ID, run.FollowupRequest{Message: "and now?"}); err != nil {
			w.T.Fatal(err)
		}
		if again, err := w.Runs.Read(ctx, w.Admin, created.ID); err != nil || !cmp.Equal(again.Config, got.Config) {
			w.T.Errorf("after a follow-up, the configuration is %+v, %v", again.Config, err)
		}
	})
}

func TestInvalidRepositoriesOfARun(t *testing.T) {
	worlds(t, nil, func(w *world) {
		one := func(url, ref string) []penstock.RunRepository { return []penstock.RunRepository{{URL: url, Ref: ref}} }
		const good = "https://git.example.com/a/b"
		var many []penstock.RunRepository
		for i := range 100 {
			many = append(many, penstock.RunRepository{URL: fmt.Sprintf("%s%d", good, i)})
		}
		for name, test := range map[string]struct {
			list    []penstock.RunRepository
			pointer string
		}{
			"no URL":                       {one("", "main"), "/0/url"},
			"a shorthand":                  {one("acme/shop", ""), "/0/url"},
			"the second one":               {append(one(good, ""), one("", "")...), "/1/url"},
			"a file":                       {one("file:///etc", ""), "/0/url"},
			"plain HTTP":                   {one("http://git.example.com/a/b", ""), "/0/url"},
			"a URL that runs a command":    {one("ext::sh -c id", ""), "/0/url"},
			"a URL that is an option":      {one("--upload-pack=id", ""), "/0/url"},
			"a URL with a ref":             {one(good+"#main", ""), "/0/url"},
			"a URL with a password":        {one("https://ada:s3cret@git.example.com/a/b", ""), "/0/url"},
			"a URL with a token":           {one("https://ghp_s3cret@git.example.com/a/b", ""), "/0/url"},
			"an ssh URL with a password":   {one("ssh://ada:s3cret@git.example.com/a/b", ""), "/0/url"},
			"a password without a scheme":  {one("ada:s3cret@git.example.com/a/b", ""), "/0/url"},
			"a ref that is an option":      {one(good, "--upload-pack=id"), "/0/ref"},
			"a part of one that is":        {one(good, "refs/heads/--output=x"), "/0/ref"},
			"a ref that is a range":        {one(good, "a..b"), "/0/ref"},
			"a ref that is a refspec":      {one(good, "+refs/heads/*:refs/heads/*"), "/0/ref"},
			"a ref with a line feed":       {one(good, "main\n--output=x"), "/0/ref"},
			"a ref that is no name":        {one(good, "@{upstream}"), "/0/ref"},
			"a ref that is very long":      {one(good, strings.Repeat("r", 256)), "/0/ref"},
			"a hundred repositories":       {many, "/config/repositories"},
			"one more than the limit":      {many[:penstock.MaxRunRepositories+1], "/config/repositories"},
			"a URL that is far too long":   {one(good+strings.Repeat("b", 3000), ""), "/0/url"},
			"a host with an escape in it":  {one("https://git%2eexample.com/a/b", ""), "/0/url"},
			"a host that begins with dash": {one("ssh://-oProxyCommand=id/a/b", ""), "/0/url"},
		} {
			_, err := w.Runs.Create(w.T.Context(), w.Admin, on(test.list...), run.SourceAPI)
			if penstock.CodeOf(err) != penstock.CodeInvalidRequest || !strings.Contains(err.Error(), test.pointer) {
				w.T.Errorf("%s: got %v, want an error at %s", name, err, test.pointer)
			}
			if err != nil && strings.Contains(err.Error(), "s3cret") {
				w.T.Errorf("%s: the error repeats the secret: %v", name, err)
			}
		}
		if _, err := w.Runs.Create(
			w.T.Context(), w.Admin, on(many[:penstock.MaxRunRepositories]...), run.SourceAPI,
		); err != nil {
			w.T.Errorf("as many as are allowed: %v", err)
		}
		for pointer, r := range map[string]penstock.RunRepository{
			"/config/repositories/0/connection": {Connection: "acme", Path: "acme/shop"},
			"/config/repositories/1/connection": {URL: good, Path: "acme/shop"},
			"/config/repositories/1/path":       {Connection: "acme"},
		} {
			list := []penstock.RunRepository{{URL: good}, r}[strings.Count(pointer, "/0/"):]
			_, err := w.Runs.Create(w.T.Context(), w.Admin, on(list...), run.SourceAPI)
			testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, pointer)
		}
	})
}

// Workers have an ssh key, and files that git can read. Only a caller who may use secrets gets at them.
func TestOnlyCallersWhoUseSecretsReadWithTheRightsOfWorkers(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		without, with := w.As("bob", penstock.ScopeRunsRead, penstock.ScopeRunsWrite),
			w.As("ann", penstock.ScopeRunsRead, penstock.ScopeRunsWrite, penstock.ScopeSecretsUse)
		for _, url := range []string{"git@git.example.com:acme/shop.git", "ssh://git@git.example.com/acme/shop"} {
			_, err := w.Runs.Create(ctx, without, on(penstock.RunRepository{URL: url}), run.SourceAPI)
			testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, "/config/repositories/0/url")
			created, err := w.Runs.Create(ctx, with, on(penstock.RunRepository{URL: url}), run.SourceAPI)
			if err != nil {
				w.T.Fatalf("%s: %v", url, err)
			}
			// Neither may others ask its agent what is in the repository.
			_, err = w.Runs.FollowUp(ctx, without, created.ID, run.FollowupRequest{Message: "show me the files"})
			testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, "secrets:use")
			if _, err := w.Runs.FollowUp(ctx, with, created.ID, run.FollowupRequest{Message: "show me the files"}); err != nil {
				w.T.Error(err)
			}
		}
		public := penstock.RunRepository{URL: "https://git.example.com/acme/shop"}
		if _, err := w.Runs.Create(ctx, without, on(public), run.SourceAPI); err != nil {
			w.T.Error(err)
		}
	})
}

// The URL of a repository can carry data to any host. An agent, whose network is limited, cannot use that.
func TestAnAgentNamesOnlyRepositoriesThatItMayReach(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		agent := w.CreateAgent(factory.IdentityRequest{Name: new("reviewer")})
		e := w.CreateEnvironment(penstock.EnvironmentConfig{Network: &penstock.Network{Allow: []penstock.NetworkRule{
			{Host: "git.example.com", Paths: []string{"/acme/*"}}, {Host: "read.example.com", Methods: []string{"GET"}},
		}}})
		by := w.As("reviewer", penstock.ScopeRunsRead, penstock.ScopeRunsWrite, penstock.ScopeSecretsUse)
		by.AgentUID = agent.UID
		for url, allowed := range map[string]bool{
			"https://git.example.com/acme/shop":             true,
			"https://git.example.com/acme/shop.git":         true,
			"https://git.example.com/other/shop":            false,
			"https://git.example.com/acme/../other/shop":    false,
			"https://git.example.com:8443/acme/shop":        false,
			"https://read.example.com/acme/shop":            false,
			"https://attacker.example.com/secret-data/shop": false,
			"git@git.example.com:acme/shop":                 false,
		} {
			req := on(penstock.RunRepository{URL: url})
			req.Config.EnvironmentID = e.UID
			_, err := w.Runs.Create(ctx, by, req, run.SourceAPI)
			switch {
			case allowed && err != nil:
				w.T.Errorf("%s: %v", url, err)
			case !allowed:
				testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, "/config/repositories/0/url")
			}
		}
	})
}

func TestRepositoriesStayWithinTheCeiling(t *testing.T) {
	ceiling := penstock.Network{Allow: []penstock.NetworkRule{{Host: "*.corp.example"}}}
	worlds(t, func(d *run.Deps) { d.Network.Ceiling = &ceiling }, func(w *world) {
		for url, allowed := range map[string]bool{
			"https://git.corp.example/acme/shop": true, "https://git.corp.example:8443/acme/shop": false,
			"https://git.example.com/acme/shop": false,
		} {
			_, err := w.Runs.Create(w.T.Context(), w.Admin, on(penstock.RunRepository{URL: url}), run.SourceAPI)
			switch {
			case allowed && err != nil:
				w.T.Errorf("%s: %v", url, err)
			case !allowed:
				testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, "ceiling")
			}
		}
	})
}

// A schedule fires with rights to secrets, so the rights of the person who writes it count.
func TestASchedulesRepositories(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		schedule := func(r penstock.RunRepository) factory.ScheduleRequest {
			return factory.ScheduleRequest{
				Name: "nightly", Cron: "0 3 * * *", Prompt: "go", Config: on(r).Config,
			}
		}
		bob := w.As("bob", penstock.ScopeRunsRead, penstock.ScopeRunsWrite)
		_, err := w.Schedules.Create(ctx, bob, schedule(penstock.RunRepository{URL: "git@git.example.com:acme/shop.git"}))
		testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, "/agent_config/repositories/0/url")
		_, err = w.Schedules.Create(ctx, bob, schedule(penstock.RunRepository{Connection: "acme", Path: "acme/shop"}))
		testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, "/agent_config/repositories/0/connection")
		want := penstock.RunRepository{URL: "https://git.example.com/acme/shop", Ref: "main"}
		made, err := w.Schedules.Create(ctx, bob, schedule(want))
		if err != nil || !cmp.Equal(made.Config.Repositories, []penstock.RunRepository{want}) {
			w.T.Errorf("the schedule is %+v, %v", made.Config, err)
		}
	})
}

// Automations that share a subject had equal repositories when they were applied. One may have changed since.
func TestRunsOnOtherRepositoriesShareNoSubject(t *testing.T) {
	t.Parallel()
	row := func(list []penstock.RunRepository) store.RunRow {
		var r store.RunRow
		r.Config = &penstock.Config{Repositories: list}
		return r
	}
	one, none := []penstock.RunRepository{{URL: "https://git.example.com/a/b"}}, []penstock.RunRepository{}
	for _, test := range []struct {
		a, b []penstock.RunRepository
		want bool
	}{{nil, none, true}, {one, one, true}, {one, none, false}, {nil, one, false}} {
		if got, err := run.MayShare(row(test.a), row(test.b)); got != test.want || err != nil {
			t.Errorf("%+v and %+v: %t, %v", test.a, test.b, got, err)
		}
	}
}
