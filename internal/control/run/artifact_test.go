package run_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// What an agent sends to the API is masked like what it sends through its worker.
func TestArtifactsHoldNoSecretsOfTheirRun(t *testing.T) {
	worlds(t, nil, func(w *world) {
		const value = "hunter2-hunter2"
		w.CreateSecret("TOKEN", value)
		started := w.Create(penstock.RunRequest{Prompt: "p", Config: &penstock.Config{Secrets: []string{"TOKEN"}}})
		a := w.Work()
		agent, err := w.Keys.Authenticate(w.T.Context(), a.APIKey)
		if err != nil {
			w.T.Fatal(err)
		}
		encoded := base64.StdEncoding.EncodeToString([]byte(value))
		for _, u := range []run.ArtifactUpload{
			{
				Type: penstock.ArtifactFile,
				Data: penstock.ArtifactData{
					Filename: value + ".txt", Title: "a " + value, Description: encoded, MimeType: "text/plain",
				},
			},
			{Type: penstock.ArtifactPlan, Data: penstock.ArtifactData{Content: "log in with " + value}},
			{Type: penstock.ArtifactReference, Data: penstock.ArtifactData{
				ReferenceType: "ticket", URL: "https://tickets.test/?token=" + value,
				Metadata: []byte(`{"` + value + `":["` + value + `"]}`),
			}},
		} {
			var content io.Reader
			if u.Type == penstock.ArtifactFile {
				content = io.MultiReader(strings.NewReader("the token is "+value[:4]), strings.NewReader(value[4:]+"."))
			}
			item, err := w.Files.AddArtifact(w.T.Context(), agent, started.ID, u, content)
			if err != nil {
				w.T.Fatal(err)
			}
			got, err := w.Files.Artifact(w.T.Context(), w.Admin, item.UID)
			if err != nil {
				w.T.Fatal(err)
			}
			shown := fmt.Sprintf("%s %s", item.Data, got.Data)
			if content != nil {
				link, err := w.Files.ArtifactLink(w.T.Context(), w.Admin, item.UID)
				if err != nil {
					w.T.Fatal(err)
				}
				d, err := w.Files.Download(w.T.Context(), link[strings.LastIndexByte(link, '/')+1:])
				if err != nil {
					w.T.Fatal(err)
				}
				shown += testworld.ReadAll(w.T, d.Content)
			}
			if strings.Contains(shown, value) || strings.Contains(shown, encoded[:12]) || !strings.Contains(shown, "***") {
				w.T.Errorf("%s: got %s", u.Type, shown)
			}
		}
	})
}

func TestArtifactsThatAreRefused(t *testing.T) {
	worlds(t, nil, func(w *world) {
		run := w.Create(penstock.RunRequest{Prompt: "p"})
		a := w.Work()
		for metadata, want := range map[string]string{
			`{"a":1,"a":2}`: "without duplicate keys", `[1]`: "must be a JSON object", `{"a":`: "must be a JSON object",
			`{"a":"` + strings.Repeat("x", 64<<10) + `"}`: "at most 65536",
		} {
			data := penstock.ArtifactData{ReferenceType: "ticket", URL: "https://tickets.test/7", Metadata: []byte(metadata)}
			_, err := w.Executions.Control().Save(
				w.T.Context(), a.Lease, penstock.Upload{ID: penstock.NewID(), Type: penstock.ArtifactReference, Artifact: &data},
				nil,
			)
			testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, want)
		}
		for _, kind := range []penstock.ArtifactType{penstock.ArtifactPlan, penstock.ArtifactReference} {
			data := penstock.ArtifactData{Content: "plan", ReferenceType: "ticket", URL: "javascript://tickets.test/%0aalert(1)"}
			_, err := w.Executions.Control().Save(
				w.T.Context(), a.Lease, penstock.Upload{ID: penstock.NewID(), Type: kind, Artifact: &data}, nil,
			)
			testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, "must be an http or https URL")
		}
		if got := w.Get(run.ID).Artifacts; len(got) > 0 {
			w.T.Errorf("got %v", got)
		}
	})
}

