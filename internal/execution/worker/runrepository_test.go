package worker_test

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// onBranches returns the URL of a new repository whose file on.txt names the branch it is on.
func onBranches(t *testing.T, root, name string, branches ...string) string {
	t.Helper()
	r := testkit.NewRepository(t, root, name)
	r.Commit("main", map[string]string{"on.txt": "main\n"})
	for _, branch := range branches {
		r.Git("checkout", "-q", "-b", branch)
		r.Commit(branch, map[string]string{"on.txt": branch + "\n"})
		r.Git("checkout", "-q", "main")
	}
	return r.URL()
}

// checkedOut returns the folders of the repositories with the branches that a run found.
func (w *world) checkedOut(config *penstock.Config, subject string) string {
	w.t.Helper()
	id := w.create(penstock.RunRequest{Config: config, Subject: subject},
		`demo: run for d in .[a-z]*/ */; do [ -d "$d.git" ] && echo "$d=$(cat "$d/on.txt")"; done; true`)
	w.becomes(id, penstock.StateSucceeded)
	return w.printed(id)
}

// Reported of others: MicrosoftDocs/azure-devops-docs#10328, nosarthur/gita#6 (two of one name).
func TestRepositoriesOfARunAndItsEnvironment(t *testing.T) {
	w := newWorld(t)
	w.start(nil)
	root := t.TempDir()
	shop, lib := onBranches(t, root, "acme/shop", "dev", "fix/#12"), onBranches(t, root, "acme/lib")
	other := onBranches(t, root, "other/shop")
	own, events := onBranches(t, root, "x/.penstock"), onBranches(t, root, "x/events")
	environment := func(repos ...penstock.GitRepo) []penstock.GitRepo { return repos }
	run := func(repos ...penstock.RunRepository) []penstock.RunRepository { return repos }
	for name, test := range map[string]struct {
		environment []penstock.GitRepo
		run         []penstock.RunRepository
		subject     string
		want        string
	}{
		"no environment": {
			run: run(penstock.RunRepository{URL: shop, Ref: "fix/#12"}), want: "shop/=fix/#12",
		},
		"added to the environment's": {
			environment(penstock.GitRepo{URL: lib}), run(penstock.RunRepository{URL: shop}), "", "lib/=main shop/=main",
		},
		"given twice": {
			nil, run(penstock.RunRepository{URL: shop}, penstock.RunRepository{URL: shop + "/"}), "", "shop/=main",
		},
		"as in the environment": {
			environment(penstock.GitRepo{URL: shop, Ref: "dev"}), run(penstock.RunRepository{URL: shop, Ref: "dev"}), "",
			"shop/=dev",
		},
		"another ref, and its folder stays": {
			environment(penstock.GitRepo{URL: shop, Ref: "dev"}, penstock.GitRepo{URL: other}),
			run(penstock.RunRepository{URL: shop, Ref: "fix/#12"}), "", "other-shop/=main shop/=fix/#12",
		},
		"no ref means the environment's": {
			environment(penstock.GitRepo{URL: shop, Ref: "dev"}), run(penstock.RunRepository{URL: shop}), "", "shop/=dev",
		},
		"the environment's and another one": {
			environment(penstock.GitRepo{URL: shop, Ref: "dev"}),
			run(penstock.RunRepository{URL: shop}, penstock.RunRepository{URL: shop, Ref: "main"}), "",
			"acme-shop/=main shop/=dev",
		},
		"two refs in place of one": {
			environment(penstock.GitRepo{URL: shop, Ref: "dev"}), run(
				penstock.RunRepository{URL: shop, Ref: "main"}, penstock.RunRepository{URL: shop, Ref: "fix/#12"},
			), "", "acme-shop/=fix/#12 shop/=main",
		},
		"two of one name": {
			nil, run(penstock.RunRepository{URL: shop}, penstock.RunRepository{URL: other}), "", "other-shop/=main shop/=main",
		},
		"names that we use ourselves": {
			nil, run(penstock.RunRepository{URL: own}, penstock.RunRepository{URL: events}), "acme/shop#7",
			"x-.penstock/=main x-events/=main",
		},
	} {
		config := &penstock.Config{}
		if test.environment != nil {
			config = w.environment(penstock.EnvironmentConfig{Name: name, Repos: test.environment})
		}
		config.Repositories = test.run
		got := w.checkedOut(config, test.subject)
		for want := range strings.FieldsSeq(test.want) {
			if !strings.Contains(got, want+`\n`) {
				t.Errorf("%s: got %s, want %s", name, got, test.want)
			}
		}
		if n := strings.Count(got, "/="); n != len(strings.Fields(test.want)) {
			t.Errorf("%s: got %d repositories, %s; want %s", name, n, got, test.want)
		}
	}
}

// What the run changes shows as in repositories of environments, and a second execution keeps it.
func TestChangesInARepositoryOfTheRun(t *testing.T) {
	w := newWorld(t)
	w.start(nil)
	shop := onBranches(t, t.TempDir(), "acme/shop", "dev")
	config := &penstock.Config{Repositories: []penstock.RunRepository{{URL: shop, Ref: "dev"}}}
	id := w.create(penstock.RunRequest{Config: config}, `demo: write shop/on.txt changed\n`)
	w.becomes(id, penstock.StateSucceeded)
	changes, err := w.Files.Changes(t.Context(), w.admin, id)
	if err != nil || len(changes.Repositories) != 1 {
		t.Fatalf("changes: %+v, %v", changes, err)
	}
	if r := changes.Repositories[0]; r.Name != "shop" || r.Branch != "dev" || r.URL != shop || len(r.Files) != 1 {
		t.Errorf("changes: %+v", r)
	}
	patch, err := w.Files.Patch(t.Context(), w.admin, id, "shop")
	if err != nil || !strings.Contains(string(patch), "-dev\n+changed\n") {
		t.Errorf("patch: %v\n%s", err, patch)
	}
	w.followUp(id, "demo: run cat shop/on.txt")
	w.says(id, "changed")
}

