package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
)

// pieces returns its pieces one by one, then an error.
type pieces struct {
	list [][]byte
	end  error
}

func (p *pieces) Read(b []byte) (int, error) {
	for len(p.list) > 0 && len(p.list[0]) == 0 {
		p.list = p.list[1:]
	}
	if len(p.list) == 0 {
		return 0, p.end
	}
	n := copy(b, p.list[0])
	p.list[0] = p.list[0][n:]
	return n, nil
}

func (*pieces) Close() error { return nil }

// response is the result of reading one response.
type response struct {
	Body     string
	Usage    *Usage
	Model    string
	Complete bool
	IDs      []string
}

// readResponse reads a response that arrives in the given pieces.
func readResponse(op Operation, contentType string, hide bool, end error, list ...[]byte) response {
	s := &Session{}
	c := &activeCall{s: s}
	c.Operation = op
	c.checked.hideUsage = hide
	r := newReader(c, &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {contentType}}, Body: &pieces{list, end},
	})
	body, _ := io.ReadAll(r)
	ids := s.ids.list()
	if len(ids) == 0 {
		ids = nil
	}
	return response{string(body), r.tally.total(), r.tally.model, r.complete(), ids}
}

const (
	eventType = "text/event-stream; charset=utf-8"
	jsonBody  = "application/json"
)

// sampleFile is a response in testdata.
func sampleFile(name string) string {
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		panic(err)
	}
	return string(data)
}

var anthropicStream = sampleFile("anthropic.sse")

var anthropicWant = response{
	Usage: &Usage{
		TokenUsage:    penstock.TokenUsage{Input: 15, Output: 90, CacheRead: 4000, CacheWrite: 300},
		Reasoning:     30,
		CacheWriteTTL: map[string]int64{"5m": 100, "1h": 200},
		ServerTools:   map[string]int64{"web_search": 2},
		Tier:          "priority", Speed: "fast", Region: "us",
		Others: []OtherUsage{
			{
				Kind: "advisor_message", Model: "claude-big",
				TokenUsage:    penstock.TokenUsage{Input: 7, Output: 8, CacheWrite: 5},
				CacheWriteTTL: map[string]int64{"1h": 5},
			},
			{Kind: "compaction", TokenUsage: penstock.TokenUsage{Input: 1000, Output: 50}},
		},
	},
	Model: "claude-x", Complete: true, IDs: []string{"container_1", "file_made", "msg_1"},
}

var (
	chatStart      = sampleFile("chat-start.sse")
	chatUsageChunk = sampleFile("chat-usage.sse")
)

const chatEnd = "data: [DONE]\n\n"

var chatWant = response{
	Usage: &Usage{
		TokenUsage: penstock.TokenUsage{Input: 200, Output: 50, CacheRead: 700, CacheWrite: 100},
		Reasoning:  20, Tier: "flex",
	},
	Model: "gpt-x", Complete: true,
}

var responsesStream = sampleFile("responses.sse")

var responsesWant = response{
	Usage: &Usage{
		TokenUsage: penstock.TokenUsage{Input: 270, Output: 80, CacheRead: 200, CacheWrite: 30},
		Reasoning:  60, CacheWriteTTL: map[string]int64{"30m": 30}, ServerTools: map[string]int64{"web_search": 3},
		Tier:   "default",
		Others: []OtherUsage{{Kind: "image_generation", TokenUsage: penstock.TokenUsage{Input: 10, Output: 400}}},
	},
	Model: "gpt-x-2026", Complete: true, IDs: []string{"cfile_1", "ci_1", "cntr_1", "conv_1", "msg_2", "resp_1"},
}

var geminiStream = sampleFile("gemini.sse")

var geminiWant = response{
	Usage: &Usage{
		TokenUsage: penstock.TokenUsage{Input: 65, Output: 18, CacheRead: 40},
		Reasoning:  11, ServerTools: map[string]int64{"web_search": 2}, Tier: "ON_DEMAND",
	},
	Model: "gemini-x", Complete: true,
}

