package run_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/supply/blob"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// keys lists the blobs that there are.
func (w *world) keys() (keys []string) {
	w.T.Helper()
	err := filepath.WalkDir(w.BlobDir, func(name string, e fs.DirEntry, err error) error {
		if key, _ := filepath.Rel(w.BlobDir, name); err == nil && e.Type().IsRegular() && !strings.HasPrefix(key, ".") {
			keys = append(keys, key)
		}
		return err
	})
	if err != nil {
		w.T.Fatal(err)
	}
	slices.Sort(keys)
	return keys
}

// plant puts a blob that no row names.
func (w *world) plant(key string) string {
	w.T.Helper()
	if _, _, err := w.Deps.Blobs.Put(w.T.Context(), key, strings.NewReader("lost"), -1); err != nil {
		w.T.Fatal(err)
	}
	return key
}

// age sets the times of blobs back.
func (w *world) age(by time.Duration, keys ...string) {
	w.T.Helper()
	at := time.Now().Add(-by)
	for _, key := range keys {
		if err := os.Chtimes(filepath.Join(w.BlobDir, key), at, at); err != nil {
			w.T.Fatal(err)
		}
	}
}

func (w *world) mustHaveFiles(when string, want []string) {
	w.T.Helper()
	slices.Sort(want)
	if diff := cmp.Diff(want, w.keys()); diff != "" {
		w.T.Errorf("%s: (-want +got)\n%s", when, diff)
	}
}

func upload(id string) penstock.Upload {
	return penstock.Upload{
		ID: id, Type: penstock.ArtifactFile, Artifact: &penstock.ArtifactData{Filename: "made.txt", MimeType: "text/plain"},
	}
}

// Any number of replicas at once remove an unreferenced blob a day after it was put, and nothing
// else.
func TestUnusedFilesAreRemoved(t *testing.T) { worlds(t, nil, testUnreferredFiles) }

// The same in an object store.
func TestUnusedObjectsAreRemoved(t *testing.T) {
	s3 := testkit.NewS3(t)
	var folders sync.Map // by the store
	inBucket := func(o *run.Deps) {
		prefix := penstock.NewID()
		o.Blobs = blob.OpenS3(blob.S3Options{
			Config: s3.Config(), Bucket: testkit.S3Bucket, Prefix: prefix, Endpoint: s3.URL, PathStyle: true,
		})
		folders.Store(o.Blobs, filepath.Join(s3.Dir, prefix))
	}
	worlds(t, inBucket, func(w *world) {
		folder, _ := folders.Load(w.Deps.Blobs)
		w.BlobDir, _ = folder.(string)
		testUnreferredFiles(w)
	})
}

func testUnreferredFiles(w *world) {
	run := w.Create(penstock.RunRequest{Prompt: "p", Attachments: []penstock.Attachment{
		{FileName: "a.txt", MimeType: "text/plain", Data: []byte("a")},
		{FileName: "b.txt", MimeType: "text/plain", Data: []byte("b")},
	}})
	a := w.Work()
	w.SaveSession(a.Lease)
	w.SaveSession(a.Lease) // in place of the first
	made := penstock.NewID()
	if _, err := w.Executions.Control().Save(
		w.T.Context(), a.Lease, upload(made), strings.NewReader("made"),
	); err != nil {
		w.T.Fatal(err)
	}
	kept := w.keys()
	if len(kept) != 4 {
		w.T.Fatalf("there are %v, want two attachments, an artifact and a session", kept)
	}
	// The server does not touch keys of other kinds.
	kept = append(
		kept, w.plant("transcripts/"+run.ID+"/x"), w.plant("attachments/somebody/0"),
		w.plant("artifacts/"+run.ID+"/thumbs/"+made), w.plant("top"),
	)

	lost := []string{
		w.plant("artifacts/" + run.ID + "/" + penstock.NewID()), w.plant("attachments/" + run.ID + "/2"),
		w.plant("sessions/" + w.Get(run.ID).ConversationID + "/" + penstock.NewID()),
		w.plant("sessions/" + run.ID + "/" + made),
	}
	for range 250 { // more than one batch
		lost = append(lost, w.plant("attachments/"+penstock.NewID()+"/0"))
	}
	young := w.plant("attachments/" + penstock.NewID() + "/0")
	w.age(48*time.Hour, kept...)
	w.age(48*time.Hour, lost...)
	w.age(23*time.Hour, young)

	clearing := func() {
		w.T.Helper()
		errs := make([]error, 2)
		var replicas sync.WaitGroup
		for i := range errs {
			o := w.Deps
			o.Store = testkit.OpenStore(w.T, w.URL)
			replica := control.New(o)
			replicas.Go(func() { errs[i] = replica.Files.RemoveOrphans(w.T.Context()) })
		}
		replicas.Wait()
		if err := errors.Join(errs...); err != nil {
			w.T.Error(err)
		}
	}
	clearing()
	w.mustHaveFiles("files of before the database", slices.Concat(kept, lost, []string{young}))
	testkit.Exec(w.T, w.URL, "UPDATE settings SET value = '0' WHERE name = 'files_since'") // a database of long ago
	clearing()
	w.mustHaveFiles("files of its time", append(slices.Clone(kept), young))
	w.age(25*time.Hour, young)
	clearing()
	w.mustHaveFiles("a day later", kept)

	link, err := w.Files.ArtifactLink(w.T.Context(), w.Admin, made)
	if err != nil {
		w.T.Fatal(err)
	}
	d, err := w.Files.Download(w.T.Context(), link[strings.LastIndexByte(link, '/')+1:])
	if err != nil {
		w.T.Fatal(err)
	}
	if got := testworld.ReadAll(w.T, d.Content); got != "made" {
		w.T.Errorf("got %q", got)
	}
}

