package factorymcp

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// readingTools are the tools that list, read and wait for tasks.
func (s *Server) readingTools() []tool {
	return []tool{
		run(s, tool{
			name: "list_tasks", title: "List tasks", description: "Lists tasks, newest first, with their states.",
			inputs: []input{
				text("factory_uid", "Only tasks of this factory."),
				text("state", "Only tasks in this state.", states...),
				text("q", "Words in title or note."),
				number("limit", "At most so many, 1 to 50; default 20."), text("cursor", "next_cursor of the page before."),
			},
		}, (*session).listTasks),
		run(s, tool{
			name: "get_task", title: "Get a task",
			description: "Returns a task with its state, what it waits for, its runs, artifacts, outputs and cost. " +
				"Give one of the arguments.",
			inputs: []input{
				text("factory_task_uid", "The task, or a run of it."),
				text("url", "URL of the run, or of its pull request, issue or ticket."),
				text("ticket_ref", "Ticket of the task, such as linear:ENG-42: the newest task with it."),
			},
		}, (*session).getTask),
		run(s, tool{
			name: waitTask, title: "Wait for a task",
			description: "Waits until the state of a task changes, it needs an answer or it ends, at most 50 seconds. " +
				"Call it again with the returned state and cursor until done or needs_answer is true.",
			inputs: []input{
				text("factory_task_uid", "The task."),
				text("state", "The state that you know: returns at once if it is another.", states...),
				number("cursor", "cursor of the call before."),
				number("timeout_seconds", "1 to 50; default 50."),
			},
			required: []string{"factory_task_uid"},
		}, (*session).waitTask),
		run(s, tool{
			name: "explain_event", title: "Explain an event",
			description: "Explains what became of events that were due to start work, and why: a delivery to a webhook, " +
				"or the last times of an automation or schedule.",
			inputs: []input{
				text("factory_uid", "With webhook_uid and delivery_id: the factory."),
				text("webhook_uid", "Deliveries to this webhook."), text("delivery_id", "This delivery, in detail."),
				text("automation_uid", "Events of this automation."), text("schedule_id", "Times of this schedule."),
			},
		}, (*session).explainEvent),
	}
}

// states are the states of a task.
var states = []string{
	"QUEUED", "CLAIMED", "PENDING", "INPROGRESS", "BLOCKED", "SUCCEEDED", "FAILED", "ERROR", "CANCELLED",
}

// runItem is the part of a run that tools show.
type runItem struct {
	ID         string `json:"run_id"`
	State      string `json:"state"`
	Title      string `json:"title"`
	Prompt     string `json:"prompt"`
	CreatedAt  string `json:"created_at"`
	UpdatedAt  string `json:"updated_at"`
	FinishedAt string `json:"finished_at"`
	Status     *struct {
		Message   string `json:"message"`
		Code      string `json:"error_code"`
		Retryable bool   `json:"retryable"`
		Budget    any    `json:"budget"`
	} `json:"status_message"`
	Waiting *struct {
		For      string `json:"for"`
		Message  string `json:"message"`
		EndsWhen string `json:"ends_when"`
	} `json:"waiting"`
	RootID    string            `json:"root_run_id"`
	Depth     int               `json:"depth"`
	Factory   string            `json:"factory_uid"`
	Metadata  map[string]string `json:"metadata"`
	Subject   string            `json:"subject"`
	Hollow    bool              `json:"hollow"`
	Artifacts []struct {
		Type string         `json:"artifact_type"`
		Data map[string]any `json:"data"`
	} `json:"artifacts"`
	Usage *struct {
		Cost   *float64 `json:"inference_cost_usd"`
		Tokens int64    `json:"total_tokens"`
	} `json:"request_usage"`
}

func (r *runItem) done() bool {
	switch r.State {
	case "SUCCEEDED", "FAILED", "ERROR", "CANCELLED":
		return true
	}
	return false
}