// The number of a run's artifacts is limited, and so is the size of what a list reads.
func TestArtifactsOfARunAreBounded(t *testing.T) {
	worlds(t, nil, func(w *world) {
		started := w.Create(penstock.RunRequest{Prompt: "p"})
		add := func(address string) error {
			_, err := w.Files.AddArtifact(w.T.Context(), w.Admin, started.ID, run.ArtifactUpload{
				Type: penstock.ArtifactReference, Data: penstock.ArtifactData{ReferenceType: "ticket", URL: address},
			}, nil)
			return err
		}
		var address strings.Builder
		address.WriteString("https://tickets.test/")
		for address.Len() < 2048 {
			address.WriteString(penstock.NewUID()) // which nothing compresses
		}
		testworld.WantCode(w.T, add(address.String()), penstock.CodeInvalidRequest, "/data/url")
		longest := address.String()[:2048]
		if err := add(longest); err != nil {
			w.T.Fatal(err)
		}
		if found, err := w.Runs.RunByReference(w.T.Context(), w.Admin, longest); found != started.ID || err != nil {
			w.T.Errorf("found %q, %v", found, err)
		}
		var adding sync.WaitGroup
		var refused atomic.Int64
		for range 8 {
			adding.Go(func() {
				for range 70 {
					switch err := add("https://tickets.test/7"); penstock.CodeOf(err) {
					case "":
					case penstock.CodeConflict:
						refused.Add(1)
					default:
						w.T.Error(err)
					}
				}
			})
		}
		adding.Wait()
		if got := len(w.Get(started.ID).Artifacts); got != 500 || refused.Load() != 61 {
			w.T.Errorf("got %d artifacts, %d were refused", got, refused.Load())
		}
	})
}

func TestPullRequestsHaveAStatus(t *testing.T) {
	worlds(t, nil, func(w *world) {
		started := w.Create(penstock.RunRequest{Prompt: "p"})
		for given, want := range map[string]string{"": `"status":"unknown"`, "draft": `"status":"draft"`} {
			item, err := w.Files.AddArtifact(w.T.Context(), w.Admin, started.ID, run.ArtifactUpload{
				Type: penstock.ArtifactPullRequest,
				Data: penstock.ArtifactData{Branch: "fix", URL: "https://github.test/a/b/pull/1", Status: given},
			}, nil)
			if data := string(item.Data); err != nil || !strings.Contains(data, want) ||
				!strings.Contains(data, `"observed":false`) {
				w.T.Errorf("status %q: got %s, %v", given, item.Data, err)
			}
		}
	})
}

// A client cannot pass a pull request off as one that the proxy saw. Only a worker says so.
func TestOnlyTheProxyObservesPullRequests(t *testing.T) {
	worlds(t, nil, func(w *world) {
		started := w.Create(penstock.RunRequest{Prompt: "p"})
		a := w.Claim()
		data := penstock.ArtifactData{Branch: "fix", URL: "https://github.test/a/b/pull/1"}
		agent, err := w.Keys.Authenticate(w.T.Context(), a.APIKey)
		if err != nil {
			w.T.Fatal(err)
		}
		for _, p := range []penstock.Principal{w.Admin, agent} {
			for _, observed := range []bool{true, false} {
				claimed := data
				claimed.Observed = &observed
				_, err := w.Files.AddArtifact(w.T.Context(), p, started.ID, run.ArtifactUpload{
					Type: penstock.ArtifactPullRequest, Data: claimed,
				}, nil)
				testworld.WantField(w.T, err, "/data/observed")
			}
		}
		seen := true
		data.Observed = &seen
		upload := penstock.Upload{ID: penstock.NewID(), Type: penstock.ArtifactPullRequest, Artifact: &data}
		if _, err := w.Executions.Control().Save(w.T.Context(), a.Lease, upload, nil); err != nil {
			w.T.Fatal(err)
		}
		all := w.Get(started.ID).Artifacts
		if len(all) != 1 || !strings.Contains(string(all[0].Data), `"observed":true`) {
			w.T.Errorf("got %s", all)
		}
	})
}

