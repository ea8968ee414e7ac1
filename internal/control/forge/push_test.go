package forge_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/forge"
	"github.com/penstock-dev/penstock/internal/control/run"
)

// A worker gets the token that writes, beside the one that reads, for the repositories that a person has named.
func TestAClaimSaysWhereARunMayPush(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		f := w.connected(func(r *forge.ConnectRequest) { r.ReadToken = "reader" })
		environment, err := w.Catalog.CreateEnvironment(t.Context(), w.Admin, penstock.EnvironmentConfig{
			Name: "e", Repos: []penstock.GitRepo{{URL: w.forge.URL + "/acme/secret.git"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		source := w.Create(penstock.RunRequest{Prompt: "a", Config: &penstock.Config{
			EnvironmentID: environment.UID, Repositories: []penstock.RunRepository{
				{Connection: "acme", Path: "acme/shop", Ref: "main"}, {URL: w.forge.URL + "/ACME/shop.git", Ref: "next"},
			},
		}})
		a := w.Work()
		name := penstock.PushCredential + f.UID
		want := []penstock.PushGrant{{
			Connection: "acme", Path: "acme/shop", URL: w.forge.URL + "/acme/shop.git", Ref: "main", Credential: name,
			Bot:    penstock.ForgeBot{Login: "penstock-bot", ID: 42, Email: "bot@example.com"},
			Policy: penstock.DefaultPushPolicy(),
		}}
		if diff := cmp.Diff(want, a.Pushes); diff != "" || a.NetworkSecrets[name] != "writer" ||
			a.NetworkSecrets[penstock.ForgeCredential+f.UID] != "reader" {
			t.Errorf("%v (-want +got):\n%s", a.NetworkSecrets, diff)
		}
		for _, layer := range a.Network.Layers {
			for _, rule := range layer.Network.Allow {
				if rule.Credential != nil && strings.HasPrefix(rule.Credential.Secret, penstock.PushCredential) {
					t.Errorf("the rule %+v sends the token that writes", rule)
				}
			}
		}
		w.keep(a.Lease, source.ID)
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		forked, err := w.Turns.Fork(t.Context(), w.Admin, source.ID, run.ForkRequest{Prompt: "b"})
		if err != nil {
			t.Fatal(err)
		}
		fork := w.Work()
		branches := [][]string{{"penstock/fork-" + forked.Runs[0].ID + "/**"}}
		if len(fork.Pushes) != 1 || cmp.Diff(branches, fork.Pushes[0].Policy.Branches) != "" {
			t.Errorf("a fork may push %+v", fork.Pushes)
		}
		w.Finish(fork.Lease, penstock.Result{State: penstock.StateSucceeded})
		w.Create(penstock.RunRequest{Prompt: "c", Config: &penstock.Config{EnvironmentID: environment.UID}})
		if none := w.Work(); none.Pushes != nil || none.NetworkSecrets[name] != "" {
			t.Errorf("a run of an environment may push to %+v", none.Pushes)
		}
	})
}

// All runs about one subject may push to a branch of one of them. A fork is not among them.
func TestABranchBelongsToASubject(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		w.connected(nil)
		about := penstock.RunRequest{Prompt: "a", Subject: "ticket-7"}
		claim := func(l penstock.Lease, current, next string) string {
			t.Helper()
			refusals, err := w.Executions.Control().ClaimBranches(t.Context(), l, penstock.PushClaim{
				URL: w.forge.URL + "/acme/shop.git",
				Branches: []penstock.PushedBranch{{
					Name: "penstock/fix", Current: strings.Repeat(current, 40), New: strings.Repeat(next, 40),
				}},
			})
			if err != nil {
				t.Fatal(err)
			}
			return refusals[0]
		}
		source := w.Create(about)
		a := w.Work()
		if refusal := claim(a.Lease, "", "a"); refusal != "" {
			t.Error(refusal)
		}
		w.keep(a.Lease, source.ID)
		w.Finish(a.Lease, penstock.Result{State: penstock.StateFailed, Turn: 1})
		next := w.Create(about)
		b := w.Work()
		if next.ID == source.ID || b.Lease.RunID != next.ID {
			t.Fatalf("the same run goes on: %+v", next)
		}
		if refusal := claim(b.Lease, "a", "b"); refusal != "" {
			t.Errorf("the next run about the subject: %s", refusal)
		}
		w.Finish(b.Lease, penstock.Result{State: penstock.StateSucceeded})
		if _, err := w.Turns.Fork(t.Context(), w.Admin, source.ID, run.ForkRequest{Prompt: "b"}); err != nil {
			t.Fatal(err)
		}
		if refusal := claim(w.Work().Lease, "b", "c"); !strings.Contains(refusal, "another run") {
			t.Errorf("a fork: %q", refusal)
		}
	})
}

// keep saves the files of a turn, as a worker does.
func (w *world) keep(l penstock.Lease, promptID string) {
	w.T.Helper()
	id := penstock.NewID()
	_, err := w.Executions.Control().Save(w.T.Context(), l, penstock.Upload{
		ID: id, Size: 1, Checkpoint: &penstock.SavedCheckpoint{PromptID: promptID, Packs: []string{id}},
	}, strings.NewReader("x"))
	if err != nil {
		w.T.Fatal(err)
	}
}

func TestAddressesOfCommits(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]penstock.Forge{
		"bot@example.com": {URL: "https://git.example.com", Bot: &penstock.ForgeBot{Email: "bot@example.com"}},
		"7+bot[bot]@users.noreply.github.com": {
			URL: "https://github.com", Provider: penstock.HostGitHub, Bot: &penstock.ForgeBot{ID: 7, Login: "bot[bot]"},
		},
		"bot@noreply.git.example.com": {
			URL: "https://git.example.com/x", Provider: penstock.HostGitea, Bot: &penstock.ForgeBot{Login: "bot"},
		},
		"": {URL: "https://git.example.com"},
	} {
		if got := f.CommitEmail(); got != want {
			t.Errorf("%+v: %q, not %q", f, got, want)
		}
	}
}
