package testkit

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// The bucket of an [S3], and who may use it.
const (
	S3Bucket = "files"
	s3Region = "us-east-1"
	s3User   = "AKIDTESTONLY"
	s3Secret = "not-a-secret-of-anybody"
)

// S3 is an object store with one bucket: a versitygw process, which checks signatures and
// conditions. `make .tools/versitygw` builds it.
type S3 struct {
	URL string
	Dir string // each object of the bucket is a file in it
}

// NewS3 starts an object store and ends it with the test. Without the program the test is skipped.
func NewS3(tb testing.TB) *S3 {
	tb.Helper()
	root, err := moduleRoot()
	if err != nil {
		tb.Fatal(err)
	}
	program := filepath.Join(root, ".tools", "versitygw")
	if _, err := os.Stat(program); err != nil {
		if os.Getenv("CI") != "" {
			tb.Fatal(err)
		}
		tb.Skip("no object store: run make .tools/versitygw")
	}
	dir := tb.TempDir()
	address := "127.0.0.1:" + FreePort(tb)
	s := &S3{URL: "http://" + address, Dir: filepath.Join(dir, S3Bucket)}
	log, err := os.Create(filepath.Join(tb.TempDir(), "log"))
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(program, "--port", address, "--region", s3Region, "--keep-alive", "posix", dir)
	cmd.Env = []string{"ROOT_ACCESS_KEY_ID=" + s3User, "ROOT_SECRET_ACCESS_KEY=" + s3Secret}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if text, err := os.ReadFile(log.Name()); tb.Failed() && err == nil {
			tb.Logf("the end of the object store's log:\n%s", text[max(0, len(text)-4<<10):])
		}
		_ = log.Close()
	})
	Eventually(tb, 30*time.Second, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		_, err := s.Client().CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(S3Bucket)})
		return err
	})
	return s
}

// Config returns the credentials and the region, as AWS's tools would find them.
func (s *S3) Config() aws.Config {
	return aws.Config{Region: s3Region, Credentials: aws.CredentialsProviderFunc(
		func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: s3User, SecretAccessKey: s3Secret}, nil
		},
	)}
}

// Env returns the same for another process.
func (s *S3) Env() []string {
	return []string{
		"AWS_ACCESS_KEY_ID=" + s3User, "AWS_SECRET_ACCESS_KEY=" + s3Secret, "AWS_EC2_METADATA_DISABLED=true",
	}
}

// Client is a client of the store itself, with no proxy between.
func (s *S3) Client() *s3.Client {
	return s3.NewFromConfig(s.Config(), func(o *s3.Options) {
		o.BaseEndpoint, o.UsePathStyle, o.RetryMaxAttempts = aws.String(s.URL), true, 1
	})
}

// Location is what --blobs takes: a prefix of the bucket, at the store or a proxy before it.
func (s *S3) Location(endpoint, prefix string) string {
	query := url.Values{"endpoint": {endpoint}, "region": {s3Region}, "path_style": {"true"}}
	return fmt.Sprintf("s3://%s/%s?%s", S3Bucket, prefix, query.Encode())
}
