package httpapi_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// form makes a multipart body of pairs. A value that starts with @ is a file.
func form(t *testing.T, fields ...string) (body []byte, contentType string) {
	t.Helper()
	var buf bytes.Buffer
	m := multipart.NewWriter(&buf)
	for i := 0; i+1 < len(fields); i += 2 {
		name, value := fields[i], fields[i+1]
		content, isFile := strings.CutPrefix(value, "@")
		if !isFile {
			if err := m.WriteField(name, value); err != nil {
				t.Fatal(err)
			}
			continue
		}
		h := textproto.MIMEHeader{}
		h.Set("Content-Disposition", fmt.Sprintf(`form-data; name="%s"; filename="../out/größe.md"`, name))
		h.Set("Content-Type", "text/markdown")
		part, err := m.CreatePart(h)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = part.Write([]byte(content))
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes(), m.FormDataContentType()
}

func TestAnAgentUploadsAFileAndAPersonDownloadsIt(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		w := start(t, func(s *settings) { s.storeURL = url })
		id := w.newRun("make a file")
		g := w.work(w.svc.Executions.Control())
		path := "/api/v1/agent/runs/" + id + "/artifacts"
		agent := []string{"Authorization", "Bearer " + g.a.APIKey, "Idempotency-Key", "one"}

		body, kind := form(t, "title", "The result", "file", "@# Done\n", "color", "red")
		first := w.must(http.StatusCreated, "POST", path, body, append(agent, "Content-Type", kind)...)
		if got := first.header.Get("X-Penstock-Ignored-Fields"); got != "/color" {
			t.Errorf("ignored fields: got %q", got)
		}
		body, kind = form(t, "title", "The result", "file", "@# Done\n", "color", "red") // another boundary
		again := w.must(http.StatusCreated, "POST", path, body, append(agent, "Content-Type", kind)...)
		if again.header.Get("Idempotent-Replayed") != "true" || again.body != first.body {
			t.Errorf("the same form again: got %s, want %s replayed", again.body, first.body)
		}
		body, kind = form(t, "title", "The result", "file", "@# Undone\n", "color", "red")
		w.must(http.StatusConflict, "POST", path, body, append(agent, "Content-Type", kind)...)

		var run penstock.Run
		w.must(http.StatusOK, "GET", "/api/v1/agent/runs/"+id, nil).into(t, &run)
		if len(run.Artifacts) != 1 {
			t.Fatalf("got artifacts %v, want one", run.Artifacts)
		}
		var made struct {
			Data penstock.ArtifactData `json:"data"`
		}
		first.into(t, &made)
		d := made.Data
		if d.Filename != "größe.md" || d.MimeType != "text/markdown" || d.SizeBytes != 7 || d.Title != "The result" {
			t.Errorf("got %+v", d)
		}
		w.checkDownload(d.ArtifactUID)
	})
}

func (w *world) checkDownload(uid string) {
	t := w.t
	t.Helper()
	link := w.must(http.StatusFound, "GET", "/api/v1/agent/artifacts/"+uid+"/download", nil).header.Get("Location")
	a := w.must(http.StatusOK, "GET", link, nil, "Authorization", "")
	if a.body != "# Done\n" {
		t.Errorf("got content %q", a.body)
	}
	for name, want := range map[string]string{
		"Content-Disposition":     `attachment; filename="gr__e.md"; filename*=UTF-8''gr%C3%B6%C3%9Fe.md`,
		"X-Content-Type-Options":  "nosniff",
		"Content-Security-Policy": "sandbox; default-src 'none'",
		"Content-Type":            "text/markdown",
		"Content-Length":          "7",
		"Cache-Control":           "no-store",
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	part := w.must(http.StatusPartialContent, "GET", link, nil, "Range", "bytes=2-5")
	if part.body != "Done" || part.header.Get("Content-Range") != "bytes 2-5/7" {
		t.Errorf("a range: got %q, %q", part.body, part.header.Get("Content-Range"))
	}
	head := w.must(http.StatusOK, "HEAD", link, nil)
	if head.body != "" || head.header.Get("Content-Length") != "7" {
		t.Errorf("HEAD: got %q, length %q", head.body, head.header.Get("Content-Length"))
	}
	lost := w.must(http.StatusNotFound, "GET", link+"x", nil)
	if strings.Contains(lost.body, link[strings.LastIndexByte(link, '/')+1:]) {
		t.Errorf("the error repeats the link: %s", lost.body)
	}
}

func TestFormsThatAreNotComplete(t *testing.T) {
	t.Parallel()
	w := start(t)
	path := "/api/v1/agent/runs/" + w.newRun("x") + "/artifacts"
	tests := []struct {
		name   string
		fields []string
		cut    int
		status int
		want   string
	}{
		{"no file", []string{"title", "x"}, 0, 400, "/file: is required"},
		{"two files", []string{"file", "@a", "file", "@b"}, 0, 400, "/file: must be given once"},
		{
			"a type that is no file",
			[]string{"artifact_type", "PLAN", "file", "@a"},
			0, 400,
			"/artifact_type: must be FILE or SCREENSHOT",
		},
		{"NUL in a field", []string{"title", "a\x00b", "file", "@a"}, 0, 400, "/title: must be text"},
		{"bad UTF-8 in a field", []string{"title", "\xff", "file", "@a"}, 0, 400, "/title: must be text"},
		{"cut off", []string{"file", "@abcdef"}, 20, 400, "not a complete multipart/form-data form"},
		{
			"far too long a field",
			[]string{"title", strings.Repeat("x", 100_000), "file", "@a"},
			0, 413,
			"the fields of the form",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			body, kind := form(t, tt.fields...)
			a := w.do("POST", path, body[:len(body)-tt.cut], "Content-Type", kind)
			if a.status != tt.status || !strings.Contains(a.body, tt.want) {
				t.Errorf("got %d %s, want %d with %q", a.status, a.body, tt.status, tt.want)
			}
		})
	}
}

