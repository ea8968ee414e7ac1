package run_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

func (w *world) environment(uid string) penstock.Environment {
	w.T.Helper()
	e, err := w.Catalog.Environment(w.T.Context(), w.Admin, uid)
	if err != nil {
		w.T.Fatal(err)
	}
	return e
}

var fullEnvironment = penstock.EnvironmentConfig{
	Name: "app", Description: "All of it.", DockerImage: "registry.example.com:5000/team/app@sha256:0123",
	GitHubRepos: []penstock.GitHubRepo{{Owner: "acme", Repo: "app"}, {Owner: "acme", Repo: ".github"}},
	Repos: []penstock.GitRepo{
		{URL: "https://git.example.com/acme/app.git", Ref: "release/1.2"},
		{URL: "git@git.example.com:acme/lib.git"},
		{URL: "ssh://git@git.example.com:22/acme/x"},
	},
	SetupCommands: []string{"npm ci", "make\nmake test"}, Providers: map[string]any{"aws": map[string]any{"role": "r"}},
	FailureSessionRetentionMinutes: new(60),
	Prebuild: &penstock.Prebuild{
		Mode: penstock.PrebuildLazy, Inputs: []string{"**/package-lock.json", "go.sum"},
		UpdateCommands: []string{"npm install"}, Secrets: []string{"NPM_TOKEN"},
	},
}

func TestEnvironmentFromItsCreationToItsEnd(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		made := w.CreateEnvironment(fullEnvironment)
		want := penstock.Environment{
			UID: made.UID, Config: fullEnvironment, LastUpdated: made.LastUpdated,
			Scope:   &penstock.Scoped{Type: "Team", UID: "default"},
			Creator: &w.Admin.Actor, LastEditor: &w.Admin.Actor,
		}
		if diff := cmp.Diff(want, made); diff != "" || len(made.UID) != 22 || made.LastUpdated == 0 {
			w.T.Errorf("made %+v, -want +got:\n%s", made, diff)
		}
		if diff := cmp.Diff(made, w.environment(made.UID)); diff != "" {
			w.T.Errorf("read, -made +read:\n%s", diff)
		}
		replaced, err := w.Catalog.ReplaceEnvironment(ctx, w.Admin, made.UID, penstock.EnvironmentConfig{Name: " other "})
		if err != nil {
			w.T.Fatal(err)
		}
		if diff := cmp.Diff(penstock.EnvironmentConfig{Name: "other"}, replaced.Config); diff != "" ||
			replaced.LastUpdated < made.LastUpdated {
			w.T.Errorf("replaced, -want +got:\n%s", diff)
		}
		if err := w.Catalog.DeleteEnvironment(ctx, w.Admin, made.UID); err != nil {
			w.T.Fatal(err)
		}
		_, err = w.Catalog.Environment(ctx, w.Admin, made.UID)
		testworld.WantCode(w.T, err, penstock.CodeNotFound, made.UID)
		testworld.WantCode(w.T, w.Catalog.DeleteEnvironment(ctx, w.Admin, made.UID), penstock.CodeNotFound, made.UID)
		_, err = w.Catalog.ReplaceEnvironment(ctx, w.Admin, made.UID, penstock.EnvironmentConfig{})
		testworld.WantCode(w.T, err, penstock.CodeNotFound, made.UID)
		_, err = w.Runs.Create(
			ctx, w.Admin, penstock.RunRequest{Prompt: "go", Config: &penstock.Config{EnvironmentID: made.UID}},
			run.SourceAPI,
		)
		testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, "/config/environment_id")
	})
}

func TestEnvironmentsAreListedByNameAndByChange(t *testing.T) {
	worlds(t, nil, func(w *world) {
		first := w.CreateEnvironment(penstock.EnvironmentConfig{Name: "b"})
		w.CreateEnvironment(penstock.EnvironmentConfig{Name: "C"})
		last := w.CreateEnvironment(penstock.EnvironmentConfig{Name: "a"})
		waitForAnotherMillisecond(last.LastUpdated)
		if _, err := w.Catalog.ReplaceEnvironment(w.T.Context(), w.Admin, first.UID, first.Config); err != nil {
			w.T.Fatal(err)
		}
		names := func(sortBy string) (out []string) {
			list, err := w.Catalog.ListEnvironments(w.T.Context(), w.Admin, sortBy)
			if err != nil {
				w.T.Fatal(err)
			}
			for _, e := range list {
				out = append(out, e.Config.Name)
			}
			return out
		}
		if diff := cmp.Diff([]string{"a", "b", "C"}, names("name")); diff != "" {
			w.T.Errorf("by name, -want +got:\n%s", diff)
		}
		if got := names(""); got[0] != "b" {
			w.T.Errorf("by change: got %v, want b first", got)
		}
		other := w.Admin
		other.Team = "another"
		if list, err := w.Catalog.ListEnvironments(w.T.Context(), other, ""); err != nil || len(list) != 0 {
			w.T.Errorf("another team lists %d, %v", len(list), err)
		}
	})
}

