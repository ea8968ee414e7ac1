package main_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// sharedOrigin is the address of servers behind a load balancer.
const sharedOrigin = "http://penstock.test"

func twoReplicas(t *testing.T) (here, there *testkit.Server) {
	t.Helper()
	args := []string{"--no-worker", "--public-url", sharedOrigin}
	here = testkit.Serve(t, testkit.ServeOptions{Database: testkit.Postgres(t), Args: args})
	return here, here.Replica(testkit.ServeOptions{Args: args})
}

// A listener that loses its server continues on another one after the last event that it saw, and
// sees what happens on the first one.
func TestStreamContinuesOnAnotherReplica(t *testing.T) {
	t.Parallel()
	here, there := twoReplicas(t)
	id, _ := createRun(t, here, "wait")
	first := listen(t, here, id, "0")
	last, _ := first.next()
	here.Restart() // which ends the stream
	for next, ok := first.next(); ok; next, ok = first.next() {
		last = next
	}
	second := listen(t, there, id, last.id)
	if got := send(t, here, http.MethodPost, "/agent/runs/"+id+"/cancel", ""); got.status != http.StatusOK {
		t.Fatalf("cancel: got %d: %s", got.status, got.body)
	}
	var all []string
	for next, ok := second.next(); ok; next, ok = second.next() {
		if next.id != "" && next.id == last.id {
			t.Errorf("event %s came twice", next.id)
		}
		all = append(all, next.kind)
	}
	if len(all) < 2 || all[len(all)-1] != string(penstock.EventDone) {
		t.Errorf("got %v, want the events of the cancellation, then done", all)
	}
}

type listened struct{ *bufio.Scanner }

type frame struct{ id, kind string }

func listen(t *testing.T, s *testkit.Server, run, after string) listened {
	t.Helper()
	req, err := http.NewRequestWithContext(
		t.Context(), http.MethodGet, s.URL+"/api/v1/agent/runs/"+run+"/events", http.NoBody,
	)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Key)
	req.Header.Set("Last-Event-ID", after)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		t.Fatalf("events: got %d", res.StatusCode)
	}
	return listened{bufio.NewScanner(res.Body)}
}

// next returns the next event. ok is false at the end of the stream.
func (l listened) next() (f frame, ok bool) {
	for l.Scan() {
		name, value, _ := strings.Cut(l.Text(), ": ")
		switch {
		case name == "id":
			f.id = value
		case name == "event":
			f.kind = value
		case l.Text() == "" && f.kind != "":
			return f, true
		}
	}
	return f, false
}

// A browser signs in on one server and is known on the other. A sign-out on that one ends it on
// both.
func TestSessionHoldsOnAllReplicas(t *testing.T) {
	t.Parallel()
	here, there := twoReplicas(t)
	signedIn := ask(t, http.MethodPost, here, "/session", http.Header{}, `{"api_key": "`+here.Key+`"}`)
	var session struct {
		Secret string `json:"secret"`
	}
	if err := json.Unmarshal(signedIn.body, &session); err != nil || session.Secret == "" {
		t.Fatalf("sign in: got %d (%v): %s", signedIn.status, err, signedIn.body)
	}
	cookie, _, _ := strings.Cut(signedIn.header.Get("Set-Cookie"), ";")
	proof := http.Header{"Cookie": {cookie}, "X-Penstock-Session-Secret": {session.Secret}}
	statuses := func() (all []int) {
		for _, s := range []*testkit.Server{there, here, there} {
			all = append(all, ask(t, http.MethodGet, s, "/session", proof, "").status)
		}
		return all
	}
	if diff := cmp.Diff([]int{200, 200, 200}, statuses()); diff != "" {
		t.Errorf("signed in (-want +got):\n%s", diff)
	}
	if got := ask(t, http.MethodDelete, there, "/session", proof, ""); got.status != http.StatusNoContent {
		t.Errorf("sign out: got %d: %s", got.status, got.body)
	}
	if diff := cmp.Diff([]int{401, 401, 401}, statuses()); diff != "" {
		t.Errorf("signed out (-want +got):\n%s", diff)
	}
}

// A link to upload a file, from one server, works on the other.
func TestUploadOnAnotherReplica(t *testing.T) {
	t.Parallel()
	here, there := twoReplicas(t)
	id, _ := createRun(t, here, "wait")
	prepared := send(
		t, here, http.MethodPost, "/agent/runs/"+id+"/attachments/prepare",
		`{"files": [{"filename": "notes.txt", "mime_type": "text/plain"}]}`,
	)
	var links struct {
		Attachments []struct {
			ID        string `json:"attachment_id"`
			UploadURL string `json:"upload_url"`
		} `json:"attachments"`
	}
	if err := json.Unmarshal(prepared.body, &links); err != nil || len(links.Attachments) != 1 {
		t.Fatalf("prepare: got %d (%v): %s", prepared.status, err, prepared.body)
	}
	path := strings.TrimPrefix(links.Attachments[0].UploadURL, sharedOrigin+"/api/v1")
	if got := ask(t, http.MethodPut, there, path, http.Header{"Content-Type": {"text/plain"}}, notes); got.status >= 300 {
		t.Errorf("upload: got %d: %s", got.status, got.body)
	}
	if got := send(
		t, here, http.MethodPost, "/agent/runs/"+id+"/followups",
		`{"message": "Read them.", "attachments": [{"attachment_id": "`+links.Attachments[0].ID+`"}]}`,
	); got.status >= 300 {
		t.Errorf("follow-up with the file: got %d: %s", got.status, got.body)
	}
}

// ask makes one request with these headers.
func ask(t *testing.T, method string, s *testkit.Server, path string, header http.Header, body string) reply {
	t.Helper()
	got := testkit.Request(t, method, s.URL+"/api/v1"+path, header, body)
	return reply{got.Status, got.Header, got.Body}
}
