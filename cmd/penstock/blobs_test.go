package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// inBucket configures a server that keeps its files in an object store.
func inBucket(s3 *testkit.S3, location string, args ...string) testkit.ServeOptions {
	return testkit.ServeOptions{Args: append([]string{"--blobs", location}, args...), Env: s3.Env()}
}

// visit reads a URL without following redirects.
func visit(t *testing.T, s *testkit.Server, url string, header ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(url, s.URL+"/api/v1/agent/") {
		req.Header.Set("Authorization", "Bearer "+s.Key)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	stay := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := stay.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, body}
}

// signedLink returns the redirect target of the download of a run's only artifact.
func signedLink(t *testing.T, s *testkit.Server, id string) string {
	t.Helper()
	var data struct {
		UID string `json:"artifact_uid"`
	}
	fromJSON(t, string(getRun(t, client(s), id).Artifacts[0].Data), &data)
	got := visit(t, s, s.URL+"/api/v1/agent/artifacts/"+data.UID+"/download")
	if got.status != http.StatusFound {
		t.Fatalf("got %d: %s", got.status, got.body)
	}
	return got.header.Get("Location")
}

// goesOn resumes a run, and fails unless its agent has its earlier session.
func goesOn(t *testing.T, s *testkit.Server, id string) {
	t.Helper()
	call(t, client(s), "run", "follow-up", id, "and on").want(t, 0, "")
	call(t, client(s), "run", "wait", id, "--timeout", "240s").want(t, 0, "SUCCEEDED")
	timeline := string(send(t, s, http.MethodGet, "/agent/runs/"+id+"/timeline", "").body)
	if n := strings.Count(timeline, `"session":"new"`); n != 1 {
		t.Errorf("%d sessions were begun, want the first to go on: %s", n, timeline)
	}
}

// With its files in an object store, a server handles attachments, artifacts, resumed sessions,
// backup and restore.
func TestFilesInAnObjectStore(t *testing.T) {
	t.Parallel()
	s3 := testkit.NewS3(t)
	place := s3.Location(s3.URL, "team/penstock")
	s := testkit.Serve(t, inBucket(s3, place, "--keep-workspaces", "0"))
	id := startRunWithNotes(t, client(s))
	if got := artifact(t, s, getRun(t, client(s), id)); got != notes {
		t.Errorf("got %q, want %q", got, notes)
	}
	objects := files(t, filepath.Join(s3.Dir, "team", "penstock"))
	if left := files(t, filepath.Join(s.Data, "blobs")); len(left) > 0 || len(objects) != 4 {
		t.Errorf("got %v in the data folder, and the objects %v, want four", left, objects)
	}
	for _, name := range objects {
		content, err := os.ReadFile(name)
		sealed := strings.Contains(name, "/sessions/") || strings.Contains(name, "/packs/")
		if err != nil || bytes.HasPrefix(content, []byte("\x1f\x8b")) || sealed == (string(content) == notes) {
			t.Errorf("%s: got %d bytes, %v", name, len(content), err)
		}
	}
	where := append(s3.Env(), "PENSTOCK_DATA="+s.Data, "PENSTOCK_BLOBS="+place)
	examine(t, 0, where, "--sandbox", "process", "--allow-open-network").want(t, "blobs", "ok", "works")

	backup, data := filepath.Join(t.TempDir(), "b.tar"), filepath.Join(t.TempDir(), "restored")
	call(t, where, "backup", "--to", backup).want(t, 0, "backed up 6 files")
	goesOn(t, s, id)
	s.Stop()
	restore := []string{"restore", "--data", data, "--from", backup, "--blobs"}
	call(t, s3.Env(), append(restore, place)...).want(t, 65, "is not empty", "--blobs")
	restored := s3.Location(s3.URL, "restored")
	call(t, s3.Env(), append(restore, restored)...).want(t, 0, "restored")
	options := inBucket(s3, restored, "--keyset", filepath.Join(data, "keyset.json"), "--keep-workspaces", "0")
	options.Database = "sqlite://" + filepath.Join(data, "penstock.db")
	again := testkit.Serve(t, options)
	again.Key = s.Key
	if got := artifact(t, again, getRun(t, client(again), id)); got != notes {
		t.Errorf("got %q, want %q", got, notes)
	}
	goesOn(t, again, id)
	call(
		t, s3.Env(), "serve", "--data", t.TempDir(), "--blobs", place, "--listen", "127.0.0.1:0",
	).want(t, 78, "another database", "--blobs")
}