// waitForAnotherMillisecond makes sure that two compared times differ.
func waitForAnotherMillisecond(t penstock.Time) {
	for penstock.Now() <= t { //nolint:revive // it ends within a millisecond
	}
}

func TestInvalidEnvironments(t *testing.T) {
	worlds(t, nil, func(w *world) {
		repo := func(url, ref string) penstock.EnvironmentConfig {
			return penstock.EnvironmentConfig{Repos: []penstock.GitRepo{{URL: url, Ref: ref}}}
		}
		github := func(owner, name string) penstock.EnvironmentConfig {
			return penstock.EnvironmentConfig{GitHubRepos: []penstock.GitHubRepo{{Owner: owner, Repo: name}}}
		}
		prebuild := func(p penstock.Prebuild) penstock.EnvironmentConfig { return penstock.EnvironmentConfig{Prebuild: &p} }
		for name, test := range map[string]struct {
			config  penstock.EnvironmentConfig
			pointer string
		}{
			"a long name":                {penstock.EnvironmentConfig{Name: strings.Repeat("n", 101)}, "/name"},
			"a name of two lines":        {penstock.EnvironmentConfig{Name: "a\nb"}, "/name"},
			"a long description":         {penstock.EnvironmentConfig{Description: strings.Repeat("d", 5000)}, "/description"},
			"an image that is an option": {penstock.EnvironmentConfig{DockerImage: "--privileged"}, "/docker_image"},
			"an image with a space":      {penstock.EnvironmentConfig{DockerImage: "a b"}, "/docker_image"},
			"a command that is empty": {
				penstock.EnvironmentConfig{SetupCommands: []string{"ok", " \n"}}, "/setup_commands/1",
			},
			"a command with NUL": {penstock.EnvironmentConfig{SetupCommands: []string{"a\x00"}}, "/setup_commands/0"},
			"too many commands": {
				penstock.EnvironmentConfig{SetupCommands: strings.Split(strings.Repeat("x ", 51)+"x", " ")}, "/setup_commands",
			},
			"no owner":                   {github("", "app"), "/github_repos/0/owner"},
			"owner and repo in one":      {github("acme", "acme/app"), "/github_repos/0/repo"},
			"a repo that is a path":      {github("acme", ".."), "/github_repos/0/repo"},
			"an owner that is an option": {github("-o", "app"), "/github_repos/0/owner"},
			"a repository twice": {penstock.EnvironmentConfig{GitHubRepos: []penstock.GitHubRepo{
				{Owner: "acme", Repo: "app"}, {Owner: "Acme", Repo: "App"},
			}}, "/github_repos/1"},
			"no URL":                    {repo("", ""), "/repos/0/url"},
			"a file":                    {repo("file:///etc", ""), "/repos/0/url"},
			"plain HTTP":                {repo("http://git.example.com/a/b", ""), "/repos/0/url"},
			"a URL that runs a command": {repo("ext::sh -c id", ""), "/repos/0/url"},
			"a URL that is an option":   {repo("--upload-pack=id", ""), "/repos/0/url"},
			"a URL with a password":     {repo("https://ada:s3cret@git.example.com/a/b", ""), "/repos/0/url"},
			"a URL with a token":        {repo("https://ghp_s3cret@git.example.com/a/b", ""), "/repos/0/url"},
			"a ref that is an option":   {repo("https://git.example.com/a/b", "--output=x"), "/repos/0/ref"},
			"a ref that is a range":     {repo("https://git.example.com/a/b", "a..b"), "/repos/0/ref"},
			"too many repositories":     {penstock.EnvironmentConfig{GitHubRepos: make([]penstock.GitHubRepo, 21)}, "/repos"},
			"huge providers": {
				penstock.EnvironmentConfig{Providers: map[string]any{"x": strings.Repeat("x", 70_000)}}, "/providers",
			},
			"no retention": {
				penstock.EnvironmentConfig{FailureSessionRetentionMinutes: new(0)}, "/failure_session_retention_minutes",
			},
			"a long retention": {
				penstock.EnvironmentConfig{FailureSessionRetentionMinutes: new(61)}, "/failure_session_retention_minutes",
			},
			"a mode that is planned":  {prebuild(penstock.Prebuild{Mode: "eager"}), "/prebuild/mode"},
			"an input without an end": {prebuild(penstock.Prebuild{Inputs: []string{"ok", "[a"}}), "/prebuild/inputs/1"},
			"an input that is empty":  {prebuild(penstock.Prebuild{Inputs: []string{""}}), "/prebuild/inputs/0"},
			"an input that excludes":  {prebuild(penstock.Prebuild{Inputs: []string{"!a"}}), "/prebuild/inputs/0"},
			"an update that is empty": {
				prebuild(penstock.Prebuild{UpdateCommands: []string{" "}}), "/prebuild/update_commands/0",
			},
			"a secret that is a variable": {prebuild(penstock.Prebuild{Secrets: []string{"$TOKEN"}}), "/prebuild/secrets/0"},
			"too many inputs": {
				prebuild(penstock.Prebuild{Inputs: strings.Split(strings.Repeat("x ", 51)+"x", " ")}), "/prebuild/inputs",
			},
		} {
			_, err := w.Catalog.CreateEnvironment(w.T.Context(), w.Admin, test.config)
			if penstock.CodeOf(err) != penstock.CodeInvalidRequest || !strings.Contains(err.Error(), test.pointer) {
				w.T.Errorf("%s: got %v, want an error at %s", name, err, test.pointer)
			}
			if err != nil && strings.Contains(err.Error(), "s3cret") {
				w.T.Errorf("%s: the error repeats the secret: %v", name, err)
			}
		}
		if list, err := w.Catalog.ListEnvironments(w.T.Context(), w.Admin, ""); err != nil || len(list) != 0 {
			w.T.Errorf("%d were stored, %v", len(list), err)
		}
	})
}