func TestARepositoryThatCannotBeCloned(t *testing.T) {
	w := newWorld(t)
	w.start(nil)
	shop := onBranches(t, t.TempDir(), "acme/shop")
	for want, r := range map[string]penstock.RunRepository{
		`"gone"`: {URL: shop, Ref: "gone"}, "nowhere": {URL: "file://" + t.TempDir() + "/nowhere"},
	} {
		id := w.create(penstock.RunRequest{Prompt: "go", Config: &penstock.Config{Repositories: []penstock.RunRepository{r}}})
		m := w.becomes(id, penstock.StateFailed).StatusMessage
		if m.ErrorCode != penstock.CodeEnvironmentSetupFailed || !strings.Contains(m.Message, want) {
			t.Errorf("the message is %+v, want %s", m, want)
		}
	}
}

// A ref that only one run wants must not become the layer of later runs, and a layer has no other
// repositories than the environment.
func TestARunWithRepositoriesOfItsOwnUsesNoLayer(t *testing.T) {
	eachWarm(t, func(w *world) {
		t := w.t
		root := t.TempDir()
		shop, lib := onBranches(t, root, "acme/shop", "dev"), onBranches(t, root, "acme/lib")
		config := w.environment(penstock.EnvironmentConfig{
			Repos: []penstock.GitRepo{{URL: shop}}, SetupCommands: []string{"cat shop/on.txt > setup.txt"},
		})
		for _, test := range []struct {
			name  string
			run   []penstock.RunRepository
			from  string
			setup string
		}{
			{"another ref, first", []penstock.RunRepository{{URL: shop, Ref: "dev"}}, "cold", "dev"},
			{"the environment's", nil, "cold", "main"},
			{"the environment's again", nil, "layer", "main"},
			{"the same repository", []penstock.RunRepository{{URL: shop}}, "layer", "main"},
			{"another ref", []penstock.RunRepository{{URL: shop, Ref: "dev"}}, "cold", "dev"},
			{"another repository", []penstock.RunRepository{{URL: lib}}, "cold", "main"},
			{"the environment's at the end", nil, "layer", "main"},
		} {
			of := *config
			of.Repositories = test.run
			id, ready := w.prepared(&of, "cat setup.txt; ls")
			if ready["from"] != test.from || !strings.Contains(w.printed(id), test.setup) {
				t.Errorf("%s: %v, and the run finds %s", test.name, ready, w.printed(id))
			}
			reason, _ := ready["reason"].(string)
			own := test.run != nil && test.from == "cold"
			if strings.Contains(reason, "The run names repositories") != own {
				t.Errorf("%s: the reason is %q", test.name, reason)
			}
			if strings.Contains(w.printed(id), "lib") != (test.name == "another repository") {
				t.Errorf("%s: the run finds %s", test.name, w.printed(id))
			}
		}
	})
}

// The environment names its credential for the paths of acme. A run that names another repository of the
// host must not get it.
func TestPrivateRepositoriesOfARun(t *testing.T) {
	root := t.TempDir()
	onBranches(t, root, "acme/shop")
	onBranches(t, root, "other/shop")
	server := testkit.NewGitServer(t, root, "password-of-acme")
	w := newWorld(t)
	repos, err := git.Open(t.Context(), git.Options{Dir: t.TempDir(), Env: []string{"GIT_SSL_CAINFO=" + server.CAFile}})
	if err != nil {
		t.Fatal(err)
	}
	w.start(func(o *worker.Options) { o.Repositories = repos })
	w.secret("GIT_KEY", "password-of-acme")
	if _, err := w.Secrets.Set(
		t.Context(), w.admin, "GIT_KEY", access.SecretChange{Hosts: &[]string{"127.0.0.1"}},
	); err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(address.Port())
	if err != nil {
		t.Fatal(err)
	}
	rule := penstock.NetworkRule{
		Host: "127.0.0.1", Ports: []int{port}, Paths: []string{"/acme/*"},
		Credential: &penstock.NetworkCredential{Secret: "GIT_KEY", As: penstock.CredentialBasic},
	}
	config := w.environment(penstock.EnvironmentConfig{Network: &penstock.Network{Allow: []penstock.NetworkRule{rule}}})
	created := func(path string, environment bool) string {
		of := penstock.Config{Repositories: []penstock.RunRepository{{URL: server.URL + path}}}
		if environment {
			of.EnvironmentID = config.EnvironmentID
		}
		return w.create(penstock.RunRequest{Config: &of}, "demo: run cat shop/on.txt; git -C shop remote -v")
	}
	id := created("/acme/shop/.git", true)
	w.becomes(id, penstock.StateSucceeded)
	if out := w.printed(id); !strings.Contains(out, "main") || strings.Contains(out, "password-of-acme") {
		t.Errorf("the agent finds %s", out)
	}
	for _, id := range []string{created("/other/shop/.git", true), created("/acme/shop/.git", false)} {
		var run penstock.Run
		testkit.Eventually(t, timeout, func() error {
			if run = w.get(id); !run.State.Done() {
				return fmt.Errorf("the run is %s", run.State)
			}
			return nil
		})
		m := run.StatusMessage
		if run.State != penstock.StateFailed || m.ErrorCode != penstock.CodeEnvironmentSetupFailed ||
			strings.Contains(m.Message, "password-of-acme") {
			t.Errorf("the run is %s, %+v", run.State, m)
		}
	}
}
