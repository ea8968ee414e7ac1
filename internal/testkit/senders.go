package testkit

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// sendersFolder contains the program and, after scripts/npm-ci, the SDKs.
const sendersFolder = "internal/control/webhook/testdata/senders"

// Senders are the SDKs of services that send webhooks, in a process of their own. They sign for the
// schemes standard_webhooks, svix, stripe, github and notion, and verify for discord as well. It is
// safe for concurrent use.
type Senders struct {
	tb   testing.TB
	turn sync.Mutex
	to   *json.Encoder
	from *bufio.Scanner
}

// SignRequest is a delivery for a sender to sign.
type SignRequest struct {
	Scheme string `json:"scheme"`
	Secret string `json:"secret"`
	Body   string `json:"body"`
	Now    int64  `json:"now"`          // unix seconds
	ID     string `json:"id,omitempty"` // of the delivery, if it is in a header; default: random
}

// NewSenders starts the SDKs, and ends them with the test. If they are not installed, the test is
// skipped, and fails in CI.
func NewSenders(tb testing.TB) *Senders {
	tb.Helper()
	root, err := moduleRoot()
	if err != nil {
		tb.Fatal(err)
	}
	folder := filepath.Join(root, sendersFolder)
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(filepath.Join(folder, "node_modules", ".installed"))
	}
	if err != nil {
		if os.Getenv("CI") != "" {
			tb.Fatalf("the senders' SDKs are not installed (%v): scripts/npm-ci %s", err, sendersFolder)
		}
		tb.Skipf("the senders' SDKs are not installed (%v): scripts/npm-ci %s", err, sendersFolder)
	}
	cmd := exec.CommandContext(tb.Context(), node, "senders.js")
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = folder, tb.Output(), 5*time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	s := &Senders{tb: tb, to: json.NewEncoder(in), from: bufio.NewScanner(out)}
	s.from.Buffer(nil, 4<<20)
	tb.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait() // the end of its context ends it
	})
	return s
}

// Sign returns the headers of the sender's SDK for the request.
func (s *Senders) Sign(r SignRequest) map[string]string {
	s.tb.Helper()
	response := s.ask(struct {
		SignRequest

		Op string `json:"op"`
	}{r, "sign"})
	return response.Headers
}

// Verify returns the result of the sender's own verifier.
func (s *Senders) Verify(r SignRequest, headers map[string]string) bool {
	s.tb.Helper()
	response := s.ask(struct {
		SignRequest

		Op      string            `json:"op"`
		Headers map[string]string `json:"headers"`
	}{r, "verify", headers})
	return response.Valid
}

// senderResponse is one line of output of the process.
type senderResponse struct {
	Headers map[string]string `json:"headers"`
	Valid   bool              `json:"valid"`
	Error   string            `json:"error"`
}

func (s *Senders) ask(question any) senderResponse {
	s.tb.Helper()
	s.turn.Lock()
	defer s.turn.Unlock()
	if err := s.to.Encode(question); err != nil {
		s.tb.Fatalf("ask the senders' SDKs: %v", err)
	}
	if !s.from.Scan() {
		s.tb.Fatalf("the senders' SDKs are gone: %v", s.from.Err())
	}
	var response senderResponse
	if err := json.Unmarshal(s.from.Bytes(), &response); err != nil {
		s.tb.Fatalf("read %q of the senders' SDKs: %v", s.from.Bytes(), err)
	}
	if response.Error != "" {
		s.tb.Fatalf("the sender's SDK: %s", response.Error)
	}
	return response
}