// needsAnswer reports whether the run waits for a follow-up, and not for room in a budget.
func (r *runItem) needsAnswer() bool {
	return r.State == "BLOCKED" && (r.Status == nil || r.Status.Budget == nil)
}

// facts returns what the server says about the run.
func (r *runItem) facts(s *Server) facts {
	f := facts{
		"factory_task_uid": r.ID, "state": r.State, "done": r.done(), "needs_answer": r.needsAnswer(),
		"created_at": r.CreatedAt, "updated_at": r.UpdatedAt, "run_url": s.runURL(r.ID),
	}
	for name, value := range map[string]string{"factory_uid": r.Factory, "finished_at": r.FinishedAt} {
		if value != "" {
			f[name] = value
		}
	}
	if r.Status != nil && r.Status.Code != "" {
		f["error_code"], f["retryable"] = r.Status.Code, r.Status.Retryable
	}
	if r.Waiting != nil {
		f["waiting_for"] = r.Waiting.For
	}
	if r.Usage != nil && r.Usage.Cost != nil {
		f["spend_usd"] = *r.Usage.Cost
	}
	if r.Hollow {
		f["did_nothing"] = true
	}
	return f
}

// words returns what others wrote in or about the run. Status and wait can contain the agent's question.
func (r *runItem) words() map[string]any {
	w := map[string]any{}
	add := func(name, value string) {
		if value != "" {
			w[name] = value
		}
	}
	add("title", r.Title)
	add("note", r.Prompt)
	add("subject", r.Subject)
	if source, id := r.Metadata["ticket_source"], r.Metadata["ticket_id"]; source != "" && source != "adhoc" {
		add("ticket_ref", source+":"+id)
	}
	if r.Status != nil {
		add("status_message", r.Status.Message)
	}
	if r.Waiting != nil {
		add("waiting", strings.TrimSpace(r.Waiting.Message+" "+r.Waiting.EndsWhen))
	}
	return w
}

func (s *Server) runURL(id string) string { return s.publicURL + "/runs/" + id }

type tasksArgs struct {
	page

	Factory string `json:"factory_uid"`
	State   string `json:"state"`
	Text    string `json:"q"`
}

type runList struct {
	Runs     []runItem `json:"runs"`
	PageInfo pageInfo  `json:"page_info"`
}

func (s *session) listTasks(ctx context.Context, _ *mcp.CallToolRequest, args tasksArgs) (result, error) {
	q := args.query()
	q.Set("sort_by", "created_at")
	for name, value := range map[string]string{"factory_uid": args.Factory, "state": args.State, "q": args.Text} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if args.Factory == "" {
		q.Set("factory_only", "true")
	}
	var list runList
	if err := s.do(ctx, request{path: "agent/runs", query: q}, &list); err != nil {
		return result{}, err
	}
	known, words := []facts{}, []any{}
	for i := range list.Runs {
		r := &list.Runs[i]
		if r.Depth > 0 { // a run below a task
			continue
		}
		w := r.words()
		delete(w, "note")
		w["factory_task_uid"] = r.ID
		known, words = append(known, r.facts(s.Server)), append(words, w)
	}
	res := result{facts: list.PageInfo.add(facts{"tasks": known})}
	if len(words) > 0 {
		res.foreign = []foreign{{"tasks", "people, agents and events that wrote the titles", words}}
	}
	return res, nil
}

type taskArgs struct {
	Task   string `json:"factory_task_uid"`
	URL    string `json:"url"`
	Ticket string `json:"ticket_ref"`
}

func (s *session) getTask(ctx context.Context, _ *mcp.CallToolRequest, args taskArgs) (result, error) {
	id, err := s.find(ctx, args)
	if err != nil {
		return result{}, err
	}
	return s.task(ctx, id)
}

