package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// attempts is a request for several runs.
type attempts struct {
	runs   *Runs
	by     penstock.Principal
	req    penstock.RunRequest
	source penstock.Source
}

// create stores the runs, all of them or none, in one fork group. Each is checked and pays as a run that
// was requested alone.
func (a attempts) create(ctx context.Context) (Created, error) {
	if errs := checkAttempts(a.req); errs != nil {
		return Created{}, penstock.InvalidFields(errs...)
	}
	group, err := a.group(ctx)
	if err != nil {
		return Created{}, err
	}
	var warnings, blobs []string
	for _, run := range group.runs {
		list, err := a.runs.catalog.Warnings(ctx, run)
		if err != nil {
			return Created{}, err
		}
		for _, w := range list {
			if !slices.Contains(warnings, w) {
				warnings = append(warnings, w)
			}
		}
	}
	for _, run := range group.runs { // the files of a run are its own, and removed with it
		if err := a.runs.files.putAttachments(ctx, run, a.req.Attachments); err != nil {
			for _, key := range blobs {
				a.runs.files.DropBlob(ctx, key)
			}
			return Created{}, err
		}
		blobs = append(blobs, attached(run.Attachments)...)
	}
	created, err := access.Act(ctx, a.runs.responses, a.by, func(tx *store.Tx) (Created, error) {
		runs, atCapacity, err := group.create(ctx, tx)
		if err != nil {
			return Created{}, err
		}
		return Created{
			ID: runs[0].ID, TaskID: runs[0].ID, State: runs[0].State, AtCapacity: atCapacity, Outcome: CallStarted,
			ForkGroup: group.id, Runs: runs,
		}, nil
	})
	if err != nil {
		a.runs.files.DropRejected(ctx, err, blobs...)
	}
	created.Warnings = warnings
	return created, err
}

// group makes the runs. It reports the invalid fields of all of them together, each where the request has it.
func (a attempts) group(ctx context.Context) (group, error) {
	n := len(a.req.Configs)
	if a.req.Attempts != nil {
		n = *a.req.Attempts
	}
	var invalid []penstock.FieldError
	made, err := newGroup(n, func(i int) (*store.NewRun, error) {
		origin := Origin{Source: a.source}
		if a.req.Configs != nil {
			origin.Attempt = &a.req.Configs[i]
		}
		run, err := a.runs.New(ctx, a.by, a.req, origin)
		known, ok := errors.AsType[*penstock.Error](err)
		if !ok || len(known.Fields) == 0 || origin.Attempt == nil {
			return run, err
		}
		at := *known
		at.Fields = fieldsOfAttempt(known.Fields, i, origin.Attempt)
		if at.Code != penstock.CodeInvalidRequest {
			return nil, &at
		}
		for _, field := range at.Fields {
			if !slices.Contains(invalid, field) {
				invalid = append(invalid, field)
			}
		}
		return &store.NewRun{}, nil // the next ones may have errors, too
	})
	if err == nil && invalid != nil {
		err = penstock.InvalidFields(invalid...)
	}
	return made, err
}

// fieldsOfAttempt returns errors about the configuration of a run with the pointers of its own one, which
// is number i, for the keys that it has.
func fieldsOfAttempt(fields []penstock.FieldError, i int, config *penstock.Config) []penstock.FieldError {
	fields = slices.Clone(fields)
	for n, field := range fields {
		rest, ok := strings.CutPrefix(field.Pointer, "/config/")
		if key, _, _ := strings.Cut(rest, "/"); ok && config.Sets(key) {
			fields[n].Pointer = fmt.Sprintf("/configs/%d/%s", i, rest)
		}
	}
	return fields
}

// checkAttempts checks how many runs a request is for, and what a request for several cannot have.
func checkAttempts(req penstock.RunRequest) (errs []penstock.FieldError) {
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	if req.Attempts != nil && (*req.Attempts < 1 || *req.Attempts > maxForks) {
		bad("/attempts", "must be from 1 to %d", maxForks)
	}
	switch n := len(req.Configs); {
	case req.Configs == nil:
	case n < 1 || n > maxForks:
		bad("/configs", "has %d configurations; it must have from 1 to %d", n, maxForks)
	case req.Attempts != nil && *req.Attempts != n:
		bad("/configs", "has %d configurations for %d attempts; it must have one for each", n, *req.Attempts)
	}
	if req.Subject != "" {
		bad("/subject", "cannot be used with attempts or configs: one run at most works on a subject")
	}
	if req.ConversationID != "" {
		bad("/conversation_id", "cannot be used with attempts or configs: one run at a time continues a conversation")
	}
	return errs
}
