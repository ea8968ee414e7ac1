package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestMain is also the agent that the tests kill: with PENSTOCK_TEST_AGENT set, the test binary
// never responds.
func TestMain(m *testing.M) {
	switch os.Getenv("PENSTOCK_TEST_AGENT") {
	case "silent":
		fmt.Print(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":`+
			`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hello"}}}}`+"\n",
			`{"jsonrpc":"2.0","method":"session/upd`)
		_, _ = io.Copy(io.Discard, os.Stdin)
		select {}
	case "":
		os.Exit(m.Run())
	}
}

func TestAnAgentThatIsKilledFailsWhatWaits(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), "PENSTOCK_TEST_AGENT=silent")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	spoke := make(chan struct{})
	var torn []byte
	client := NewClient(Join(out, in), ClientHandler{
		Update:  func(context.Context, SessionNotification) { close(spoke) },
		Garbage: func(line []byte, _ error) { torn = bytes.Clone(line) },
	})
	ended := make(chan error, 1)
	go func() { ended <- client.Run(ctx) }()
	go func() {
		<-spoke
		_ = cmd.Process.Kill()
	}()
	_, err = client.Prompt(ctx, "s", Text("go"))
	if !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), "session/prompt") ||
		!strings.Contains(err.Error(), "the peer closed its end") {
		t.Errorf("the prompt failed with %v, want ErrClosed with what and why", err)
	}
	if err := <-ended; err != nil {
		t.Errorf("Run = %v, want nil at the end of the agent's output", err)
	}
	if string(torn) != `{"jsonrpc":"2.0","method":"session/upd` {
		t.Errorf("the torn last line was reported as %q", torn)
	}
	if _, err := client.Prompt(ctx, "s"); !errors.Is(err, ErrClosed) {
		t.Errorf("a later call: %v, want ErrClosed at once", err)
	}
	_ = cmd.Wait()
}

func TestAnEarlyResponseStillCounts(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	client, agent := raw(t, ClientHandler{})
	got := make(chan error, 1)
	go func() {
		r, err := client.Prompt(ctx, "s")
		if err == nil && r.StopReason != StopEndTurn {
			err = fmt.Errorf("stop reason %q", r.StopReason)
		}
		got <- err
	}()
	id := agent.expect("session/prompt")
	agent.respond(id, `{"stopReason":"end_turn"}`)
	agent.rw.Close()
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestInvalidMessagesAreReportedAndSkipped(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, line string }{
		{"plain text", "Loading model weights…"},
		{"JSON of a logger", `{"level":"info","msg":"hi"}`},
		{"a batch", `[{"jsonrpc":"2.0","method":"x"}]`},
		{"cut off", `{"jsonrpc":"2.0","method":"session/upda`},
		{"two on a line", `{"jsonrpc":"2.0","method":"a"}{"jsonrpc":"2.0","method":"b"}`},
		{"a method that is no string", `{"jsonrpc":"2.0","method":7}`},
		{"a response without result or error", `{"jsonrpc":"2.0","id":1}`},
		{"a null", "null"},
		{"terminal colors", "\x1b[31merror\x1b[0m"},
		{"bytes that are no UTF-8", "\xff\xfe\x00"},
		{"a response to nothing", `{"jsonrpc":"2.0","id":99,"result":{}}`},
		{"a response to a string id", `{"jsonrpc":"2.0","id":"1","result":{}}`},
		{"a response to id 0", `{"jsonrpc":"2.0","id":0,"result":{}}`},
		{"an update that is no object", `{"jsonrpc":"2.0","method":"session/update","params":[1]}`},
		{"an update whose session is no string", `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":{}}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			reported := make(chan string, 1)
			client, agent := raw(t, ClientHandler{
				Garbage: func(line []byte, reason error) { reported <- fmt.Sprintf("%s (%v)", line, reason) },
			})
			done := make(chan error, 1)
			go func() {
				_, err := client.Prompt(ctx, "s")
				done <- err
			}()
			id := agent.expect("session/prompt")
			agent.write("", "  ", tt.line)
			agent.respond(id, `{"stopReason":"end_turn"}`)
			if err := <-done; err != nil {
				t.Errorf("the connection did not survive: %v", err)
			}
			select {
			case <-reported:
			default:
				t.Error("nothing was reported")
			}
		})
	}
}

func TestUnsupportedRequestsGetAResponse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, request, id string
		code              int
	}{
		{"unknown method", `{"jsonrpc":"2.0","id":5,"method":"fs/format_disk","params":{}}`, "5", CodeMethodNotFound},
		{
			"a method that is not offered", `{"jsonrpc":"2.0","id":"a","method":"fs/write_text_file","params":{}}`, `"a"`,
			CodeMethodNotFound,
		},
		{"no terminals", `{"jsonrpc":"2.0","id":1,"method":"terminal/create","params":{}}`, "1", CodeMethodNotFound},
		{"an agent's method", `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{}}`, "1", CodeMethodNotFound},
		{"no extensions", `{"jsonrpc":"2.0","id":1,"method":"_x/y","params":{}}`, "1", CodeMethodNotFound},
		{"an id of null", `{"jsonrpc":"2.0","id":null,"method":"nope"}`, "null", CodeMethodNotFound},
		{
			"parameters of the wrong type", `{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{"path":7}}`, "1",
			CodeInvalidParams,
		},
		{"no parameters", `{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file"}`, "1", CodeInvalidParams},
		{
			"a handler that fails", `{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{"path":"/x"}}`, "1",
			CodeInternal,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, agent := raw(t, ClientHandler{
				ReadTextFile: func(context.Context, ReadTextFileRequest) (ReadTextFileResponse, error) {
					return ReadTextFileResponse{}, errors.New("no such file")
				},
			})
			agent.write(tt.request)
			m := agent.read()
			if m.Error == nil || m.Error.Code != tt.code || string(m.ID) != tt.id {
				t.Errorf("got id %s, error %v; want id %s, code %d", m.ID, m.Error, tt.id, tt.code)
			}
		})
	}
}