// A screenshot is found through the conversation of its run, and no other.
func TestScreenshotsOfAConversation(t *testing.T) {
	worlds(t, nil, func(w *world) {
		member := w.As("member", penstock.ScopeRunsRead)
		hidden := false
		conversations := map[string]string{}
		screenshots := map[string]string{}
		for name, team := range map[string]*bool{"shared": nil, "other": nil, "personal": &hidden} {
			started := w.Create(penstock.RunRequest{Prompt: "p", Team: team})
			a := w.Work()
			item, err := w.Files.AddArtifact(w.T.Context(), w.Admin, started.ID, run.ArtifactUpload{
				Type: penstock.ArtifactScreenshot, Data: penstock.ArtifactData{MimeType: "image/png"},
			}, strings.NewReader("png"))
			if err != nil {
				w.T.Fatal(err)
			}
			conversations[name], screenshots[name] = a.Run.ConversationID, item.UID
		}
		link, err := w.Files.ScreenshotLink(w.T.Context(), member, conversations["shared"], screenshots["shared"])
		if err != nil || !strings.Contains(link, "/downloads/") {
			w.T.Errorf("got %q, %v", link, err)
		}
		for _, refused := range []struct{ conversation, screenshot string }{
			{conversations["other"], screenshots["shared"]},
			{conversations["personal"], screenshots["personal"]},
			{conversations["shared"], penstock.NewID()},
		} {
			_, err := w.Files.ScreenshotLink(w.T.Context(), member, refused.conversation, refused.screenshot)
			testworld.WantCode(w.T, err, penstock.CodeNotFound, refused.screenshot)
		}
	})
}

// The artifacts of a run share one size limit, even if they arrive at the same time.
func TestArtifactsOfARunAreBoundedTogether(t *testing.T) {
	const most = 1000
	worlds(t, func(o *run.Deps) { o.MaxRunArtifactBytes = most }, func(w *world) {
		started := w.Create(penstock.RunRequest{Prompt: "p"})
		add := func(size int) error {
			_, err := w.Files.AddArtifact(w.T.Context(), w.Admin, started.ID, run.ArtifactUpload{
				Type: penstock.ArtifactFile, Data: penstock.ArtifactData{Filename: "f", MimeType: "text/plain"},
			}, strings.NewReader(strings.Repeat("x", size)))
			return err
		}
		testworld.WantCode(w.T, add(most+1), penstock.CodePayloadTooLarge, "--limit-artifacts")
		if err := add(600); err != nil {
			w.T.Fatal(err)
		}
		testworld.WantCode(w.T, add(401), penstock.CodePayloadTooLarge, "more than the 1000 bytes together")
		var all sync.WaitGroup
		var kept atomic.Int64
		for range 8 {
			all.Go(func() {
				if add(150) == nil {
					kept.Add(1)
				}
			})
		}
		all.Wait()
		if got := kept.Load(); got != 2 {
			w.T.Errorf("%d artifacts of 150 bytes are kept beside one of 600, want 2", got)
		}
		_, err := w.Files.AddArtifact(w.T.Context(), w.Admin, started.ID, run.ArtifactUpload{
			Type: penstock.ArtifactPlan, Data: penstock.ArtifactData{Content: strings.Repeat("x", 101)},
		}, nil)
		testworld.WantCode(w.T, err, penstock.CodePayloadTooLarge, "--limit-artifacts")
		if got, want := len(w.keys()), len(w.Get(started.ID).Artifacts); got != want || got != 3 {
			w.T.Errorf("%d files for %d artifacts, want 3", got, want)
		}
		other := w.Create(penstock.RunRequest{Prompt: "p"})
		started = other
		if err := add(most); err != nil {
			w.T.Errorf("another run: %v", err)
		}
	})
}