type sample struct {
	name        string
	op          Operation
	contentType string
	hide        bool
	body        string
	want        response
}

// samples are responses of all APIs, with the values that reading them must give.
func samples() []sample {
	with := func(want response, body string) response {
		want.Body = body
		return want
	}
	chat := chatStart + chatUsageChunk + chatEnd
	crlf := strings.NewReplacer("\n", "\r\n").Replace
	cr := strings.NewReplacer("\n", "\r").Replace
	array := "[" + strings.TrimSuffix(strings.ReplaceAll(strings.ReplaceAll(geminiStream, "data: ", ""), "\n\n", ",\r\n"),
		",\r\n") + "]"
	whole := strings.TrimSpace(strings.SplitAfter(responsesStream, `"response":`)[2])
	whole = strings.TrimSuffix(whole, "}")
	wholeWant := responsesWant
	wholeWant.IDs = []string{"conv_1", "msg_2", "resp_1"}
	return []sample{
		{"anthropic stream", Messages, eventType, false, anthropicStream, with(anthropicWant, anthropicStream)},
		{
			"anthropic stream, CRLF", Messages, eventType, false, crlf(anthropicStream),
			with(anthropicWant, crlf(anthropicStream)),
		},
		{"chat stream", ChatCompletions, eventType, false, chat, with(chatWant, chat)},
		{"chat stream, hidden", ChatCompletions, eventType, true, chat, with(chatWant, chatStart+chatEnd)},
		{"chat stream, hidden, CRLF", ChatCompletions, eventType, true, crlf(chat), with(chatWant, crlf(chatStart+chatEnd))},
		{"chat stream, hidden, CR", ChatCompletions, eventType, true, cr(chat), with(chatWant, cr(chatStart+chatEnd))},
		{
			"chat stream, hidden, with comments", ChatCompletions, eventType, true, ": ping\n\n" + chatStart + chatUsageChunk +
				": ping\n\n" + chatEnd, with(chatWant, ": ping\n\n"+chatStart+": ping\n\n"+chatEnd),
		},
		{"responses stream", Responses, eventType, false, responsesStream, with(responsesWant, responsesStream)},
		{"responses whole", Responses, jsonBody, false, whole, with(wholeWant, whole)},
		{"gemini stream", StreamGenerate, eventType, false, geminiStream, with(geminiWant, geminiStream)},
		{"gemini list", StreamGenerate, jsonBody, false, array, with(geminiWant, array)},
	}
}

