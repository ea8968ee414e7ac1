package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/go-json-experiment/json"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/queue"
)

// Validate is called by kong.
func (cmd *workerCmd) Validate() error {
	if cmd.LeaseFile != "" && !cmd.Once {
		return errors.New("--lease-file needs --once")
	}
	if cmd.Launch != "" && cmd.Once {
		return errors.New("--launch and --once exclude each other")
	}
	return errors.Join(cmd.launching.Validate(), cmd.working.Validate())
}

// executeOnce executes one run: the one whose lease is in the file or, without a file, the next one
// that it can claim.
func (cmd *workerCmd) executeOnce(ctx context.Context, control penstock.Claims, w *localWorker) error {
	var held *penstock.Assignment
	if cmd.LeaseFile != "" {
		lease, err := readLease(cmd.LeaseFile)
		if err != nil {
			return exitf(exitConfig, "--lease-file: %w", err)
		}
		kind := "none"
		if w.Sandbox != nil {
			kind = w.Sandbox.Kind()
		}
		a, err := control.Adopt(ctx, lease, penstock.Adoption{
			Token: penstock.NewUID(), Host: cmd.Host, Sandbox: kind,
		})
		if errors.Is(err, penstock.ErrLeaseLost) {
			return exitf(
				exitRefused, "run %s waits for this worker no more: it was cancelled, has ended, or another worker has it",
				lease.RunID,
			)
		}
		if err != nil {
			return fmt.Errorf("take over run %s: %w", lease.RunID, err)
		}
		held = &a
	}
	err := w.Once(ctx, held)
	if errors.Is(err, queue.ErrNotRenewed) {
		return exitf(exitUnavailable, "the run was abandoned: %w", err)
	}
	return err
}

// readLease reads a lease, which is secret: an error does not quote the content.
func readLease(path string) (penstock.Lease, error) {
	var lease penstock.Lease
	content, err := os.ReadFile(path)
	if err != nil {
		return lease, err
	}
	if json.Unmarshal(content, &lease) != nil || lease.RunID == "" || lease.Token == "" {
		return lease, fmt.Errorf("%s has no lease", path)
	}
	return lease, nil
}
