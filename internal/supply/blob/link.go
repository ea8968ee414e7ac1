package blob

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// ErrNoLinks is returned for blobs in a folder, which have no links.
var ErrNoLinks = errors.New("blobs in a folder have no links")

// Link is what the link of a blob says about it.
type Link struct {
	Disposition string // Content-Disposition of the response
	Type        string // Content-Type of the response
	Life        time.Duration
}

type linker func(ctx context.Context, key string, l Link) (string, error)

// HasLinks reports whether blobs have links of their own.
func (s *Store) HasLinks() bool { return s.link != nil }

// Link returns a URL at which anybody can read the blob of a key until l.Life has passed. It does
// not ask whether the blob exists.
func (s *Store) Link(ctx context.Context, key string, l Link) (string, error) {
	if err := CheckKey(key); err != nil {
		return "", err
	}
	if s.link == nil {
		return "", ErrNoLinks
	}
	url, err := s.link(ctx, key, l)
	if err != nil {
		return "", fmt.Errorf("link to blob %s: %w", key, err)
	}
	return url, nil
}

func (b *bucket) presign(ctx context.Context, key string, l Link) (string, error) {
	signed, err := s3.NewPresignClient(b.client).PresignGetObject(ctx, &s3.GetObjectInput{
		Bucket: b.name, Key: b.object(key),
		ResponseContentDisposition: aws.String(l.Disposition), ResponseContentType: aws.String(l.Type),
	}, s3.WithPresignExpires(l.Life))
	if err != nil {
		return "", failed(ctx, err)
	}
	return signed.URL, nil
}
