package factorymcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// filesTools are the tools that read what agents said and made.
func (s *Server) filesTools() []tool {
	return []tool{
		run(s, tool{
			name: "get_conversation", title: "Read a conversation",
			description: "Returns messages of a run: the newest, or from a number on. Long messages are cut.",
			inputs: []input{
				text("factory_task_uid", "The task, or a run of it."),
				number("from", "Number of the first message, from 0. Without it: the newest messages."),
				number("limit", "At most so many messages, 1 to 50; default 20."),
			},
			required: []string{"factory_task_uid"},
		}, (*session).conversation),
		run(s, tool{
			name: "get_changes", title: "Read changes",
			description: "Returns what a run has changed in its repositories. With repository: its patch, in parts of 16 KiB.",
			inputs: []input{
				text("factory_task_uid", "The task, or a run of it."), text("repository", "Name of a repository in the list."),
				number("offset", "With repository: next_offset of the part before."),
			},
			required: []string{"factory_task_uid"},
		}, (*session).changes),
		run(s, tool{
			name: "get_artifact", title: "Read an artifact",
			description: "Returns an artifact: a text of at most 16 KiB, and for everything else a link that works for " +
				"15 minutes.",
			inputs:   []input{text("artifact_uid", "The artifact, from get_task.")},
			required: []string{"artifact_uid"},
		}, (*session).artifact),
	}
}

type conversationArgs struct {
	Task  string `json:"factory_task_uid"`
	From  *int   `json:"from"`
	Limit int    `json:"limit"`
}

// maxMessage limits one message in a result, in bytes.
const maxMessage = 4 << 10