// Downloads redirect to signed links of the object store, except for scripts in pages.
func TestPresignedDownloads(t *testing.T) {
	t.Parallel()
	s3 := testkit.NewS3(t)
	s := testkit.Serve(t, inBucket(s3, s3.Location(s3.URL, ""), "--blob-downloads", "presigned"))
	id := startRunWithNotes(t, client(s))
	link := signedLink(t, s, id)
	for _, mode := range []string{"", "navigate"} {
		got := visit(t, s, link, "Sec-Fetch-Mode", mode)
		elsewhere := got.header.Get("Location")
		if got.status != http.StatusFound || !strings.HasPrefix(elsewhere, s3.URL+"/"+testkit.S3Bucket+"/artifacts/") ||
			!strings.Contains(elsewhere, "X-Amz-Expires=300&") || got.header.Get("Cache-Control") != "no-store" {
			t.Fatalf("mode %q: got %d, %v", mode, got.status, got.header)
		}
		file := visit(t, s, elsewhere)
		if file.status != http.StatusOK || string(file.body) != notes ||
			file.header.Get("Content-Disposition") != `attachment; filename="copy.txt"` ||
			file.header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("mode %q: got %d, %v, %q", mode, file.status, file.header, file.body)
		}
	}
	script := visit(t, s, link, "Sec-Fetch-Mode", "cors")
	if script.status != http.StatusOK || string(script.body) != notes {
		t.Errorf("a script: got %d, %q", script.status, script.body)
	}
	if got := artifact(t, s, getRun(t, client(s), id)); got != notes { // as clients follow redirects
		t.Errorf("got %q, want %q", got, notes)
	}
	if got := visit(t, s, link+"x"); got.status != http.StatusNotFound {
		t.Errorf("a link that is not valid: got %d", got.status)
	}
	if err := os.RemoveAll(filepath.Join(s3.Dir, "artifacts")); err != nil {
		t.Fatal(err)
	}
	if got := visit(t, s, link); got.status == http.StatusFound || got.status == http.StatusOK {
		t.Errorf("a file that is gone: got %d", got.status)
	}
}

// While the object store fails, requests that need it get 503, and a run waits for it.
func TestObjectStoreThatDoesNotWork(t *testing.T) {
	t.Parallel()
	s3 := testkit.NewS3(t)
	proxy := testkit.NewProxy(t, strings.TrimPrefix(s3.URL, "http://"))
	s := testkit.Serve(t, inBucket(s3, s3.Location(proxy.URL, "x")))
	before := signedLink(t, s, startRunWithNotes(t, client(s)))
	const busy = "HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
	for name, fail := range map[string]func(){"absent": proxy.Refuse, "busy": func() { proxy.Respond(busy) }} {
		fail()
		const request = `{"prompt": "p", "attachments": [{"file_name": "n", "mime_type": "text/plain", "data": "aGk="}]}`
		for step, got := range map[string]reply{
			"attach":   send(t, s, http.MethodPost, "/agent/runs", request),
			"download": visit(t, s, before),
		} {
			if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" ||
				!strings.Contains(string(got.body), "object store") {
				t.Errorf("%s, %s: got %d, %v, %s", name, step, got.status, got.header, got.body)
			}
		}
		id, _ := createRun(t, s, "demo: write out.txt "+name+"\ndemo: artifact out.txt")
		testkit.Eventually(t, timeout, func() error { return inState(t, client(s), id, penstock.StatePending) })
		proxy.Pass() // before that, the agent does not start, because its session could not be saved
		call(t, client(s), "run", "wait", id, "--timeout", "240s").want(t, 0, "SUCCEEDED")
		if got := artifact(t, s, getRun(t, client(s), id)); got != name {
			t.Errorf("got %q, want %q", got, name)
		}
		if got := visit(t, s, before); got.status != http.StatusOK || string(got.body) != notes {
			t.Errorf("%s: got %d, %q", name, got.status, got.body)
		}
	}
	proxy.Refuse()
	call(
		t, s3.Env(), "serve", "--data", t.TempDir(), "--blobs", s3.Location(proxy.URL, "y"), "--listen", "127.0.0.1:0",
	).want(t, 69, "object store unavailable", "start the object store")
	r := examine(
		t, 1, s3.Env(), "--data", t.TempDir(), "--blobs", s3.Location(proxy.URL, "y"), "--sandbox", "process",
		"--allow-open-network",
	)
	r.want(t, "blobs", "fail", "that the object store is running")
	proxy.Pass()
	wrong := append(s3.Env(), "AWS_SECRET_ACCESS_KEY=another")
	call(
		t, wrong, "serve", "--data", t.TempDir(), "--blobs", s3.Location(s3.URL, "y"), "--listen", "127.0.0.1:0",
	).want(t, 78, "SignatureDoesNotMatch", "give these credentials access")
}

