package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/penstock-dev/penstock"
)

// fetch writes a file of the execution into the workspace.
func (b *box) fetch(f penstock.File) error {
	file, err := b.download(f)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return fmt.Errorf("%w: %s", errFileGone, f.Path)
	}
	if err != nil {
		return err
	}
	defer discard(file)
	if err := put(b.space.root, f.Path, 0o644, file); err != nil {
		return setupFailed("The worker cannot write the file %s to the workspace: %s", f.Path, err)
	}
	return nil
}

// errFileGone is returned if a file is missing in the control plane, which the user cannot fix.
var errFileGone = errors.New("the control plane has lost a file of the run")

// download copies a file of the control plane to a local file. If the transport fails, it starts
// again from the beginning.
func (b *box) download(f penstock.File) (*os.File, error) {
	file, err := os.CreateTemp(b.space.dir, "download-*")
	if err != nil {
		return nil, err
	}
	timeout, cancel := context.WithTimeout(b.lease, downloadTime)
	defer cancel()
	err = retry(timeout, func(context.Context) error {
		content, err := b.w.Control.Open(timeout, b.Lease, f)
		if err != nil {
			return err
		}
		defer content.Close()
		if err := rewind(file); err != nil {
			return err
		}
		n, err := io.Copy(file, content)
		if err == nil && n != f.Size {
			err = fmt.Errorf("got %d of %d bytes", n, f.Size)
		}
		return err
	})
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		discard(file)
		return nil, fmt.Errorf("fetch the file %s: %w", f.Path, err)
	}
	return file, nil
}

// downloadTime limits the download of one file.
const downloadTime = 5 * time.Minute

func rewind(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.Seek(0, io.SeekStart)
	return err
}

func discard(file *os.File) {
	_ = file.Close()
	_ = os.Remove(file.Name())
}
