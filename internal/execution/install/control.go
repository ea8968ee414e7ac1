package install

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
)

// control is a control plane with a single run in memory.
type control struct {
	done   chan struct{} // closed when the run has ended
	record func(penstock.Draft)

	mu      sync.Mutex
	waiting *penstock.Assignment // until it is claimed
	drafts  []penstock.Draft
	result  *penstock.Result
}

// newControl creates a run of a harness with a model.
func newControl(harnessName, model string) *control {
	id := penstock.NewID()
	return &control{
		done: make(chan struct{}),
		waiting: &penstock.Assignment{
			Lease: penstock.Lease{RunID: id, ExecutionID: 1, Token: penstock.NewID()},
			Run: penstock.Run{ID: id, Config: &penstock.Config{
				Harness: &penstock.Harness{Type: harnessName, ModelID: provider + "/" + model},
			}},
			Prompts: []penstock.Prompt{{ID: penstock.NewID(), Text: "Print a line with the shell."}},
			Network: &penstock.NetworkPolicy{}, TimeLimit: trialTime,
		},
	}
}

// Claim implements penstock.Control.
func (c *control) Claim(ctx context.Context, r penstock.ClaimRequest) (penstock.Assignment, error) {
	c.mu.Lock()
	a := c.waiting
	c.waiting = nil
	c.mu.Unlock()
	if a != nil && !r.Stopping {
		return *a, nil
	}
	return penstock.Assignment{}, wait(ctx, r.Wait, penstock.ErrNoWork)
}

// wait returns err after a while, or the end of ctx.
func wait(ctx context.Context, while time.Duration, err error) error {
	timer := time.NewTimer(while)
	defer timer.Stop()
	select {
	case <-timer.C:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Heartbeat implements penstock.Control.
func (c *control) Heartbeat(ctx context.Context, _ penstock.Lease, while time.Duration) (penstock.Signal, error) {
	return penstock.Signal{}, wait(ctx, while, nil)
}

// Append implements penstock.Control.
func (c *control) Append(_ context.Context, _ penstock.Lease, drafts []penstock.Draft) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drafts = append(c.drafts, drafts...)
	for _, d := range drafts {
		if c.record != nil {
			c.record(d)
		}
	}
	return nil
}

// Finish implements penstock.Control.
func (c *control) Finish(_ context.Context, _ penstock.Lease, r penstock.Result) ([]penstock.Prompt, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !r.KeepOpen || c.result == nil {
		c.result = &r
	}
	if !r.KeepOpen {
		select {
		case <-c.done:
		default:
			close(c.done)
		}
	}
	return nil, nil
}

// ClaimBranches implements penstock.Control. A trial pushes nothing.
func (c *control) ClaimBranches(context.Context, penstock.Lease, penstock.PushClaim) ([]string, error) {
	return nil, penstock.ErrLeaseLost
}

// Reserve implements penstock.Control.
func (c *control) Reserve(_ context.Context, _ penstock.Lease, r penstock.Reservation) (penstock.Reserved, error) {
	return penstock.Reserved{Output: r.Output}, nil
}

// Settle implements penstock.Control.
func (c *control) Settle(context.Context, penstock.Lease, penstock.Settlement) error { return nil }

// Open implements penstock.Control.
func (c *control) Open(context.Context, penstock.Lease, penstock.File) (io.ReadCloser, error) {
	return nil, penstock.Errorf(penstock.CodeNotFound, "a trial has no files")
}

// Save implements penstock.Control.
func (c *control) Save(_ context.Context, _ penstock.Lease, u penstock.Upload, content io.Reader) (string, error) {
	if content != nil {
		if _, err := io.Copy(io.Discard, content); err != nil {
			return "", errors.New("the upload was cut")
		}
	}
	return u.ID, nil
}

// text returns the log of the run.
func (c *control) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, d := range c.drafts {
		b.Write(d.Data)
		b.WriteByte('\n')
	}
	return b.String()
}

// lastWords returns the names of the timeline events so far, for a run that takes too long.
func (c *control) lastWords() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := ""
	for _, d := range c.drafts {
		if d.Type == penstock.EventTimeline {
			last = d.Key
		}
	}
	if last == "" {
		return ""
	}
	return " (the last step was " + last + ")"
}

// Adopt implements penstock.Control. A trial is never launched.
func (c *control) Adopt(context.Context, penstock.Lease, penstock.Adoption) (penstock.Assignment, error) {
	return penstock.Assignment{}, penstock.ErrLeaseLost
}

// ReportLoss implements penstock.Control.
func (c *control) ReportLoss(context.Context, penstock.Lease, penstock.Loss) error {
	return penstock.ErrLeaseLost
}

// ReportLayers implements penstock.Control. A trial keeps no layers.
func (c *control) ReportLayers(context.Context, penstock.LayerReport) ([]string, error) {
	return nil, nil
}
