package factorymcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// writingTools are the tools that start and steer work.
func (s *Server) writingTools() []tool {
	return []tool{
		run(s, tool{
			name: "send_task", title: "Send a task",
			description: "Gives a factory a new task. With factory_task_uid, hands work back to that task instead. Set " +
				"request_key: a repeated call with it returns the first task. Without it, equal arguments within a minute do.",
			inputs: []input{
				text("factory_uid", "The factory, from list_factories. Not with factory_task_uid."),
				text("note", "The complete task: goal, context, constraints, and how to tell that it is done."),
				text("title", "A short title."), text("ticket_ref", "Ticket, such as linear:ENG-42."),
				text("agent", "uid or name of the agent that gets the task; default: the foreman."),
				text("factory_task_uid", "Hand back to this task."), text("branch", "Hand-back: branch with your work."),
				text("pr_url", "Hand-back: URL of your pull request."),
				text("request_key", "Any text that is unique for this task, such as a UUID."),
			},
			required: []string{"note"}, writes: true, repeats: true, open: true,
		}, (*session).sendTask),
		run(s, tool{
			name: "message_foreman", title: "Send a message to a task",
			description: "Sends a message to the agent of a task: an answer if needs_answer is true, otherwise a follow-up.",
			inputs: []input{
				text("factory_task_uid", "The task."), text("message", "The message."),
				text("request_key", "A repeated call with the same text sends one message."),
			},
			required: []string{"factory_task_uid", "message"}, writes: true, open: true,
		}, (*session).messageForeman),
		run(s, tool{
			name: "cancel_task", title: "Cancel a task",
			description: "Cancels a task and all runs below it.",
			inputs:      []input{text("factory_task_uid", "The task.")},
			required:    []string{"factory_task_uid"}, writes: true, destroys: true, repeats: true,
		}, (*session).cancelTask),
	}
}

type sendArgs struct {
	Factory string `json:"factory_uid"`
	Note    string `json:"note"`
	Title   string `json:"title"`
	Ticket  string `json:"ticket_ref"`
	Agent   string `json:"agent"`
	Task    string `json:"factory_task_uid"`
	Branch  string `json:"branch"`
	PR      string `json:"pr_url"`
	Key     string `json:"request_key"`
}

func (s *session) sendTask(ctx context.Context, _ *mcp.CallToolRequest, args sendArgs) (result, error) {
	if (args.Factory == "") == (args.Task == "") {
		return result{}, &apiError{text: "give factory_uid for a new task, or factory_task_uid for a hand-back"}
	}
	if args.Task != "" {
		return s.handBack(ctx, args)
	}
	if args.Branch != "" || args.PR != "" {
		return result{}, &apiError{text: "branch and pr_url are for a hand-back, with factory_task_uid"}
	}
	q := request{method: http.MethodPost, path: join("factory", args.Factory, "runs"), body: dispatch{
		Prompt: args.Note, Title: args.Title, Ticket: args.Ticket,
	}}
	if args.Agent != "" {
		uid, err := s.agent(ctx, args.Factory, args.Agent)
		if err != nil {
			return result{}, err
		}
		q.path, q.body = "agent/runs", agentRun(args, uid)
	}
	var sent struct {
		ID string `json:"run_id"`
	}
	repeated, err := s.once(ctx, q, args.Key, &sent, func() time.Time { return s.createdAt(ctx, sent.ID) })
	if err != nil {
		return result{}, err
	}
	r, err := s.run(ctx, sent.ID)
	if err != nil { // a key may write and not read
		if _, refused := errors.AsType[*apiError](err); !refused {
			return result{}, err
		}
		return result{facts: facts{"factory_task_uid": sent.ID, "run_url": s.runURL(sent.ID), "repeated": repeated}}, nil
	}
	f := r.facts(s.Server)
	f["repeated"] = repeated
	return result{facts: f}, nil
}

// dispatch is the request for work of a factory.
type dispatch struct {
	Prompt string `json:"prompt"`
	Title  string `json:"title,omitempty"`
	Ticket string `json:"ticket_ref,omitempty"`
}

// agentRun is the request for a run of one agent, which counts as a dispatch with its ticket.
func agentRun(args sendArgs, uid string) map[string]any {
	body := map[string]any{"prompt": args.Note, "agent_identity_uid": uid}
	if args.Title != "" {
		body["title"] = args.Title
	}
	if source, id, found := strings.Cut(args.Ticket, ":"); found {
		body["metadata"] = map[string]string{"ticket_source": source, "ticket_id": id}
	}
	return body
}

// agent returns the uid of an agent of a factory.
func (s *session) agent(ctx context.Context, factory, name string) (string, error) {
	var f factoryItem
	if err := s.do(ctx, request{path: join("factory", factory)}, &f); err != nil {
		return "", err
	}
	for _, a := range f.Agents {
		if a.UID == name || a.Name == name {
			return a.UID, nil
		}
	}
	return "", &apiError{status: http.StatusNotFound, text: "the factory has no such agent; list_factories shows them"}
}

func (s *session) handBack(ctx context.Context, args sendArgs) (result, error) {
	if args.Agent != "" || args.Ticket != "" {
		return result{}, &apiError{text: "agent and ticket_ref are for a new task, without factory_task_uid"}
	}
	message := args.Note
	if args.Title != "" {
		message = args.Title + "\n\n" + message
	}
	if args.Branch != "" {
		message += "\n\nBranch: " + args.Branch
	}
	if args.PR != "" {
		message += "\n\nPull request: " + args.PR
	}
	r, err := s.root(ctx, args.Task)
	if err != nil {
		return result{}, err
	}
	q := followup(r.ID, message)
	var sent followedUp
	repeated, err := s.once(ctx, q, args.Key, &sent, nil)
	if err != nil {
		return result{}, err
	}
	return sent.result(s.Server, r.ID, repeated), nil
}

