package blob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
)

// S3Options names a place in an object store that speaks the protocol of AWS S3.
type S3Options struct {
	Config    aws.Config // credentials, region and endpoint, as AWS's own tools find them
	Bucket    string
	Prefix    string        // of all keys, without slashes around it; "" is the whole bucket
	Endpoint  string        // URL; "": the one of Config, or AWS's
	PathStyle bool          // the bucket is in the path of URLs instead of the host
	Spool     string        // folder for parts on their way; "": the system's
	Patience  time.Duration // how long the store may be silent; default 20 s
}

// bucket keeps blobs as objects. An object appears whole or not at all, so nothing else is
// needed against dead writers; what they have sent of a large object is removed by sweep.
type bucket struct {
	client         *s3.Client
	name           *string
	prefix         string // "" or with a slash at its end
	spool          string
	patience       time.Duration
	partSize       int64
	maxKeysPerPage int32
	checksum       types.ChecksumAlgorithm // of uploads in parts; "": none
}

// OpenS3 opens a bucket, which must exist. It sends no request.
func OpenS3(o S3Options) *Store {
	b := &bucket{
		name: aws.String(o.Bucket), prefix: o.Prefix, spool: o.Spool, patience: o.Patience,
		partSize: 8 << 20, maxKeysPerPage: 1000,
	}
	if b.prefix != "" {
		b.prefix += "/"
	}
	b.patience = cmp.Or(b.patience, 20*time.Second)
	if b.spool == "" {
		b.spool = os.TempDir()
	}
	b.client = s3.NewFromConfig(o.Config, func(c *s3.Options) {
		c.UsePathStyle = o.PathStyle
		if o.Endpoint != "" {
			c.BaseEndpoint = aws.String(o.Endpoint)
		}
		// Stores other than AWS's may not know its newer checksums.
		if c.BaseEndpoint != nil && o.Config.RequestChecksumCalculation == 0 {
			c.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		}
		if c.BaseEndpoint != nil && o.Config.ResponseChecksumValidation == 0 {
			c.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		}
		if c.RequestChecksumCalculation != aws.RequestChecksumCalculationWhenRequired {
			b.checksum = types.ChecksumAlgorithmCrc32 // the client's choice for parts
		}
		c.Retryer = retry.AddWithErrorCodes(retry.NewStandard(func(r *retry.StandardOptions) {
			r.MaxAttempts, r.MaxBackoff = 3, time.Second
		}), "ConditionalRequestConflict") // another request for the same key came between
		c.HTTPClient = b.transport(o.Config.HTTPClient)
	})
	return &Store{in: b, link: b.presign}
}

// transport gives up connections on which nothing happens.
func (b *bucket) transport(given aws.HTTPClient) aws.HTTPClient {
	client, ok := given.(*awshttp.BuildableClient)
	if !ok {
		client = awshttp.NewBuildableClient()
	}
	return client.WithDialerOptions(func(d *net.Dialer) {
		d.Timeout = min(b.patience, 3*time.Second)
	}).WithTransportOptions(func(t *http.Transport) {
		t.ResponseHeaderTimeout, t.MaxIdleConnsPerHost = b.patience/2, 64
	})
}

func (b *bucket) object(key string) *string { return aws.String(b.prefix + key) }

// limit bounds a call that carries no content.
func (b *bucket) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, b.patience)
}

func (b *bucket) size(ctx context.Context, key string) (int64, error) {
	head, err := b.head(ctx, key)
	if err != nil {
		return 0, err
	}
	return aws.ToInt64(head.ContentLength), nil
}

func (b *bucket) head(ctx context.Context, key string) (*s3.HeadObjectOutput, error) {
	limited, cancel := b.limit(ctx)
	defer cancel()
	head, err := b.client.HeadObject(limited, &s3.HeadObjectInput{Bucket: b.name, Key: b.object(key)})
	return head, failed(ctx, err)
}

// remove needs no lock: a key gets no second content that could come between its two requests.
func (b *bucket) remove(ctx context.Context, key string, before time.Time) (bool, error) {
	if !before.IsZero() {
		head, err := b.head(ctx, key)
		if errors.Is(err, ErrNotFound) {
			return false, nil
		}
		if err != nil || !aws.ToTime(head.LastModified).Before(before) {
			return false, err
		}
	}
	limited, cancel := b.limit(ctx)
	defer cancel()
	_, err := b.client.DeleteObject(limited, &s3.DeleteObjectInput{Bucket: b.name, Key: b.object(key)})
	if err = failed(ctx, err); errors.Is(err, ErrNotFound) { // another server has removed it
		return false, nil
	}
	return err == nil, err
}

func (b *bucket) list(ctx context.Context, visit func(key string, at time.Time) bool) error {
	in := &s3.ListObjectsV2Input{
		Bucket: b.name, Prefix: aws.String(b.prefix), MaxKeys: aws.Int32(b.maxKeysPerPage),
	}
	for {
		limited, cancel := b.limit(ctx)
		page, err := b.client.ListObjectsV2(limited, in)
		cancel()
		if err != nil {
			return failed(ctx, err)
		}
		for _, o := range page.Contents {
			key := strings.TrimPrefix(aws.ToString(o.Key), b.prefix)
			if CheckKey(key) != nil { // not ours, or not a caller's
				continue
			}
			if !visit(key, aws.ToTime(o.LastModified)) {
				return nil
			}
		}
		if in.ContinuationToken = page.NextContinuationToken; !aws.ToBool(page.IsTruncated) {
			return nil
		}
	}
}

// sweep ends the uploads of dead writers. Until then the store keeps their parts, and asks a price
// for them.
func (b *bucket) sweep(ctx context.Context, before time.Time) error {
	in := &s3.ListMultipartUploadsInput{Bucket: b.name, Prefix: aws.String(b.prefix)}
	for {
		limited, cancel := b.limit(ctx)
		page, err := b.client.ListMultipartUploads(limited, in)
		cancel()
		if err != nil {
			return failed(ctx, err)
		}
		for _, u := range page.Uploads {
			if !strings.HasPrefix(aws.ToString(u.Key), b.prefix) || !aws.ToTime(u.Initiated).Before(before) {
				continue
			}
			if err := b.abort(ctx, u.Key, u.UploadId); err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
		}
		in.KeyMarker, in.UploadIdMarker = page.NextKeyMarker, page.NextUploadIdMarker
		if !aws.ToBool(page.IsTruncated) {
			return nil
		}
	}
}

func (b *bucket) abort(ctx context.Context, object, upload *string) error {
	limited, cancel := b.limit(ctx)
	defer cancel()
	_, err := b.client.AbortMultipartUpload(limited, &s3.AbortMultipartUploadInput{
		Bucket: b.name, Key: object, UploadId: upload,
	})
	return failed(ctx, err)
}

// failed gives the errors of the client their meaning. ctx is the caller's.
func failed(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	code, status := storeError(err)
	switch {
	case code == "NoSuchKey" || code == "NotFound" || code == "NoSuchUpload":
		return ErrNotFound
	case code == "PreconditionFailed" || status == http.StatusPreconditionFailed:
		return ErrExists
	case status == http.StatusInsufficientStorage:
		return fmt.Errorf("%w: %w", ErrFull, err)
	case status == 0 || status >= 500 || status == http.StatusTooManyRequests ||
		status == http.StatusRequestTimeout || status == http.StatusConflict:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// storeError returns the code and status of the store's error, zero if it has sent none.
func storeError(err error) (code string, status int) {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		code = api.ErrorCode()
	}
	if response, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		status = response.HTTPStatusCode()
	}
	return code, status
}
