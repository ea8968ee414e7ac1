package run_test

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// textFile is an attachment with inline content.
func textFile(name, content string) run.FollowupAttachment {
	return run.FollowupAttachment{FileName: name, MimeType: "text/plain", Data: []byte(content)}
}

func (w *world) attach(id, message string, files ...run.FollowupAttachment) error {
	_, err := w.Runs.FollowUp(w.T.Context(), w.Admin, id, run.FollowupRequest{Message: message, Attachments: files})
	return err
}

// contents returns the contents of files by path, as a worker reads them.
func (w *world) contents(l penstock.Lease, files []penstock.File) map[string]string {
	w.T.Helper()
	all := map[string]string{}
	for _, f := range files {
		content, err := w.Executions.Control().Open(w.T.Context(), l, f)
		if err != nil {
			w.T.Fatalf("open %s: %v", f.Path, err)
		}
		all[f.Path] = testworld.ReadAll(w.T, content)
		if int64(len(all[f.Path])) != f.Size {
			w.T.Errorf("%s has %d bytes, and is said to have %d", f.Path, len(all[f.Path]), f.Size)
		}
	}
	return all
}

// The files of a follow-up come with its prompt: to the live agent, again to the next one if the
// worker is lost, and later as existing files.
func TestFilesComeWithTheirFollowup(t *testing.T) {
	worlds(t, nil, func(w *world) {
		const dir = ".penstock/attachments/"
		id := w.Create(
			penstock.RunRequest{
				Prompt:      "p",
				Attachments: []penstock.Attachment{{FileName: "a.txt", MimeType: "text/plain", Data: []byte("of the run")}},
			},
		).ID
		if err := w.attach(id, "look", textFile("b.txt", "of the first"), textFile("a.txt", "of the same name")); err != nil {
			w.T.Fatal(err)
		}
		a := w.Work()
		if diff := cmp.Diff(map[string]string{dir + "a.txt": "of the run"}, w.contents(a.Lease, a.Files)); diff != "" {
			w.T.Errorf("files before the follow-up (-want +got):\n%s", diff)
		}
		w.SaveSession(a.Lease)
		first := map[string]string{dir + "b.txt": "of the first", dir + "a-2.txt": "of the same name"}
		prompts := w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded, Turn: 1})
		again := w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded, Turn: 1}) // the response was lost
		for _, p := range [][]penstock.Prompt{prompts, again} {
			if diff := cmp.Diff(first, w.contents(a.Lease, p[0].Files)); diff != "" {
				w.T.Errorf("files of the follow-up (-want +got):\n%s", diff)
			}
		}
		w.LoseLease(a.Lease)
		testkit.Eventually(w.T, 10*time.Second, func() error { return w.is(id, penstock.StateQueued) })
		a = w.Work()
		if p := a.Prompts[0]; !p.Redelivered || cmp.Diff(first, w.contents(a.Lease, p.Files)) != "" || len(a.Files) != 1 {
			w.T.Errorf("given again: %+v, beside %+v", p, a.Files)
		}
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})

		if err := w.attach(id, "", textFile("empty", "")); err != nil { // after the end, with files alone
			w.T.Fatal(err)
		}
		a = w.Work()
		first[dir+"a.txt"] = "of the run"
		if diff := cmp.Diff(first, w.contents(a.Lease, a.Files)); diff != "" {
			w.T.Errorf("files of before (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]string{dir + "empty": ""}, w.contents(a.Lease, a.Prompts[0].Files)); diff != "" {
			w.T.Errorf("files of the second follow-up (-want +got):\n%s", diff)
		}
		w.checkFiles(id, [][]string{nil, {"b.txt", "a-2.txt"}, {"empty"}})
	})
}

