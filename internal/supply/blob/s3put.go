package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// putName is the metadata of an object by which its writer recognizes it.
const putName = "penstock-put"

func (b *bucket) put(ctx context.Context, key string, r io.Reader) error {
	part, err := b.newSpool()
	if err != nil {
		return err
	}
	defer part.close()
	if err := part.fill(r); err != nil {
		return err
	}
	mark := rand.Text()
	if part.size < b.partSize {
		err = b.putWhole(ctx, key, mark, part)
	} else {
		err = b.putParts(ctx, key, mark, part, r)
	}
	// The client repeats requests. If only the response to one was lost, the next is refused.
	if errors.Is(err, ErrExists) || errors.Is(err, ErrNotFound) {
		head, headErr := b.head(ctx, key)
		if headErr == nil && head.Metadata[putName] == mark {
			return nil
		}
		if errors.Is(err, ErrNotFound) {
			return fmt.Errorf("%w: the upload has disappeared", ErrUnavailable)
		}
	}
	return err
}

// limitPart bounds a call that carries content.
func (b *bucket) limitPart(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 3*b.patience)
}

func (b *bucket) putWhole(ctx context.Context, key, mark string, part *spooled) error {
	limited, cancel := b.limitPart(ctx)
	defer cancel()
	_, err := b.client.PutObject(limited, &s3.PutObjectInput{
		Bucket: b.name, Key: b.object(key), Body: part.content(), ContentLength: aws.Int64(part.size),
		IfNoneMatch: aws.String("*"), Metadata: map[string]string{putName: mark},
	})
	return failed(ctx, err)
}

// putParts sends what part has and the rest of r. The object appears with the last request.
func (b *bucket) putParts(ctx context.Context, key, mark string, part *spooled, r io.Reader) (err error) {
	limited, cancel := b.limit(ctx)
	begun, err := b.client.CreateMultipartUpload(limited, &s3.CreateMultipartUploadInput{
		Bucket: b.name, Key: b.object(key), Metadata: map[string]string{putName: mark},
		ChecksumAlgorithm: b.checksum,
	})
	cancel()
	if err != nil {
		return failed(ctx, err)
	}
	defer func() {
		if err != nil { // sweep tries again
			_ = b.abort(context.WithoutCancel(ctx), b.object(key), begun.UploadId)
		}
	}()
	var sent []types.CompletedPart
	for number := int32(1); part.size > 0; number++ {
		done, err := b.putPart(ctx, key, begun.UploadId, number, part)
		if err != nil {
			return err
		}
		sent = append(sent, done)
		if err := part.fill(r); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	limited, cancel = b.limitPart(ctx)
	defer cancel()
	_, err = b.client.CompleteMultipartUpload(limited, &s3.CompleteMultipartUploadInput{
		Bucket: b.name, Key: b.object(key), UploadId: begun.UploadId, IfNoneMatch: aws.String("*"),
		MultipartUpload: &types.CompletedMultipartUpload{Parts: sent},
	})
	return failed(ctx, err)
}

func (b *bucket) putPart(
	ctx context.Context, key string, upload *string, number int32, part *spooled,
) (done types.CompletedPart, err error) {
	limited, cancel := b.limitPart(ctx)
	defer cancel()
	out, err := b.client.UploadPart(limited, &s3.UploadPartInput{
		Bucket: b.name, Key: b.object(key), UploadId: upload, PartNumber: aws.Int32(number),
		Body: part.content(), ContentLength: aws.Int64(part.size),
	})
	if err != nil {
		return done, failed(ctx, err)
	}
	return types.CompletedPart{
		PartNumber: aws.Int32(number), ETag: out.ETag, ChecksumCRC32: out.ChecksumCRC32,
		ChecksumCRC32C: out.ChecksumCRC32C, ChecksumCRC64NVME: out.ChecksumCRC64NVME,
		ChecksumSHA1: out.ChecksumSHA1, ChecksumSHA256: out.ChecksumSHA256,
	}, nil
}

// spooled is what is sent with one request. The client reads it more than once, to sign it and to
// repeat the request, so it is in a file. The file has no name and ends with the process.
type spooled struct {
	file *os.File
	most int64
	size int64
}

func (b *bucket) newSpool() (*spooled, error) {
	file, err := os.CreateTemp(b.spool, "part-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &spooled{file: file, most: b.partSize}, nil
}

func (p *spooled) close() { _ = p.file.Close() }

// fill replaces the content with the next of r. It is smaller than the most only at the end of r.
func (p *spooled) fill(r io.Reader) error {
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	size, err := io.Copy(p.file, io.LimitReader(r, p.most))
	p.size = size
	return err
}

func (p *spooled) content() io.ReadSeeker { return io.NewSectionReader(p.file, 0, p.size) }