func followup(id, message string) request {
	return request{
		method: http.MethodPost, path: join("agent", "runs", id, "followups"), body: map[string]any{"message": message},
	}
}

// followedUp is the response to a follow-up.
type followedUp struct {
	ID      string `json:"followup_id"`
	Outcome string `json:"outcome"`
}

func (f followedUp) result(s *Server, id string, repeated bool) result {
	return result{facts: facts{
		"factory_task_uid": id, "followup_id": f.ID, "outcome": f.Outcome, "run_url": s.runURL(id), "repeated": repeated,
	}}
}

type messageArgs struct {
	Task    string `json:"factory_task_uid"`
	Message string `json:"message"`
	Key     string `json:"request_key"`
}

func (s *session) messageForeman(ctx context.Context, _ *mcp.CallToolRequest, args messageArgs) (result, error) {
	r, err := s.root(ctx, args.Task)
	if err != nil {
		return result{}, err
	}
	q := followup(r.ID, args.Message)
	var sent followedUp
	var repeated bool
	if args.Key != "" {
		q.key = keyOf("key", args.Key)
		repeated, err = s.send(ctx, q, &sent)
	} else {
		err = s.do(ctx, q, &sent)
	}
	if err != nil {
		return result{}, err
	}
	return sent.result(s.Server, r.ID, repeated), nil
}

type cancelArgs struct {
	Task string `json:"factory_task_uid"`
}

func (s *session) cancelTask(ctx context.Context, _ *mcp.CallToolRequest, args cancelArgs) (result, error) {
	r, err := s.root(ctx, args.Task)
	if err != nil {
		return result{}, err
	}
	q := request{
		method: http.MethodPost, path: join("agent", "runs", r.ID, "cancel"), query: url.Values{"cascade": {"true"}},
	}
	if err := s.do(ctx, q, nil); err != nil {
		return result{}, err
	}
	if r, err = s.run(ctx, r.ID); err != nil {
		return result{}, err
	}
	return result{facts: r.facts(s.Server)}, nil
}

// Repeated requests. Clients send a broken call again, with another id. The API does a request once per
// Idempotency-Key, path and principal, also over several servers and after a crash.
const (
	equalFor = time.Minute // equal arguments without a request_key are one task for so long

	tries    = 20 // while the first request with a key is in progress
	tryAgain = 250 * time.Millisecond
)

// keyOf makes an idempotency key that no other client of the API makes by accident.
func keyOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "factory-mcp-" + hex.EncodeToString(sum[:])
}

// once sends q once per request key. Without a key, it is made of the request and the minute. Then the minute before
// is asked, too: a request with its key and without a body can do nothing, but is a conflict if that key was used.
// createdAt returns when the first request was done, which was sent again into result; nil: a request of the minute
// before counts in any case.
func (s *session) once(
	ctx context.Context, q request, key string, result any, createdAt func() time.Time,
) (repeated bool, err error) {
	if key != "" {
		q.key = keyOf("key", key)
		return s.send(ctx, q, result)
	}
	body, err := json.Marshal(q.body)
	if err != nil {
		return false, err
	}
	now := s.now()
	minute := func(at time.Time) string {
		return keyOf("equal", strconv.FormatInt(at.Unix()/int64(equalFor.Seconds()), 10), string(body))
	}
	if before := minute(now.Add(-equalFor)); s.used(ctx, q, before) {
		q.key = before
		if repeated, err = s.send(ctx, q, result); err != nil {
			return repeated, err
		}
		if createdAt == nil || now.Sub(createdAt()) < equalFor {
			return repeated, nil
		}
	}
	q.key = minute(now)
	return s.send(ctx, q, result)
}

// used reports whether the API has done a request with this key. It waits while a request with the key is in progress,
// which may be one that only asks, as this one does.
func (s *session) used(ctx context.Context, q request, key string) bool {
	q.body, q.key = nil, key
	_, err := s.send(ctx, q, nil)
	e, ok := errors.AsType[*apiError](err)
	return ok && e.status == http.StatusConflict
}

// send sends a request with its key, and waits while the first one with this key is in progress.
func (s *session) send(ctx context.Context, q request, result any) (repeated bool, err error) {
	for range tries {
		repeated, err = s.sendNow(ctx, q, result)
		e, ok := errors.AsType[*apiError](err)
		if !ok || e.status != http.StatusConflict || !e.retryable {
			return repeated, err
		}
		select {
		case <-time.After(tryAgain):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	return repeated, err
}

func (s *session) sendNow(ctx context.Context, q request, result any) (repeated bool, err error) {
	resp, err := s.open(ctx, q)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	return resp.Header.Get("Idempotent-Replayed") == "true", read(resp, q.path, result)
}

// createdAt returns when a run was created; for a caller who may not know it, as if it were now.
func (s *session) createdAt(ctx context.Context, id string) time.Time {
	r, err := s.run(ctx, id)
	if err != nil {
		return s.now()
	}
	at, err := time.Parse(time.RFC3339Nano, r.CreatedAt)
	if err != nil {
		return s.now()
	}
	return at
}
