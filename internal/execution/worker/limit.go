package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// overLimitError stops an execution that uses more of a resource than this worker allows.
type overLimitError struct{ resource sandbox.Resource }

func (o overLimitError) Error() string {
	return "the run uses more " + string(o.resource) + " than this worker allows"
}

// exceeded returns the overLimitError that ended the work, or nil.
func exceeded(work context.Context) error {
	if over, ok := errors.AsType[overLimitError](context.Cause(work)); ok {
		return over
	}
	return nil
}

// exceed stops the work. The workspace of a run that fills the disk is not kept.
func (b *box) exceed(r sandbox.Resource) {
	if r == sandbox.Disk {
		b.full.Store(true)
	}
	b.stop(overLimitError{r})
}

// limit describes the exceeded limit of this worker.
func (t *task) limit(r sandbox.Resource) string {
	if r == sandbox.Disk {
		return fmt.Sprintf("its workspace and HOME used more than the %d MiB that --limit-disk allows", t.w.Limits.Disk>>20)
	}
	return fmt.Sprintf("it used more than the %d MiB of memory that --limit-memory allows", t.w.Limits.Memory>>20)
}

// ending describes how a program of the run ended.
func (t *task) ending(exit sandbox.Exit) string {
	text := sandbox.Exit{Code: exit.Code}.String()
	if exit.Exceeded != "" {
		text += ": " + t.limit(exit.Exceeded)
	}
	return text
}