// A server that is killed while it sends a large artifact leaves nothing that looks complete.
func TestServerKilledWhileItUploads(t *testing.T) {
	t.Parallel()
	s3 := testkit.NewS3(t)
	proxy := testkit.NewProxy(t, strings.TrimPrefix(s3.URL, "http://"))
	s := testkit.Serve(t, inBucket(s3, s3.Location(proxy.URL, "x"), noWorker...))
	id, _ := createRun(t, s, "p")
	large := bytes.Repeat([]byte("0123456789abcdef"), 20<<16) // 20 MiB, three parts
	proxy.Hold(12 << 20)
	returned := make(chan error)
	go func() {
		_, err := postFile(t, s, id, large)
		returned <- err
	}()
	testkit.Eventually(t, timeout, func() error {
		if n := proxy.Passed(); n < 12<<20 {
			return fmt.Errorf("%d bytes are sent", n)
		}
		return nil
	})
	s.Kill9()
	if err := <-returned; err == nil {
		t.Error("the request succeeded")
	}
	proxy.Pass()
	s.Restart()
	if run := getRun(t, client(s), id); len(run.Artifacts) != 0 {
		t.Errorf("the run has the artifacts %v", run.Artifacts)
	}
	if objects := files(t, filepath.Join(s3.Dir, "x")); len(objects) != 0 {
		t.Errorf("got the objects %v", objects)
	}
	if status, err := postFile(t, s, id, large); err != nil || status != http.StatusCreated {
		t.Fatalf("got %d, %v", status, err)
	}
	if got := artifact(t, s, getRun(t, client(s), id)); got != string(large) {
		t.Errorf("got %d bytes, want %d", len(got), len(large))
	}
}

// postFile adds a file to a run.
func postFile(t *testing.T, s *testkit.Server, id string, content []byte) (status int, err error) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "large.bin")
	if err != nil {
		return 0, err
	}
	_, err = part.Write(content)
	if err := errors.Join(err, form.Close()); err != nil {
		return 0, err
	}
	url := s.URL + "/api/v1/agent/runs/" + id + "/artifacts"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, &body)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+s.Key)
	req.Header.Set("Content-Type", form.FormDataContentType())
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}

// Files move from a folder to an object store and back while the server runs.
func TestBlobsCopy(t *testing.T) {
	t.Parallel()
	s3 := testkit.NewS3(t)
	folder := filepath.Join(t.TempDir(), "blobs")
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--blobs", folder, "--keep-workspaces", "0"}})
	first := startRunWithNotes(t, client(s))
	place := s3.Location(s3.URL, "moved")
	copied := []string{"blobs", "copy", "--from", folder, "--to", place}
	call(t, s3.Env(), copied...).want(t, 0, "copied 4 files", "0 were there already")
	call(t, s3.Env(), copied...).want(t, 0, "copied 0 files", "4 were there already")
	second := startRunWithNotes(t, client(s))
	call(t, s3.Env(), append(copied, "--verify")...).want(t, 0, "copied 4 files", "4 were there already")
	s.Stop()

	options := inBucket(s3, place, "--keyset", filepath.Join(s.Data, "keyset.json"), "--keep-workspaces", "0")
	options.Database = "sqlite://" + filepath.Join(s.Data, "penstock.db")
	moved := testkit.Serve(t, options)
	moved.Key = s.Key
	for _, id := range []string{first, second} {
		if got := artifact(t, moved, getRun(t, client(moved), id)); got != notes {
			t.Errorf("got %q, want %q", got, notes)
		}
	}
	goesOn(t, moved, first)
	back := filepath.Join(t.TempDir(), "back")
	call(t, s3.Env(), "blobs", "copy", "--from", place, "--to", back).want(t, 0, "copied 10 files")
	if n := len(files(t, back)); n != 10 {
		t.Errorf("%d files came back", n)
	}

	other := filepath.Join(t.TempDir(), "other")
	testkit.Serve(t, testkit.ServeOptions{Args: []string{"--blobs", other}}).Stop()
	call(t, s3.Env(), "blobs", "copy", "--from", other, "--to", place).want(t, 65, "another database")
	call(t, s3.Env(), "blobs", "copy", "--from", "nowhere", "--to", place).want(t, 64, "--from")
	attachment := files(t, filepath.Join(folder, "attachments"))[0]
	if err := os.WriteFile(attachment, []byte(strings.ToUpper(notes)), 0o600); err != nil {
		t.Fatal(err)
	}
	call(t, s3.Env(), copied...).want(t, 0, "copied 1 files") // the resumed session has replaced it there
	call(t, s3.Env(), append(copied, "--verify")...).want(t, 1, "the contents differ", "nothing was replaced")
}