// conversation reads the conversation while the API writes it, and keeps only the messages of the page.
func (s *session) conversation(ctx context.Context, _ *mcp.CallToolRequest, args conversationArgs) (result, error) {
	limit := args.Limit
	if limit <= 0 {
		limit = 20
	}
	p := &messagePage{limit: min(limit, 50), newest: args.From == nil}
	if args.From != nil {
		p.from = max(0, *args.From)
	}
	resp, err := s.open(ctx, request{path: join("agent", "runs", args.Task, "conversation")})
	if err != nil {
		return result{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest {
		return result{}, read(resp, "conversation", nil)
	}
	if err := p.read(json.NewDecoder(resp.Body)); err != nil && !errors.Is(err, errPageFull) {
		return result{}, fmt.Errorf("read the conversation: %w", err)
	}
	r := p.result(s.runURL(args.Task))
	for !r.whole() && len(p.kept) > 1 {
		half := len(p.kept) / 2
		if p.newest {
			p.kept = p.kept[len(p.kept)-half:]
			p.from = p.total - half
		} else {
			p.kept = p.kept[:half]
		}
		r = p.result(s.runURL(args.Task))
	}
	return r, nil
}

func (p *messagePage) result(runURL string) result {
	f := facts{"from": p.from, "returned": len(p.kept), "run_url": runURL}
	if !p.more {
		f["messages"] = p.total
	}
	if next := p.from + len(p.kept); p.more || next < p.total {
		f["next_from"] = next
	}
	if p.cut {
		f["truncated"] = true
	}
	r := result{facts: f}
	if len(p.kept) > 0 {
		r.foreign = []foreign{{"messages", "the people and agents of the conversation, and their tools", p.kept}}
	}
	return r
}

// messagePage keeps some messages of a conversation.
type messagePage struct {
	limit  int
	from   int  // number of the first that is kept
	newest bool // the last ones are kept
	total  int
	kept   []any
	cut    bool // messages were cut
	more   bool // messages follow that were not read
}

// errPageFull ends the reading of a conversation.
var errPageFull = errors.New("the page is full")

// read reads the object of a conversation, and of each step in it.
func (p *messagePage) read(dec *json.Decoder) error {
	return eachMember(dec, func(name string) error {
		switch name {
		case "steps":
			return eachItem(dec, func() error { return p.read(dec) })
		case "messages":
			return eachItem(dec, func() error { return p.add(dec) })
		}
		var ignored json.RawMessage
		return dec.Decode(&ignored)
	})
}

func (p *messagePage) add(dec *json.Decoder) error {
	var m struct {
		Role    string           `json:"role"`
		Content []map[string]any `json:"content"`
	}
	if err := dec.Decode(&m); err != nil {
		return err
	}
	if !p.newest && len(p.kept) == p.limit {
		p.more = true
		return errPageFull
	}
	number := p.total
	p.total++
	if number < p.from && !p.newest {
		return nil
	}
	if p.newest && len(p.kept) == p.limit {
		p.kept = p.kept[1:]
		p.from++
	}
	content := make([]any, len(m.Content))
	for i, block := range m.Content {
		c := cutter{texts: maxMessage, items: 50}
		content[i] = c.value(block)
		p.cut = p.cut || c.cut
	}
	p.kept = append(p.kept, map[string]any{"number": number, "role": m.Role, "content": content})
	return nil
}

// eachMember reads an object and calls read for each member, which reads its value.
func eachMember(dec *json.Decoder, read func(name string) error) error {
	if err := expect(dec, '{'); err != nil {
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		text, _ := name.(string)
		if err := read(text); err != nil {
			return err
		}
	}
	return expect(dec, '}')
}

// eachItem reads an array and calls read for each item.
func eachItem(dec *json.Decoder, read func() error) error {
	if err := expect(dec, '['); err != nil {
		return err
	}
	for dec.More() {
		if err := read(); err != nil {
			return err
		}
	}
	return expect(dec, ']')
}

var errOtherJSON = errors.New("the JSON has another form")

func expect(dec *json.Decoder, delim json.Delim) error {
	token, err := dec.Token()
	if err == nil && token != delim {
		return errOtherJSON
	}
	return err
}

type changesArgs struct {
	Task       string `json:"factory_task_uid"`
	Repository string `json:"repository"`
	Offset     int    `json:"offset"`
}

func (s *session) changes(ctx context.Context, _ *mcp.CallToolRequest, args changesArgs) (result, error) {
	if args.Repository != "" {
		return s.patch(ctx, args)
	}
	var changed struct {
		UpdatedAt    string           `json:"updated_at"`
		Repositories []map[string]any `json:"repositories"`
	}
	if err := s.do(ctx, request{path: join("agent", "runs", args.Task, "changes")}, &changed); err != nil {
		return result{}, err
	}
	f := facts{"repositories": len(changed.Repositories), "run_url": s.runURL(args.Task)}
	if changed.UpdatedAt != "" {
		f["updated_at"] = changed.UpdatedAt
	}
	list := make([]any, 0, len(changed.Repositories))
	files := 0
	for _, r := range changed.Repositories {
		delete(r, "patch_url") // get_changes returns the patch
		in, _ := r["files"].([]any)
		files += len(in)
		list = append(list, r)
	}
	f["files"] = files
	r := result{facts: f}
	if len(list) > 0 {
		r.foreign = []foreign{{"changes", "the agent and the repositories, which name branches and files", list}}
	}
	return r, nil
}

func (s *session) patch(ctx context.Context, args changesArgs) (result, error) {
	resp, err := s.open(ctx, request{path: join("agent", "runs", args.Task, "changes", args.Repository, "patch")})
	if err != nil {
		return result{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest {
		return result{}, read(resp, "patch", nil)
	}
	if _, err := io.CopyN(io.Discard, resp.Body, int64(max(0, args.Offset))); err != nil && !errors.Is(err, io.EOF) {
		return result{}, err
	}
	part, err := io.ReadAll(io.LimitReader(resp.Body, maxPart+1))
	if err != nil {
		return result{}, err
	}
	text := string(part)
	for size := maxPart; ; size /= 2 {
		f := facts{"offset": args.Offset}
		shown := beginning(text, size)
		if len(shown) < len(text) {
			f["next_offset"] = max(0, args.Offset) + len(shown)
		}
		r := result{f, []foreign{{"patch", "the agent and the repository", shown}}}
		if r.whole() || size < 64 {
			return r, nil
		}
	}
}

// maxPart is the size of a part of a text. Less of it is returned if its form in JSON is much longer.
const maxPart = maxText - 64

type artifactArgs struct {
	UID string `json:"artifact_uid"`
}

func (s *session) artifact(ctx context.Context, _ *mcp.CallToolRequest, args artifactArgs) (result, error) {
	var a struct {
		UID       string         `json:"artifact_uid"`
		Type      string         `json:"artifact_type"`
		CreatedAt string         `json:"created_at"`
		Data      map[string]any `json:"data"`
	}
	if err := s.do(ctx, request{path: join("agent", "artifacts", args.UID)}, &a); err != nil {
		return result{}, err
	}
	f := facts{"artifact_uid": a.UID, "artifact_type": a.Type, "created_at": a.CreatedAt}
	link, _ := a.Data["download_url"].(string)
	content, isText := a.Data["content"].(string)
	if !isText && link != "" {
		content, isText = s.download(ctx, link, a.Data["size_bytes"])
	}
	for _, name := range []string{"download_url", "content"} {
		delete(a.Data, name)
	}
	expires := a.Data["expires_at"]
	delete(a.Data, "expires_at")
	r := result{f, []foreign{{"artifact", "the agent that added it", a.Data}}}
	if isText {
		with := result{f, append(r.foreign, foreign{"content", "the agent that added it", content})}
		if link == "" || with.whole() {
			return with, nil
		}
	}
	if link != "" {
		f["download_url"], f["expires_at"] = link, expires
	}
	return r, nil
}

// download returns the content behind a signed link of this server, if it is a short text.
func (s *session) download(ctx context.Context, link string, size any) (content string, isText bool) {
	path, ours := strings.CutPrefix(link, s.publicURL+"/api/v1/")
	if n, known := size.(float64); !ours || !known || n > maxText {
		return "", false
	}
	u, err := url.Parse(path)
	if err != nil {
		return "", false
	}
	resp, err := s.open(ctx, request{path: u.EscapedPath(), query: u.Query()})
	if err != nil {
		return "", false
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxText+1))
	if err != nil || resp.StatusCode != http.StatusOK || len(raw) > maxText || !utf8.Valid(raw) ||
		bytes.IndexByte(raw, 0) >= 0 {
		return "", false
	}
	return string(raw), true
}