// checkFiles finds the files of each message in the conversation, and all of them in the
// assignment.
func (w *world) checkFiles(id string, want [][]string) {
	w.T.Helper()
	c, err := w.RunConversation(w.T.Context(), w.Admin, id)
	if err != nil {
		w.T.Fatal(err)
	}
	var got [][]string
	for _, step := range c.Steps {
		var names []string
		for _, b := range step.Messages[0].Content[1:] {
			if b.Name == "attachments" {
				for _, quoted := range strings.Split(string(b.Data), `"filename":"`)[1:] {
					names = append(names, quoted[:strings.IndexByte(quoted, '"')])
				}
			}
		}
		got = append(got, names)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.T.Errorf("files in the conversation (-want +got):\n%s", diff)
	}
	list, err := w.Files.HandoffAttachments(w.T.Context(), w.Admin, id)
	if err != nil || len(list) != 4 {
		w.T.Fatalf("%d files to hand over, %v", len(list), err)
	}
	d, err := w.Files.Download(w.T.Context(), path.Base(list[1].DownloadURL))
	if err != nil {
		w.T.Fatal(err)
	}
	if got := testworld.ReadAll(w.T, d.Content); got != "of the first" || d.Name != "b.txt" {
		w.T.Errorf("downloaded %s: %q", d.Name, got)
	}
}

func TestBadFilesOfFollowupsAreRefused(t *testing.T) {
	worlds(t, nil, func(w *world) {
		id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		uploaded := run.FollowupAttachment{ID: penstock.NewID()}
		for name, tt := range map[string]struct {
			files []run.FollowupAttachment
			code  penstock.Code
			want  string
		}{
			"too many": {
				slices.Repeat([]run.FollowupAttachment{uploaded}, 26), penstock.CodeInvalidRequest,
				"/attachments: has 26 files; at most 25",
			},
			"too many with content": {
				[]run.FollowupAttachment{
					textFile("1", ""), textFile("2", ""), textFile("3", ""), textFile("4", ""), textFile("5", ""), textFile("6", ""),
				},
				penstock.CodeInvalidRequest, "/attachments: contains 6 files; at most 5",
			},
			"a path": {
				[]run.FollowupAttachment{textFile("../x", "")}, penstock.CodeInvalidRequest, "/attachments/0/file_name",
			},
			"an escape": {
				[]run.FollowupAttachment{textFile("a\x1b[2J", "")}, penstock.CodeInvalidRequest, "/attachments/0/file_name",
			},
			"no name": {
				[]run.FollowupAttachment{textFile("", "")}, penstock.CodeInvalidRequest, "/attachments/0/file_name",
			},
			"one name twice": {
				[]run.FollowupAttachment{textFile("a", ""), textFile("a", "")},
				penstock.CodeInvalidRequest,
				"/attachments/1/file_name: is used by two attachments",
			},
			"no content": {
				[]run.FollowupAttachment{{FileName: "a", MimeType: "text/plain"}},
				penstock.CodeInvalidRequest,
				"/attachments/0/data: is required",
			},
			"no type": {
				[]run.FollowupAttachment{{FileName: "a", Data: []byte("x")}},
				penstock.CodeInvalidRequest,
				"/attachments/0/mime_type",
			},
			"no id": {
				[]run.FollowupAttachment{{ID: "x"}}, penstock.CodeInvalidRequest, "/attachments/0/attachment_id",
			},
			"an id and content": {
				[]run.FollowupAttachment{{ID: penstock.NewID(), Data: []byte("x")}},
				penstock.CodeInvalidRequest,
				"/attachments/0/data",
			},
			"one id twice": {
				[]run.FollowupAttachment{uploaded, uploaded},
				penstock.CodeInvalidRequest,
				"/attachments/1/attachment_id: is named twice",
			},
			"a name of a folder": {
				[]run.FollowupAttachment{{ID: penstock.NewID(), FileName: "a/b"}},
				penstock.CodeInvalidRequest,
				"/attachments/0/file_name",
			},
			"an unknown id": {
				[]run.FollowupAttachment{textFile("good", "x"), uploaded},
				penstock.CodeNotSupported,
				"/attachments/1/attachment_id: names the attachment",
			},
		} {
			err := w.attach(id, "look", tt.files...)
			if penstock.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
				w.T.Errorf("%s: got %v, want %s %q", name, err, tt.code, tt.want)
			}
		}
		if left := w.keys(); len(left) > 0 {
			w.T.Errorf("refused files are left: %v", left)
		}
		if timeline := w.TimelineTypes(id); slices.Contains(timeline, penstock.TimelineFollowup) {
			w.T.Errorf("a refused follow-up was received: %v", timeline)
		}
	})
}