func TestFormsThatAreNotFormsAreRefused(t *testing.T) {
	t.Parallel()
	w := start(t)
	path := "/api/v1/agent/runs/" + w.newRun("x") + "/artifacts"
	for name, body := range map[string]string{
		"a header without a colon":    "--b\r\nno colon\r\n\r\nx\r\n--b--\r\n",
		"text instead of a next part": "--b\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nx\r\n--b x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := w.do("POST", path, []byte(body), "Content-Type", "multipart/form-data; boundary=b")
			if a.status != http.StatusBadRequest || !strings.Contains(a.body, "not a complete multipart/form-data form") {
				t.Errorf("got %d %s", a.status, a.body)
			}
		})
	}
}

// A form whose end is missing is refused wherever it was cut, also within a boundary or the headers of a later part,
// and stores nothing. Only the line end after the last boundary may be missing.
func TestAFormThatWasCutIsRefused(t *testing.T) {
	t.Parallel()
	w := start(t)
	id := w.newRun("x")
	path := "/api/v1/agent/runs/" + id + "/artifacts"
	whole := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nabc" +
		"\r\n--b\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nthe title\r\n--b--\r\n"
	end := strings.LastIndex(whole, "--") + len("--")
	for n := range end {
		a := w.do("POST", path, []byte(whole[:n]), "Content-Type", "multipart/form-data; boundary=b")
		if a.status != http.StatusBadRequest || !strings.Contains(a.body, "not a complete multipart/form-data form") &&
			!strings.Contains(a.body, "no form part with the boundary") {
			t.Errorf("cut after %q: got %d %s", whole[:n], a.status, a.body)
		}
	}
	show := func() string { return w.must(http.StatusOK, "GET", "/api/v1/agent/runs/"+id, nil).body }
	if got := show(); strings.Contains(got, "a.txt") {
		t.Errorf("a form that was cut stored something: %s", got)
	}
	w.must(http.StatusCreated, "POST", path, []byte(whole[:end]), "Content-Type", "multipart/form-data; boundary=b")
	if got := show(); !strings.Contains(got, "the title") {
		t.Errorf("the whole form is not stored: %s", got)
	}
}

// A worker's file without its end is not stored either.
func TestASaveThatWasCutIsRefused(t *testing.T) {
	t.Parallel()
	w := start(t)
	id := w.newRun("x")
	g := w.work(w.svc.Executions.Control())
	_, worker := w.newKey(penstock.ScopeWorker)
	lease := fmt.Sprintf("%s/%d/%s", g.a.Lease.RunID, g.a.Lease.ExecutionID, g.a.Lease.Token)
	whole := "--b\r\nContent-Disposition: form-data; name=\"upload\"\r\n\r\n" +
		`{"id":"` + penstock.NewID() + `","type":"FILE","artifact":{"filename":"a.txt","mime_type":"text/plain"}}` +
		"\r\n--b\r\nContent-Disposition: form-data; name=\"content\"; filename=\"content\"\r\n\r\nabc\r\n--b--"
	save := func(body string) response {
		return w.do(
			"PUT", "/api/v1/worker/save", []byte(body), "Authorization", "Bearer "+worker,
			"Content-Type", "multipart/form-data; boundary=b", "X-Penstock-Lease", lease,
		)
	}
	for n := range whole {
		if a := save(whole[:n]); a.status != http.StatusBadRequest {
			t.Errorf("cut after %q: got %d %s", whole[:n], a.status, a.body)
		}
	}
	if got := w.must(http.StatusOK, "GET", "/api/v1/agent/runs/"+id, nil); strings.Contains(got.body, "a.txt") {
		t.Errorf("a form that was cut stored something: %s", got.body)
	}
	if a := save(whole); a.status != http.StatusOK {
		t.Errorf("the whole form: got %d %s", a.status, a.body)
	}
}

func TestAFormWithoutItsBoundaryIsRefused(t *testing.T) {
	t.Parallel()
	w := start(t)
	path := "/api/v1/agent/runs/" + w.newRun("x") + "/artifacts"
	body, _ := form(t, "file", "@abc")
	a := w.do("POST", path, body, "Content-Type", "multipart/form-data; boundary=another")
	if a.status != 400 || !strings.Contains(a.body, "no form part with the boundary") {
		t.Errorf("got %d %s", a.status, a.body)
	}
}

func TestATranscriptIsStreamed(t *testing.T) {
	t.Parallel()
	w := start(t)
	id := w.newRun("talk")
	g := w.work(w.svc.Executions.Control())
	g.append(g.say("hello there"))
	g.succeed()
	link := w.must(http.StatusFound, "GET", "/api/v1/agent/runs/"+id+"/transcript", nil).header.Get("Location")
	a := w.must(http.StatusOK, "GET", link, nil)
	if !strings.Contains(a.body, "hello there") || !strings.Contains(a.header.Get("Content-Disposition"), ".jsonl") {
		t.Errorf("got %v %q", a.header, a.body)
	}
}
