package main

import (
	"context"
	"errors"
	"os"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/penstock-dev/penstock/internal/supply/blob"
)

type blobsCmds struct {
	Copy blobsCopyCmd `cmd:"" help:"Copy stored files to another folder or object store, and check the copies; safe while the server runs."`
}

type blobsCopyCmd struct {
	From   blobPlace `required:"" placeholder:"PLACE" help:"Where the files are: a folder, or s3://BUCKET/PREFIX as in serve --blobs."`
	To     blobPlace `required:"" placeholder:"PLACE" help:"Where to copy them: a folder, or s3://BUCKET/PREFIX as in serve --blobs."`
	Verify bool      `help:"Compare the content of files that an earlier copy wrote. By default, only their sizes are compared."`
}

func (cmd *blobsCopyCmd) Help() string {
	return "To move the files of a server, copy them while the server runs. Then stop the server, copy again to add the " +
		"new files, and start the server with the new --blobs. If a copy is interrupted, run the command again: it " +
		"continues. It never replaces or removes a file. Exits with 1 if a file differs from its copy."
}

// copiesAtOnce is how many files are copied at a time: most are small, and wait for the store.
const copiesAtOnce = 8

func (cmd *blobsCopyCmd) Run(ctx context.Context, std *stdio) error {
	if !cmd.From.isBucket() {
		if _, err := os.Stat(string(cmd.From)); err != nil {
			return exitf(exitUsage, "--from: %w", err)
		}
	}
	from, err := cmd.From.open(ctx, "")
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := cmd.To.open(ctx, "")
	if err != nil {
		return err
	}
	defer to.Close()
	if err := cmd.copyOwner(ctx, to, from); err != nil {
		return err
	}
	var count copyCount
	err = copyBlobs(ctx, to, from, cmd.Verify, &count, func(err error) { std.notef("%v", err) })
	std.notef(
		"copied %d files, %s; %d were there already", count.copied.Load(), bytesText(count.bytes.Load()), count.had.Load(),
	)
	switch n := count.differ.Load(); {
	case err != nil:
		return blobError(cmd.To, err)
	case n > 0:
		return exitf(exitFailed, "%d files differ from their copies: nothing was replaced", n)
	}
	return nil
}

// copyOwner lets the copies belong to the same database, and refuses copies that belong to another.
func (cmd *blobsCopyCmd) copyOwner(ctx context.Context, to, from *blob.Store) error {
	owner, err := from.Owner(ctx)
	if err != nil {
		return blobError(cmd.From, err)
	}
	if owner == "" { // the folder of one data folder has none
		_, err = to.Owner(ctx)
		return blobError(cmd.To, err)
	}
	if err = to.Own(ctx, owner); errors.Is(err, blob.ErrOwned) {
		return exitf(exitRefused, "%s contains the files of another database than %s", cmd.To, cmd.From)
	}
	return blobError(cmd.To, err)
}

// copyCount says what a copy has done so far.
type copyCount struct{ copied, bytes, had, differ atomic.Int64 }

// copyBlobs copies all files, and reports those that differ.
func copyBlobs(
	ctx context.Context, to, from *blob.Store, verify bool, count *copyCount, differs func(error),
) error {
	copies, ctx := errgroup.WithContext(ctx)
	copies.SetLimit(copiesAtOnce)
	for key, err := range from.Keys(ctx) {
		if err != nil {
			return errors.Join(copies.Wait(), err)
		}
		copies.Go(func() error {
			size, err := to.Copy(ctx, from, key, verify)
			switch {
			case errors.Is(err, blob.ErrNotFound): // the server has removed it since
			case errors.Is(err, blob.ErrDiffers):
				count.differ.Add(1)
				differs(err)
			case err != nil:
				return err
			case size < 0:
				count.had.Add(1)
			default:
				count.copied.Add(1)
				count.bytes.Add(size)
			}
			return nil
		})
	}
	return copies.Wait()
}