// A late attempt must not remove what an earlier one has stored.
func TestLateUploadDoesNotReplaceTheFile(t *testing.T) {
	worlds(t, nil, func(w *world) {
		run := w.Create(penstock.RunRequest{Prompt: "p"})
		a := w.Work()
		u := upload(penstock.NewID())
		if _, err := w.Executions.Control().Save(w.T.Context(), a.Lease, u, strings.NewReader("made")); err != nil {
			w.T.Fatal(err)
		}
		want := w.keys()
		cancels := func() {
			if _, err := w.Runs.Cancel(w.T.Context(), w.Admin, run.ID, false); err != nil {
				w.T.Error(err)
			}
		}
		late := &lastRead{content: "made", do: sync.OnceFunc(cancels)}
		if _, err := w.Executions.Control().Save(w.T.Context(), a.Lease, u, late); !errors.Is(err, penstock.ErrLeaseLost) {
			w.T.Errorf("got %v, want %v", err, penstock.ErrLeaseLost)
		}
		w.mustHaveFiles("after the late attempt", want)
	})
}

// An upload stays if it is unknown whether its row was written. A refused upload is removed.
func TestFilesOfUploadsThatFail(t *testing.T) {
	worlds(t, nil, func(w *world) {
		run := w.Create(penstock.RunRequest{Prompt: "p"})
		a := w.Work()
		made := upload(penstock.NewID())
		ctx, leave := context.WithCancel(w.T.Context())
		defer leave()
		if _, err := w.Executions.Control().Save(
			ctx, a.Lease, made, &lastRead{content: "made", do: leave},
		); !errors.Is(err, context.Canceled) {
			w.T.Errorf("got %v, want %v", err, context.Canceled)
		}
		want := []string{fmt.Sprintf("artifacts/%s/%s", run.ID, made.ID)}
		w.mustHaveFiles("after a caller that left", want)

		cancels := func() {
			if _, err := w.Runs.Cancel(w.T.Context(), w.Admin, run.ID, false); err != nil {
				w.T.Error(err)
			}
		}
		refused := &lastRead{content: "made", do: sync.OnceFunc(cancels)}
		if _, err := w.Executions.Control().Save(
			w.T.Context(), a.Lease, upload(penstock.NewID()), refused,
		); !errors.Is(err, penstock.ErrLeaseLost) {
			w.T.Errorf("got %v, want %v", err, penstock.ErrLeaseLost)
		}
		w.mustHaveFiles("after an upload that was refused", want)
	})
}

// lastRead is content that calls a function at its end.
type lastRead struct {
	content string
	do      func()
}

func (r *lastRead) Read(p []byte) (int, error) {
	n := copy(p, r.content)
	r.content = r.content[n:]
	r.do()
	return n, io.EOF
}