// A copy that was interrupted by the store or a signal continues where it stopped.
func TestBlobsCopyContinues(t *testing.T) {
	t.Parallel()
	s3 := testkit.NewS3(t)
	proxy := testkit.NewProxy(t, strings.TrimPrefix(s3.URL, "http://"))
	folder := filepath.Join(t.TempDir(), "blobs")
	const all = 40
	for i := range all {
		name := filepath.Join(folder, "attachments", penstock.NewID(), "0")
		content := bytes.Repeat(fmt.Appendf(nil, "%8d", i), 1<<15)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	copied := []string{"blobs", "copy", "--from", folder, "--to", s3.Location(proxy.URL, "x")}
	proxy.Hold(5 << 20)
	killed := command(t, s3.Env(), copied...)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, time.Minute, func() error {
		if n := proxy.Passed(); n < 5<<20 {
			return fmt.Errorf("%d bytes are sent", n)
		}
		return nil
	})
	_ = killed.Process.Kill()
	_ = killed.Wait() // it was killed
	proxy.Refuse()
	call(t, s3.Env(), copied...).want(t, 69, "object store unavailable")
	proxy.Pass()
	call(t, s3.Env(), append(copied, "--verify")...).want(t, 0, "were there already")
	if n := len(files(t, filepath.Join(s3.Dir, "x"))); n != all {
		t.Errorf("%d files are copied, want %d", n, all)
	}
}

func TestPlacesOfBlobs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ place, says string }{
		"another cloud":           {"gs://bucket/x", `begins with "gs:" is not supported; use a folder, or s3://`},
		"a path that looks so":    {"file:///srv/blobs", `begins with "file:" is not supported; use a folder, or s3://`},
		"no bucket":               {"s3:///x", "has the form s3://BUCKET/PREFIX"},
		"a port":                  {"s3://bucket:9000/x", "has the form s3://BUCKET/PREFIX"},
		"credentials":             {"s3://AKID:hunter2@bucket/x", "AWS_ACCESS_KEY_ID"},
		"a prefix that climbs":    {"s3://bucket/a/../b", "must not have empty parts, . or .."},
		"an unknown parameter":    {"s3://bucket?pathstyle=true", "pathstyle"},
		"a repeated parameter":    {"s3://bucket?region=a&region=b", "region"},
		"an endpoint with a path": {"s3://bucket?endpoint=http://127.0.0.1/x", "endpoint"},
		"an endpoint with a key":  {"s3://bucket?endpoint=http://me:hunter2@127.0.0.1", "endpoint"},
		"a word for a switch":     {"s3://bucket?path_style=yes", "path_style"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			got := call(t, []string{"PENSTOCK_BLOBS=" + test.place}, "serve", "--data", dir, "--listen", "127.0.0.1:0")
			got.want(t, 64, test.says)
			if strings.Contains(got.err, "hunter2") {
				t.Errorf("it repeats the password: %s", got.err)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
				t.Errorf("got %v (%v) in the data folder", entries, err)
			}
		})
	}
	call(
		t, nil, "serve", "--data", t.TempDir(), "--blob-downloads", "presigned",
	).want(t, 64, "needs an object store")
	call(
		t, []string{"AWS_EC2_METADATA_DISABLED=true"}, "serve", "--data", t.TempDir(), "--blobs", "s3://bucket/x",
		"--listen", "127.0.0.1:0",
	).want(t, 78, "AWS_REGION")
}