func TestEnvironmentInUseIsNotDeleted(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		e := w.CreateEnvironment(penstock.EnvironmentConfig{Name: "app"})
		manager := w.As("manager", penstock.ScopeFactoriesManage)
		agent := w.CreateAgent(factory.IdentityRequest{Name: new("reviewer"), EnvironmentID: &e.UID})
		nightly := w.CreateSchedule(
			factory.ScheduleRequest{
				Name: "nightly", Cron: "@daily", Prompt: "go", Config: &penstock.Config{EnvironmentID: e.UID},
			},
		)
		w.CreateSchedule(
			factory.ScheduleRequest{
				Name: "secret", Cron: "@daily", Prompt: "go", Team: new(false), Config: &penstock.Config{EnvironmentID: e.UID},
			},
		)

		err := w.Catalog.DeleteEnvironment(ctx, manager, e.UID)
		for _, mentions := range []string{`the agent "reviewer"`, `the schedule "nightly"`, "a personal schedule"} {
			testworld.WantCode(w.T, err, penstock.CodeConflict, mentions)
		}
		if strings.Contains(err.Error(), "secret") {
			w.T.Errorf("the error names a personal schedule of somebody else: %v", err)
		}
		testworld.WantCode(w.T, w.Catalog.DeleteEnvironment(ctx, w.Admin, e.UID), penstock.CodeConflict, `"secret"`)
		w.environment(e.UID)

		if _, err := w.Resources.UpdateIdentity(
			ctx, w.Admin, agent.UID, factory.IdentityRequest{EnvironmentID: new("")},
		); err != nil {
			w.T.Fatal(err)
		}
		schedules, err := w.Schedules.List(ctx, w.Admin)
		if err != nil {
			w.T.Fatal(err)
		}
		for _, s := range schedules {
			if _, err := w.Schedules.Pause(ctx, w.Admin, s.ID); err != nil {
				w.T.Fatal(err)
			}
		}
		if err := w.Catalog.DeleteEnvironment(ctx, manager, e.UID); err != nil {
			w.T.Errorf("nobody uses it: %v", err)
		}
		_, err = w.Schedules.Resume(ctx, w.Admin, nightly.ID)
		testworld.WantCode(w.T, err, penstock.CodeConflict, "has been deleted")
	})
}

func TestRunKeepsAnEnvironmentThatIsDeleted(t *testing.T) {
	worlds(t, nil, func(w *world) {
		e := w.CreateEnvironment(fullEnvironment)
		created := w.Create(penstock.RunRequest{Prompt: "go", Config: &penstock.Config{EnvironmentID: e.UID}})
		if err := w.Catalog.DeleteEnvironment(w.T.Context(), w.Admin, e.UID); err != nil {
			w.T.Fatal(err)
		}
		a := w.Claim()
		if a.Run.ID != created.ID || a.Environment == nil || cmp.Diff(fullEnvironment, a.Environment.Config) != "" {
			w.T.Errorf("the worker is given %+v", a.Environment)
		}
	})
}