// The attachments of a run and its follow-ups share one limit.
func TestFilesOfARunAreBounded(t *testing.T) {
	worlds(t, nil, func(w *world) {
		id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		if err := w.attach(id, "first", textFile("a", "x")); err != nil {
			w.T.Fatal(err)
		}
		for range 3 {
			w.prepare(id, 25)
		}
		w.prepare(id, 24)
		err := w.attach(id, "one more", textFile("b", "x"))
		testworld.WantCode(w.T, err, penstock.CodeConflict, "101 attachments; at most 100")
		_, err = w.Files.PrepareAttachments(w.T.Context(), w.Admin, id, prepareRequest(1))
		testworld.WantCode(w.T, err, penstock.CodeConflict, "at most 100")
		_, err = w.Files.PrepareAttachments(w.T.Context(), w.Admin, id, prepareRequest(26))
		testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, "/files: has 26 files")

		testkit.Exec(
			w.T, w.URL,
			fmt.Sprintf(
				"UPDATE attachments SET size = %d WHERE run_id = '%s' AND expires_at = 0", run.MaxRunAttachmentBytes-2, id,
			),
		)
		testkit.Exec(w.T, w.URL, "DELETE FROM attachments WHERE run_id = '"+id+"' AND expires_at > 0")
		testworld.WantCode(w.T, w.attach(id, "too large", textFile("b", "xyz")), penstock.CodeConflict, "at most 268435456")
		token, _ := w.prepare(id, 1)
		_, err = w.Files.Upload(w.T.Context(), token, strings.NewReader("xyz"))
		testworld.WantCode(w.T, err, penstock.CodeConflict, "at most 268435456")
		if err := w.attach(id, "it fits", textFile("b", "xy")); err != nil {
			w.T.Error(err)
		}
		if left := w.keys(); len(left) != 2 {
			w.T.Errorf("the files are %v, want 2", left)
		}
	})
}

func TestWaitingFollowupsAreBounded(t *testing.T) {
	worlds(t, nil, func(w *world) {
		id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		large := strings.Repeat("x", 1<<20)
		for range 16 {
			w.FollowUp(id, large)
		}
		testworld.WantCode(w.T, w.attach(id, "x"), penstock.CodeConflict, "16 follow-ups are already waiting")
	})
}

func prepareRequest(n int) (req run.PrepareRequest) {
	for i := range n {
		req.Files = append(req.Files, run.PrepareFile{Filename: fmt.Sprintf("file%d.txt", i), MimeType: "text/plain"})
	}
	return req
}

// prepare prepares files, and returns the token and the id of the first.
func (w *world) prepare(id string, n int) (token, attachment string) {
	w.T.Helper()
	p, err := w.Files.PrepareAttachments(w.T.Context(), w.Admin, id, prepareRequest(n))
	if err != nil || len(p.Attachments) != n {
		w.T.Fatalf("prepared %+v, %v", p, err)
	}
	first := p.Attachments[0]
	if first.Target.URL != first.UploadURL || first.Target.Method != http.MethodPut ||
		first.Target.Headers["Content-Type"] != "text/plain" {
		w.T.Errorf("the target is %+v", first.Target)
	}
	return path.Base(first.UploadURL), first.ID
}

