package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

// The events of an agent in one second. Deltas of one message arrive at most 20 times a second,
// because the harness combines them.
const (
	workDeltas  = 20
	workActions = 14                                 // each with its result
	workEvents  = workDeltas + 1 + 2*workActions + 1 // with the message and its usage
)

// work is an agent that repeatedly writes a message and then performs an action. Every text
// contains the number of its event.
type work struct {
	*runSource

	n    int // events so far
	said string
}

// begin starts the run, and appends this many events to its log.
func (w *work) begin(ctx context.Context, events int) error {
	var drafts []penstock.Draft
	for _, state := range []penstock.State{penstock.StatePending, penstock.StateInProgress} {
		drafts = append(
			drafts,
			penstock.NewDraft(
				penstock.EventState, penstock.Now(), penstock.StateData{State: state, ExecutionID: w.lease.ExecutionID},
			),
		)
	}
	for kept := 0; kept < events; {
		d := w.next()
		if d.Type == penstock.EventMessageDelta {
			continue
		}
		drafts = append(drafts, d)
		kept++
	}
	for len(drafts) > 0 {
		batch := drafts[:min(sdkBatch, len(drafts))]
		if err := w.worker.Append(ctx, w.lease, batch); err != nil {
			return err
		}
		drafts = drafts[len(batch):]
	}
	return nil
}

// during appends workEvents events per second, one at a time, until do returns.
func (w *work) during(ctx context.Context, do func() error) error {
	ctx, cancel := context.WithCancel(ctx)
	failed := make(chan error, 1)
	go func() { failed <- w.append(ctx) }()
	err := do()
	cancel()
	if e := <-failed; e != nil && !errors.Is(e, context.Canceled) {
		err = errors.Join(err, fmt.Errorf("append the events: %w", e))
	}
	return err
}

func (w *work) append(ctx context.Context) error {
	start := time.Now()
	for sent := 0; ; sent++ {
		due := start.Add(time.Duration(sent) * time.Second / workEvents)
		if err := sleep(ctx, time.Until(due)); err != nil {
			return err
		}
		if sent%100 == 0 {
			if _, err := w.worker.Heartbeat(ctx, w.lease, 0); err != nil {
				return err
			}
		}
		if err := w.worker.Append(ctx, w.lease, []penstock.Draft{w.next()}); err != nil {
			return err
		}
	}
}

// next returns the next event.
func (w *work) next() penstock.Draft {
	second, i := w.n/workEvents, w.n%workEvents
	id := "message-" + strconv.Itoa(second)
	defer func() { w.n++ }()
	switch {
	case i < workDeltas:
		if i == 0 {
			w.said = ""
		}
		piece := w.piece(i)
		w.said += piece
		return penstock.NewDraft(
			penstock.EventMessageDelta, penstock.Now(), penstock.MessageDelta{ID: id, Role: penstock.RoleAssistant, Text: piece},
		)
	case i == workDeltas:
		return penstock.NewDraft(penstock.EventMessage, penstock.Now(), penstock.Message{
			ID: id, Role: penstock.RoleAssistant, Content: []penstock.Block{penstock.Text(w.said)}, Timestamp: penstock.Now(),
		})
	case i == workEvents-1:
		cost := float64(w.n) / 1000
		return penstock.NewDraft(
			penstock.EventUsage, penstock.Now(), penstock.Usage{TotalTokens: int64(100 * w.n), InferenceCostUSD: &cost},
		)
	default:
		at := i - workDeltas - 1
		return w.action(second*workActions+at/2, at%2 == 1)
	}
}

// piece returns a piece of a message. Every fifth one has a list and some code.
func (w *work) piece(i int) string {
	text := fmt.Sprintf(
		"The job fails (`%s%d`) because the cache of the **day before** is restored into a folder that has moved since. ",
		mark, w.n,
	)
	switch i % 5 {
	case 3:
		text += "\n\n- the folder of the cache\n- the key, which has no version\n\n"
	case 4:
		text += "\n\n```yaml\nkey: deps-v1\npath: ~/.cache/shop\n```\n\n"
	}
	return text
}

// action returns the n-th action or its result: commands, reads of files, and one edit in seven,
// which the dashboard shows as a diff.
func (w *work) action(n int, result bool) penstock.Draft {
	id := "action-" + strconv.Itoa(n)
	category, name, input, output := "command", "run_command", map[string]any{
		"command": fmt.Sprintf("go test ./shop -run %s%d", mark, w.n),
	},
		map[string]any{
			"output": strings.Repeat("ok  \tgithub.com/acme/shop/cart\t0.041s\n", 20), "exit_code": 0, "duration_ms": 1200,
		}
	switch n % 7 {
	case 2, 4:
		category, name, input, output = "files", "read_files", map[string]any{
			"paths": []string{fmt.Sprintf("shop/%s%d.go", mark, w.n)},
		},
			map[string]any{"output": strings.Repeat("\treturn cart.Total(ctx, items)\n", 40)}
	case 6:
		path := fmt.Sprintf("shop/%s%d.go", mark, w.n)
		before := strings.Repeat("\tif err := cart.Add(ctx, item); err != nil {\n\t\treturn err\n\t}\n", 6)
		category, name, input, output = "files", "edit_files", map[string]any{"paths": []string{path}},
			map[string]any{
				"files": []map[string]any{
					{
						"path": path, "old_text": before,
						"new_text": before[:70] + "\n\tslog.InfoContext(ctx, \"added\")\n" + before[70:],
					},
				},
			}
	}
	block := penstock.Block{Type: penstock.BlockAction, ID: id, Category: category, Name: name, Input: object(input)}
	if !result {
		return penstock.NewDraft(penstock.EventAction, penstock.Now(), block)
	}
	block = penstock.Block{
		Type: penstock.BlockActionResult, ActionID: id, Category: category, Name: name, State: penstock.ActionCompleted,
		Output: object(output),
	}
	return penstock.NewDraft(penstock.EventActionResult, penstock.Now(), block)
}

func object(fields map[string]any) json.RawMessage {
	data, err := json.Marshal(fields)
	if err != nil {
		panic("what cannot be JSON: " + err.Error())
	}
	return data
}