func TestEnvironmentShowsItsLastRun(t *testing.T) {
	worlds(t, nil, func(w *world) {
		e := w.CreateEnvironment(penstock.EnvironmentConfig{Name: "app"})
		created := w.Create(penstock.RunRequest{Prompt: "go", Config: &penstock.Config{EnvironmentID: e.UID}})
		a := w.Claim()
		w.Moves(a.Lease, penstock.StatePending)
		failure := penstock.StatusMessage{Message: "make failed", ErrorCode: penstock.CodeEnvironmentSetupFailed}
		w.Finish(a.Lease, penstock.Result{State: penstock.StateFailed, Message: &failure})
		got, run := w.environment(e.UID), w.Get(created.ID)
		want := &penstock.EnvironmentTask{
			ID: run.ID, Title: run.Title, State: penstock.StateFailed, CreatedAt: run.CreatedAt, UpdatedAt: run.UpdatedAt,
			StartedAt: run.StartedAt,
		}
		if diff := cmp.Diff(want, got.LastTask); diff != "" || !got.SetupFailed || got.LastTaskRunAt != run.StartedAt {
			w.T.Errorf("got %+v, its run -want +got:\n%s", got, diff)
		}
		w.Create(penstock.RunRequest{Prompt: "again", Config: &penstock.Config{EnvironmentID: e.UID}})
		again := w.Work()
		w.Finish(again.Lease, penstock.Result{State: penstock.StateSucceeded})
		if got := w.environment(e.UID); got.SetupFailed || got.LastTask.State != penstock.StateSucceeded {
			w.T.Errorf("after a success: %+v", got)
		}
	})
}

func TestRightsToEnvironmentsAndAgents(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		e, agent := w.CreateEnvironment(penstock.EnvironmentConfig{}), w.CreateAgent(factory.IdentityRequest{Name: new("a")})
		for name, try := range map[string]struct {
			scope penstock.Scope // that it takes
			do    func(p penstock.Principal) error
		}{
			"list environments": {
				penstock.ScopeRunsRead,
				func(p penstock.Principal) error { _, err := w.Catalog.ListEnvironments(ctx, p, ""); return err },
			},
			"read an environment": {
				penstock.ScopeRunsRead,
				func(p penstock.Principal) error { _, err := w.Catalog.Environment(ctx, p, e.UID); return err },
			},
			"create an environment": {penstock.ScopeFactoriesManage, func(p penstock.Principal) error {
				_, err := w.Catalog.CreateEnvironment(ctx, p, penstock.EnvironmentConfig{})
				return err
			}},
			"replace an environment": {penstock.ScopeFactoriesManage, func(p penstock.Principal) error {
				_, err := w.Catalog.ReplaceEnvironment(ctx, p, e.UID, penstock.EnvironmentConfig{})
				return err
			}},
			"list agents": {
				penstock.ScopeRunsRead,
				func(p penstock.Principal) error { _, err := w.Resources.ListIdentities(ctx, p, ""); return err },
			},
			"read an agent": {
				penstock.ScopeRunsRead,
				func(p penstock.Principal) error { _, err := w.Resources.Identity(ctx, p, agent.UID); return err },
			},
			"create an agent": {penstock.ScopeFactoriesManage, func(p penstock.Principal) error {
				_, err := w.Resources.CreateIdentity(ctx, p, factory.IdentityRequest{Name: new(penstock.NewUID())})
				return err
			}},
			"change an agent": {penstock.ScopeFactoriesManage, func(p penstock.Principal) error {
				_, err := w.Resources.UpdateIdentity(ctx, p, agent.UID, factory.IdentityRequest{})
				return err
			}},
			"list skills": {
				penstock.ScopeRunsRead,
				func(p penstock.Principal) error { _, err := w.Skills.Skills(ctx, p, run.SkillQuery{}); return err },
			},
			"list models": {
				penstock.ScopeRunsRead, func(p penstock.Principal) error { _, err := w.Catalog.Models(ctx, p); return err },
			},
			"list workers": {
				penstock.ScopeRunsRead, func(p penstock.Principal) error { _, err := w.Catalog.Workers(ctx, p); return err },
			},
		} {
			for _, scope := range penstock.Scopes() {
				err := try.do(w.As("bob", scope))
				if allowed := scope == try.scope || scope == penstock.ScopeAdmin; allowed != (err == nil) ||
					!allowed && penstock.CodeOf(err) != penstock.CodeNotAuthorized {
					w.T.Errorf("%s with %s: got %v", name, scope, err)
				}
			}
		}
		for _, err := range []error{
			w.Catalog.DeleteEnvironment(ctx, w.As("bob", penstock.ScopeRunsWrite), e.UID),
			w.Resources.DeleteIdentity(ctx, w.As("bob", penstock.ScopeRunsWrite), agent.UID),
		} {
			testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, "factories:manage")
		}
	})
}