// A file is prepared, uploaded to its link, and used by a follow-up.
func TestUploadedFilesAreNamedByFollowups(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		id, other := w.Create(penstock.RunRequest{Prompt: "p"}).ID, w.Create(penstock.RunRequest{Prompt: "q"}).ID
		token, attachment := w.prepare(id, 1)
		named := run.FollowupAttachment{ID: attachment, FileName: "shown.txt"}
		testworld.WantCode(w.T, w.attach(id, "look", named), penstock.CodeNotSupported, "was not uploaded for this run")
		for _, content := range []string{"first", "the second"} { // sent again
			done, err := w.Files.Upload(ctx, token, strings.NewReader(content))
			if err != nil || done.ID != attachment || done.SizeBytes != int64(len(content)) || done.Filename != "file0.txt" {
				w.T.Errorf("uploaded %+v, %v", done, err)
			}
		}
		if left := w.keys(); len(left) != 1 {
			w.T.Errorf("the files are %v, want the last upload", left)
		}
		testworld.WantCode(w.T, w.attach(other, "not its own", named), penstock.CodeNotSupported, attachment)
		if err := w.attach(id, "look", named); err != nil {
			w.T.Fatal(err)
		}
		_, err := w.Files.Upload(ctx, token, strings.NewReader("too late"))
		testworld.WantCode(w.T, err, penstock.CodeConflict, "belongs to a follow-up")
		if err := w.attach(
			id, "look again", run.FollowupAttachment{ID: attachment},
		); err != nil { // as the dashboard sends it again
			w.T.Fatal(err)
		}
		a := w.Work()
		for range 2 {
			prompts := w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
			want := map[string]string{".penstock/attachments/shown.txt": "the second"}
			if diff := cmp.Diff(want, w.contents(a.Lease, prompts[0].Files)); diff != "" {
				w.T.Errorf("files of the follow-up (-want +got):\n%s", diff)
			}
		}
		for _, bad := range []string{"", "nothing", token[:len(token)-1]} {
			_, err := w.Files.Upload(ctx, bad, strings.NewReader("x"))
			testworld.WantCode(w.T, err, penstock.CodeNotFound, "the link is not valid")
		}
		_, err = w.Files.Download(ctx, token)
		testworld.WantCode(w.T, err, penstock.CodeNotFound, "the link is not valid")
		_, err = w.Files.PrepareAttachments(ctx, w.As("reader", penstock.ScopeRunsRead), id, prepareRequest(1))
		testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, "runs:write")
	})
}

// The server removes prepared files that no follow-up uses after a day, and the files of a deleted
// run with the run.
func TestFilesOfFollowupsAreRemoved(t *testing.T) {
	worlds(t, func(o *run.Deps) { o.KeepRunsFor = time.Hour }, func(w *world) {
		ctx := w.T.Context()
		id := w.Create(penstock.RunRequest{Prompt: "p"}).ID
		unused, _ := w.prepare(id, 1)
		used, attachment := w.prepare(id, 1)
		for _, token := range []string{unused, used} {
			if _, err := w.Files.Upload(ctx, token, strings.NewReader("content")); err != nil {
				w.T.Fatal(err)
			}
		}
		if err := w.attach(id, "look", run.FollowupAttachment{ID: attachment}, textFile("b", "x")); err != nil {
			w.T.Fatal(err)
		}
		if err := w.Files.ExpireAttachments(ctx); err != nil || len(w.keys()) != 3 {
			w.T.Errorf("the files are %v, %v, want all 3", w.keys(), err)
		}
		testkit.Exec(w.T, w.URL, "UPDATE attachments SET expires_at = 1 WHERE expires_at > 0")
		if err := w.Files.ExpireAttachments(ctx); err != nil || len(w.keys()) != 2 {
			w.T.Errorf("the files are %v, %v, want those of the follow-up", w.keys(), err)
		}
		_, err := w.Files.Upload(ctx, unused, strings.NewReader("late"))
		testworld.WantCode(w.T, err, penstock.CodeNotFound, "the link is not valid")
		w.age(48*time.Hour, w.keys()...)
		if err := w.Files.RemoveOrphans(ctx); err != nil || len(w.keys()) != 2 {
			w.T.Errorf("the files are %v, %v after a search for lost ones", w.keys(), err)
		}

		w.cancel(id, false)
		testkit.Exec(w.T, w.URL, "UPDATE runs SET updated_at = 1 WHERE id = '"+id+"'")
		if err := w.Upkeep.RemoveOldRuns(ctx); err != nil {
			w.T.Fatal(err)
		}
		if left := w.keys(); len(left) > 0 {
			w.T.Errorf("files of a run that was removed: %v", left)
		}
	})
}
