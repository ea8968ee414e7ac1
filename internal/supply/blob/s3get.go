package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// reader reads an object, from wherever it is sought. It asks for the rest again when the
// connection breaks.
type reader struct {
	fetch    func(from int64) (*s3.GetObjectOutput, context.CancelFunc, error)
	fail     func(error) error
	patience time.Duration
	size     int64
	at       int64 // where the caller is
	body     io.ReadCloser
	bodyAt   int64
	cancel   context.CancelFunc
}

// errSilent ends a request that sends nothing for too long.
var errSilent = errors.New("the object store sends nothing")

func (b *bucket) open(ctx context.Context, key string) (io.ReadSeekCloser, int64, error) {
	r := &reader{patience: b.patience, fail: func(err error) error { return failed(ctx, err) }}
	var version *string
	r.fetch = func(from int64) (*s3.GetObjectOutput, context.CancelFunc, error) {
		in := &s3.GetObjectInput{Bucket: b.name, Key: b.object(key), IfMatch: version}
		if from > 0 {
			in.Range = aws.String(fmt.Sprintf("bytes=%d-", from))
		}
		ending, cancel := context.WithCancelCause(ctx)
		late := time.AfterFunc(b.patience, func() { cancel(errSilent) }) // the body may take longer
		defer late.Stop()
		out, err := b.client.GetObject(ending, in)
		if err != nil {
			cancel(nil)
			return nil, nil, err
		}
		return out, func() { cancel(errSilent) }, nil
	}
	out, cancel, err := r.fetch(0)
	if err != nil {
		return nil, 0, failed(ctx, err)
	}
	version = out.ETag
	r.size, r.body, r.cancel = aws.ToInt64(out.ContentLength), out.Body, cancel
	return r, r.size, nil
}

func (r *reader) Read(p []byte) (int, error) {
	const most = 3 // attempts without a byte
	if r.at >= r.size {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	var err error
	for range most {
		var n int
		if n, err = r.readOnce(p); n > 0 {
			return n, nil
		}
		r.drop()
		if err = r.fail(err); !errors.Is(err, ErrUnavailable) {
			break
		}
	}
	if errors.Is(err, ErrExists) { // of If-Match: the object is another one
		err = ErrNotFound
	}
	return 0, fmt.Errorf("read blob: %w", err)
}

// readOnce returns an error if it has read nothing.
func (r *reader) readOnce(p []byte) (int, error) {
	if r.body != nil && r.bodyAt != r.at {
		r.drop()
	}
	if r.body == nil {
		out, cancel, err := r.fetch(r.at)
		if err != nil {
			return 0, err
		}
		r.body, r.bodyAt, r.cancel = out.Body, r.at, cancel
	}
	late := time.AfterFunc(r.patience, r.cancel)
	n, err := r.body.Read(p[:min(int64(len(p)), r.size-r.at)])
	late.Stop()
	r.at += int64(n)
	r.bodyAt = r.at
	if n == 0 && (err == nil || errors.Is(err, io.EOF)) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (r *reader) drop() {
	if r.body == nil {
		return
	}
	r.cancel()
	_ = r.body.Close() // only read
	r.body = nil
}

// Seek implements io.Seeker. It sends no request.
func (r *reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, errors.New("seek in a blob: before its beginning")
	}
	r.at = offset
	return offset, nil
}

// Close ends the request, if one is open.
func (r *reader) Close() error {
	r.drop()
	return nil
}