// find returns the id of the run that the arguments name.
func (s *session) find(ctx context.Context, args taskArgs) (string, error) {
	given := 0
	for _, value := range []string{args.Task, args.URL, args.Ticket} {
		if value != "" {
			given++
		}
	}
	if given != 1 {
		return "", &apiError{text: "give one of factory_task_uid, url and ticket_ref"}
	}
	if id, ours := strings.CutPrefix(args.URL, s.publicURL+"/runs/"); ours {
		return strings.TrimRight(id, "/"), nil
	}
	if args.URL != "" {
		var found struct {
			ID string `json:"run_id"`
		}
		q := request{path: "agent/run-by-external-reference", query: url.Values{"url": {args.URL}}}
		return found.ID, s.do(ctx, q, &found)
	}
	if args.Ticket != "" {
		source, id, _ := strings.Cut(args.Ticket, ":")
		q := url.Values{
			"metadata[ticket_source]": {source}, "metadata[ticket_id]": {id}, "sort_by": {"created_at"}, "limit": {"1"},
		}
		var list runList
		if err := s.do(ctx, request{path: "agent/runs", query: q}, &list); err != nil {
			return "", err
		}
		if len(list.Runs) == 0 {
			return "", &apiError{status: http.StatusNotFound, text: "no task has this ticket_ref"}
		}
		return list.Runs[0].ID, nil
	}
	return args.Task, nil
}

// read returns a run.
func (s *session) run(ctx context.Context, id string) (*runItem, error) {
	var r runItem
	return &r, s.do(ctx, request{path: join("agent", "runs", id)}, &r)
}

// root returns the root of the task that a run belongs to.
func (s *session) root(ctx context.Context, id string) (*runItem, error) {
	r, err := s.run(ctx, id)
	if err == nil && r.RootID != "" && r.RootID != r.ID {
		return s.run(ctx, r.RootID)
	}
	return r, err
}

// task returns everything about the task of a run.
func (s *session) task(ctx context.Context, id string) (result, error) {
	r, err := s.root(ctx, id)
	if err != nil {
		return result{}, err
	}
	var below runList
	q := url.Values{"ancestor_run_id": {r.ID}, "limit": {"50"}}
	if err := s.do(ctx, request{path: "agent/runs", query: q}, &below); err != nil {
		return result{}, err
	}
	var outputs struct {
		Outputs []map[string]any `json:"outputs"`
	}
	if err := s.do(ctx, request{path: join("agent", "runs", r.ID, "outputs")}, &outputs); err != nil {
		return result{}, err
	}
	f, words := r.facts(s.Server), r.words()
	runs := []facts{}
	for i := range below.Runs {
		b := &below.Runs[i]
		runs = append(runs, facts{"run_id": b.ID, "state": b.State, "depth": b.Depth, "run_url": s.runURL(b.ID)})
	}
	if len(runs) > 0 {
		f["runs"] = runs
	}
	if below.PageInfo.HasNext {
		f["more_runs"] = true
	}
	artifacts, named := []facts{}, []any{}
	for _, a := range r.Artifacts {
		artifact := facts{"artifact_type": a.Type}
		if uid, ok := a.Data["artifact_uid"].(string); ok {
			artifact["artifact_uid"] = uid
		}
		artifacts, named = append(artifacts, artifact), append(named, a.Data)
		if len(artifacts) == 50 {
			break
		}
	}
	if len(named) > 0 {
		f["artifacts"], words["artifacts"] = artifacts, named
	}
	if len(outputs.Outputs) > 0 {
		done := []facts{}
		all := make([]any, 0, len(outputs.Outputs))
		for _, o := range outputs.Outputs {
			done = append(done, facts{"uid": o["uid"], "kind": o["kind"], "state": o["state"]})
			all = append(all, o)
		}
		f["outputs"], words["outputs"] = done[:min(len(done), 50)], all
	}
	return result{f, []foreign{{"task", "the sender of the task, its agents and their results", words}}}, nil
}