func TestErrorsKeepCodeMessageAndData(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, wire string
		want       Error
	}{
		{
			"as it should be", `{"code":-32000,"message":"sign in","data":{"how":"key"}}`,
			Error{-32000, "sign in", json.RawMessage(`{"how":"key"}`)},
		},
		{"a code that is a string", `{"code":"EPIPE","message":"broken"}`, Error{Code: CodeInternal, Message: "broken"}},
		{"a message that is an object", `{"code":1,"message":{"a":1}}`, Error{Code: 1, Message: `{"a":1}`}},
		{"only a string", `"it broke"`, Error{Code: CodeInternal, Message: `"it broke"`}},
		{"empty", `{}`, Error{Code: CodeInternal, Message: `{}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx := testContext(t)
			client, agent := raw(t, ClientHandler{})
			go func() {
				id := agent.expect("_x")
				agent.write(fmt.Sprintf(`{"id":%s,"error":%s}`, id, tt.wire))
			}()
			var got *Error
			if err := client.Call(ctx, "_x", nil, nil); !errors.As(err, &got) {
				t.Fatalf("got %v, want an *Error", err)
			}
			if diff := cmp.Diff(tt.want, *got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestALineThatIsTooLongEndsTheConnection(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	cside, aside := pipes(t)
	client := NewClient(cside, ClientHandler{})
	client.conn.maxLine = 1 << 20 // the real limit takes its time
	ended := make(chan error, 1)
	go func() { ended <- client.Run(ctx) }()
	go func() {
		// The client stops reading in the middle, so that the write fails.
		_, _ = aside.Write(bytes.Repeat([]byte("x"), 2<<20))
	}()
	_, err := client.Prompt(ctx, "s")
	if !errors.Is(err, ErrLineTooLong) || !errors.Is(err, ErrClosed) {
		t.Errorf("the prompt failed with %v, want ErrLineTooLong", err)
	}
	if err := <-ended; !errors.Is(err, ErrLineTooLong) {
		t.Errorf("Run = %v, want ErrLineTooLong", err)
	}
}

func TestASlowConsumerSlowsTheAgentAndBuffersLittle(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	release := make(chan struct{})
	var got int
	cside, aside := pipes(t)
	client := NewClient(cside, ClientHandler{
		Update: func(context.Context, SessionNotification) {
			<-release
			got++
		},
	})
	const room = 1 << 20
	client.conn.in = newQueue[incoming](maxQueuedItems, room) // the real one takes its time to fill
	runs(t, client.Run)
	agent := newRawPeer(t, aside)
	done := make(chan error, 1)
	go func() {
		_, err := client.Prompt(ctx, "s")
		done <- err
	}()
	id := agent.expect("session/prompt")

	// This exceeds the buffer, so the writer must block.
	const updates, size = 80, 64 << 10
	line := fmt.Sprintf(`{"method":"session/update","params":{"sessionId":"s",`+
		`"update":{"sessionUpdate":"agent_message_chunk",`+
		`"content":{"type":"text","text":"%s"}}}}`, strings.Repeat("x", size))
	var mu sync.Mutex
	written := 0
	go func() {
		for range updates {
			agent.write(line)
			mu.Lock()
			written++
			mu.Unlock()
		}
		agent.respond(id, `{"stopReason":"end_turn"}`)
	}()
	// The writer blocks if nothing more is written for a while.
	progress := func() int { mu.Lock(); defer mu.Unlock(); return written }
	for last := -1; last != progress(); {
		last = progress()
		select {
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("the agent was never slowed down")
		}
	}
	if n := progress(); n > room/size+4 {
		t.Errorf("%d updates were taken in while nothing was consumed", n)
	}
	// A caller can still give up.
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := client.Call(short, "_x", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call in the meantime: %v", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got != updates {
		t.Errorf("%d updates before the result, want %d", got, updates)
	}
}

func TestAPeerThatDoesNotReadBlocksNoCaller(t *testing.T) {
	t.Parallel()
	cside, _ := pipes(t)
	client := NewClient(cside, ClientHandler{})
	client.conn.out = newQueue[outgoing](maxQueuedItems, 256<<10)
	runs(t, client.Run)
	ctx, cancel := context.WithTimeout(testContext(t), 200*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	for range 24 {
		wg.Go(func() {
			if _, err := client.Prompt(ctx, "s", Text(strings.Repeat("x", 32<<10))); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want the deadline", err)
			}
		})
	}
	wg.Wait()
}

func TestAFloodOfRequestsIsBounded(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	var mu sync.Mutex
	var now, most int
	release := make(chan struct{})
	_, agent := raw(t, ClientHandler{
		Permission: func(context.Context, PermissionRequest) (PermissionOutcome, error) {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			<-release
			return PermissionOutcome{OptionID: "x"}, nil
		},
	})
	const flood = 3 * maxServing
	go func() {
		for i := range flood {
			agent.write(
				fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{"sessionId":"s"}}`, i),
			)
		}
	}()
	refused := 0
	for range flood - maxServing {
		if m := agent.read(); m.Error != nil && m.Error.Code == CodeInvalidRequest {
			refused++
		}
	}
	close(release)
	for range maxServing {
		if m := agent.read(); m.Error != nil {
			t.Errorf("a request that was taken in got %v", m.Error)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if most > maxServing || refused != flood-maxServing {
		t.Errorf("%d at once and %d refused; want at most %d and %d", most, refused, maxServing, flood-maxServing)
	}
	_ = ctx
}

func TestAnotherProtocolVersionIsAnError(t *testing.T) {
	t.Parallel()
	client, agent := raw(t, ClientHandler{})
	go func() { agent.respond(agent.expect("initialize"), `{"protocolVersion":2}`) }()
	if _, err := client.Initialize(testContext(t), Implementation{}); err == nil ||
		!strings.Contains(err.Error(), "version 2") {
		t.Errorf("got %v, want an error that names the version", err)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	cside, _ := pipes(t)
	blocked := make(chan struct{})
	client := NewClient(cside, ClientHandler{})
	ended := make(chan error, 1)
	go func() { ended <- client.Run(ctx) }()
	failed := make(chan error, 1)
	go func() {
		close(blocked)
		_, err := client.Prompt(ctx, "s")
		failed <- err
	}()
	<-blocked
	client.Close()
	if err := <-failed; !errors.Is(err, ErrClosed) {
		t.Errorf("the prompt: %v, want ErrClosed", err)
	}
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Errorf("Run = %v, want ErrClosed", err)
	}
}

func TestTheAgentsHandlersEndWithTheConnection(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	cside, aside := pipes(t)
	began := make(chan struct{})
	agent := NewAgent(aside, AgentHandler{
		Prompt: func(ctx context.Context, _ PromptRequest) (PromptResponse, error) {
			close(began)
			<-ctx.Done()
			return PromptResponse{}, ctx.Err()
		},
	})
	ended := make(chan error, 1)
	go func() { ended <- agent.Run(ctx) }()
	peer := newRawPeer(t, cside)
	peer.write(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`)
	<-began
	cside.Close()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	case <-ctx.Done():
		t.Error("Run did not end with its client")
	}
}

func TestTheAgentAnswersGarbageAsJSONRPCAsks(t *testing.T) {
	t.Parallel()
	cside, aside := pipes(t)
	agent := NewAgent(aside, AgentHandler{})
	runs(t, agent.Run)
	peer := newRawPeer(t, cside)
	peer.write("what?")
	if m := peer.read(); string(m.ID) != "null" || m.Error == nil || m.Error.Code != CodeParse {
		t.Errorf("got id %s, error %v", m.ID, m.Error)
	}
}