func TestUsageDoesNotDependOnHowAResponseIsSplit(t *testing.T) {
	t.Parallel()
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			body := []byte(s.body)
			splits := [][][]byte{{body}, bytes.SplitAfter(body, []byte("\n")), slices.Collect(slices.Chunk(body, 1))}
			for i := range body {
				splits = append(splits, [][]byte{body[:i], body[i:]})
			}
			for i, split := range splits {
				list := make([][]byte, len(split))
				copy(list, split)
				if diff := cmp.Diff(s.want, readResponse(s.op, s.contentType, s.hide, io.EOF, list...)); diff != "" {
					t.Fatalf("split %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

// A cut stream passes on what arrived, does not claim to be complete, and keeps the usage reported
// so far.
func TestAnInterruptedStreamIsForwardedAsIncomplete(t *testing.T) {
	t.Parallel()
	for _, s := range samples() {
		if s.hide || s.contentType != eventType {
			continue
		}
		for i := range len(s.body) - 20 {
			got := readResponse(s.op, eventType, false, io.ErrUnexpectedEOF, []byte(s.body[:i]))
			if got.Body != s.body[:i] {
				t.Fatalf("%s cut at %d: got %q", s.name, i, got.Body)
			}
			if got.Complete && !strings.Contains(s.body[:i], "message_stop") &&
				!strings.Contains(s.body[:i], `_reason":"stop"`) &&
				!strings.Contains(s.body[:i], "incomplete") && !strings.Contains(s.body[:i], "STOP") {
				t.Fatalf("%s cut at %d counts as complete", s.name, i)
			}
		}
	}
	start, _, _ := strings.Cut(anthropicStream, ": a comment")
	got := readResponse(Messages, eventType, false, iotest.ErrTimeout, []byte(start))
	if got.Complete || got.Usage == nil || got.Usage.Input != 12 || got.Usage.CacheRead != 4000 || got.Usage.Output != 1 {
		t.Errorf("after message_start got %+v, complete %v", got.Usage, got.Complete)
	}
}

func TestAnEventIsHeldBackOnlyUpToABound(t *testing.T) {
	t.Parallel()
	long := `data: {"choices":[],"x":"` + strings.Repeat("x", 3*maxHeld) + `","usage":{"prompt_tokens":1}}` + "\n\n"
	var list [][]byte
	for chunk := range slices.Chunk([]byte(long+chatEnd), 1000) {
		list = append(list, chunk)
	}
	s := &Session{}
	c := &activeCall{s: s}
	c.Operation, c.checked.hideUsage = ChatCompletions, true
	r := newReader(c, &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {eventType}}, Body: &pieces{list, io.EOF},
	})
	most := 0
	var got strings.Builder
	buffer := make([]byte, 4096)
	for {
		n, err := r.Read(buffer)
		got.Write(buffer[:n])
		most = max(most, len(r.held))
		if err != nil {
			break
		}
	}
	if most > maxHeld || got.String() != long+chatEnd {
		t.Errorf("held %d bytes, passed on %d of %d", most, got.Len(), len(long+chatEnd))
	}
}

func TestAHugeResponseIsNotStored(t *testing.T) {
	t.Parallel()
	body := `{"id":"resp_1","output":[{"id":"ig_1","result":"` + strings.Repeat("A", 20<<20) +
		`"}],"usage":{"input_tokens":3,"output_tokens":4}}`
	s := &Session{}
	c := &activeCall{s: s}
	c.Operation = Responses
	r := newReader(c, &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {jsonBody}},
		Body: io.NopCloser(strings.NewReader(body)),
	})
	n, err := io.Copy(io.Discard, r)
	if err != nil || int(n) != len(body) {
		t.Fatalf("read %d bytes, %v", n, err)
	}
	if u := r.tally.total(); u == nil || u.Input != 3 || u.Output != 4 {
		t.Errorf("got %+v", u)
	}
	if kept := cap(r.scan.raw); kept > maxCapture {
		t.Errorf("kept %d bytes", kept)
	}
}

func FuzzAnswerInPieces(f *testing.F) {
	for i, s := range samples() {
		f.Add(i, []byte(s.body), uint16(7), uint16(100))
	}
	all := samples()
	f.Fuzz(func(t *testing.T, which int, body []byte, first, size uint16) {
		s := all[max(0, which%len(all))]
		whole := readResponse(s.op, s.contentType, s.hide, io.EOF, slices.Clone(body))
		cut := min(int(first), len(body))
		list := [][]byte{slices.Clone(body[:cut])}
		for chunk := range slices.Chunk(slices.Clone(body[cut:]), int(size)%97+1) {
			list = append(list, chunk)
		}
		// The buffer for held-back bytes is bounded. Different pieces reach the bound at different
		// bytes.
		if len(body) < maxHeld {
			if diff := cmp.Diff(whole, readResponse(s.op, s.contentType, s.hide, io.EOF, list...)); diff != "" {
				t.Fatalf("(-whole +pieces):\n%s", diff)
			}
		}
		if !s.hide && whole.Body != string(body) {
			t.Fatal(fmt.Sprint("the bytes changed: ", len(whole.Body), " of ", len(body)))
		}
	})
}
