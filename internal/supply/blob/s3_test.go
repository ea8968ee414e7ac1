package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// through is a bucket behind a proxy that can fail.
func through(t *testing.T) (*Store, *testkit.S3, *testkit.Proxy) {
	t.Helper()
	at := testkit.NewS3(t)
	proxy := testkit.NewProxy(t, strings.TrimPrefix(at.URL, "http://"))
	return proxied(at.Config(), proxy.URL), at, proxy
}

func proxied(config aws.Config, endpoint string) *Store {
	return OpenS3(S3Options{
		Config: config, Bucket: testkit.S3Bucket, Endpoint: endpoint, PathStyle: true,
	})
}

// content needs several parts, and no two parts are equal.
func content(size int) []byte {
	all := make([]byte, 0, size+8)
	for i := 0; len(all) < size; i++ {
		all = fmt.Appendf(all, "%07x\n", i)
	}
	return all[:size]
}

func uploads(t *testing.T, at *testkit.S3) int {
	t.Helper()
	list, err := at.Client().ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{
		Bucket: aws.String(testkit.S3Bucket),
	})
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Uploads)
}

func keys(t *testing.T, s *Store) (all []string) {
	t.Helper()
	for key, err := range s.Keys(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, key)
	}
	return all
}

func TestLargeObjects(t *testing.T) {
	t.Parallel()
	s, at, _ := through(t)
	const part = 8 << 20
	for _, size := range []int{part - 1, part, part + 1, 2 * part} {
		want := content(size)
		got, sum, err := s.Put(t.Context(), fmt.Sprint(size), bytes.NewReader(want), int64(size))
		if hash := fmt.Sprintf("%x", sha256.Sum256(want)); err != nil || got != int64(size) || sum != hash {
			t.Errorf("put %d bytes: got %d, %s, %v, want %s", size, got, sum, err, hash)
		}
		if text, err := get(s, fmt.Sprint(size)); err != nil || text != string(want) {
			t.Errorf("got %d bytes, %v, want %d", len(text), err, size)
		}
	}
	// A refused upload leaves nothing that the store would keep.
	for _, r := range []io.Reader{
		zeros{}, io.MultiReader(bytes.NewReader(content(part+1)), errReader{}),
	} {
		if _, _, err := s.Put(t.Context(), "bad", r, 2*part); err == nil {
			t.Error("got no error")
		}
	}
	if _, _, err := s.Put(t.Context(), fmt.Sprint(part), bytes.NewReader(content(part)), -1); !errors.Is(err, ErrExists) {
		t.Errorf("got %v, want %v", err, ErrExists)
	}
	if _, err := get(s, "bad"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want %v", err, ErrNotFound)
	}
	if n := uploads(t, at); n != 0 {
		t.Errorf("%d uploads are left", n)
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestOneOfManyWritersWins(t *testing.T) {
	t.Parallel()
	s, _, _ := through(t)
	for name, size := range map[string]int{"small": 10, "large": 8<<20 + 10} {
		var all sync.WaitGroup
		won := make(chan byte, 8)
		for i := range byte(8) {
			all.Go(func() {
				_, _, err := s.Put(t.Context(), name, bytes.NewReader(bytes.Repeat([]byte{i}, size)), -1)
				if err == nil {
					won <- i
				} else if !errors.Is(err, ErrExists) && !errors.Is(err, ErrUnavailable) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if len(won) != 1 {
			t.Fatalf("%d writers won", len(won))
		}
		if got, err := get(s, name); err != nil || got != string(bytes.Repeat([]byte{<-won}, size)) {
			t.Errorf("got another content, %v", err)
		}
	}
}

// If a store is absent, returns 503 or hangs, nothing is lost and each call returns an error.
func TestStoreThatDoesNotWork(t *testing.T) {
	t.Parallel()
	works, at, proxy := through(t)
	put(t, works, "kept", "content")
	s := OpenS3(S3Options{
		Config: at.Config(), Bucket: testkit.S3Bucket, Endpoint: proxy.URL, PathStyle: true, Patience: 200 * time.Millisecond,
	})
	const busy = "HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
	for name, fail := range map[string]func(){
		"absent": proxy.Refuse, "busy": func() { proxy.Respond(busy) }, "silent": func() { proxy.Hold(0) },
	} {
		fail()
		ctx := t.Context()
		_, _, putErr := s.Put(ctx, "new", strings.NewReader("x"), -1)
		_, _, largeErr := s.Put(ctx, "new", bytes.NewReader(content(9<<20)), -1)
		_, _, openErr := s.Open(ctx, "kept")
		_, sizeErr := s.Size(ctx, "kept")
		_, olderErr := s.DeleteOlder(ctx, "kept", time.Now().Add(time.Hour))
		for step, err := range map[string]error{
			"put": putErr, "put a large one": largeErr, "open": openErr, "size": sizeErr, "delete": s.Delete(ctx, "kept"),
			"delete older": olderErr, "own": s.Own(ctx, "me"), "sweep": s.Sweep(ctx, time.Now()),
		} {
			if !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrNotFound) {
				t.Errorf("%s, %s: got %v, want %v", name, step, err, ErrUnavailable)
			}
		}
		for _, err := range s.Keys(ctx) {
			if !errors.Is(err, ErrUnavailable) {
				t.Errorf("%s, list: got %v", name, err)
			}
		}
		proxy.Pass()
		if got, err := get(works, "kept"); err != nil || got != "content" {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
		if _, err := get(works, "new"); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: got %v, want %v", name, err, ErrNotFound)
		}
	}
}

// If the response to a write is lost, the repeated request finds our own object.
func TestLostResponses(t *testing.T) {
	t.Parallel()
	s, _, proxy := through(t)
	proxy.LoseResponses(1)
	put(t, s, "small", "content")
	if got, err := get(s, "small"); err != nil || got != "content" {
		t.Errorf("got %q, %v", got, err)
	}
	want := content(8<<20 + 1)
	r, w := io.Pipe()
	go func() {
		_, _ = w.Write(want)   // everything but the end has been sent when Write returns
		proxy.LoseResponses(1) // to the last part
		_ = w.Close()
	}()
	if _, _, err := s.Put(t.Context(), "large", r, -1); err != nil {
		t.Error(err)
	}
	if got, err := get(s, "large"); err != nil || got != string(want) {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, len(want))
	}
	proxy.LoseResponses(1)
	if _, _, err := s.Put(t.Context(), "small", strings.NewReader("content"), -1); !errors.Is(err, ErrExists) {
		t.Errorf("somebody else's object: got %v, want %v", err, ErrExists)
	}
}

func TestBrokenConnectionsOfReaders(t *testing.T) {
	t.Parallel()
	s, _, proxy := through(t)
	want := string(content(20 << 20))
	if _, _, err := s.Put(t.Context(), "key", strings.NewReader(want), -1); err != nil {
		t.Fatal(err)
	}
	r, size, err := s.Open(t.Context(), "key")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got bytes.Buffer
	for range 4 {
		if _, err := io.CopyN(&got, r, size/5); err != nil {
			t.Fatal(err)
		}
		proxy.Pass() // ends the connections that are open
	}
	if _, err := io.Copy(&got, r); err != nil || got.String() != want {
		t.Errorf("got %d bytes, %v, want %d", got.Len(), err, size)
	}
	if end, err := r.Seek(-8, io.SeekEnd); err != nil || end != size-8 {
		t.Errorf("got %d, %v", end, err)
	}
	if tail, err := io.ReadAll(r); err != nil || string(tail) != want[size-8:] {
		t.Errorf("got %q, %v, want %q", tail, err, want[size-8:])
	}
	if _, err := r.Seek(1, io.SeekStart); err != nil {
		t.Error(err)
	}
	proxy.Refuse()
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v, want %v", err, ErrUnavailable)
	}
	proxy.Pass()
	if err := s.Delete(t.Context(), "key"); err != nil {
		t.Error(err)
	}
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want %v", err, ErrNotFound)
	}
}

// uploadUntilKilled puts an endless object.
func uploadUntilKilled() int {
	s := proxied((&testkit.S3{}).Config(), os.Getenv("BLOB_TEST_ENDPOINT"))
	_, _, err := s.Put(context.Background(), "half", zeros{}, -1)
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func TestKilledUploader(t *testing.T) {
	t.Parallel()
	s, at, proxy := through(t)
	proxy.Hold(20 << 20)
	cmd := part(t, "uploader", t.TempDir())
	cmd.Env = append(cmd.Env, "BLOB_TEST_ENDPOINT="+proxy.URL)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, time.Minute, func() error {
		if n := proxy.Passed(); n < 20<<20 {
			return fmt.Errorf("%d bytes are sent", n)
		}
		return nil
	})
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	proxy.Pass()

	if _, err := get(s, "half"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want %v", err, ErrNotFound)
	}
	if got := keys(t, s); len(got) != 0 {
		t.Errorf("got the keys %v, want none", got)
	}
	put(t, s, "half", "whole")
	if err := s.Sweep(t.Context(), time.Now().Add(-time.Hour)); err != nil || uploads(t, at) != 1 {
		t.Errorf("%d uploads are left, %v, want the one that may go on", uploads(t, at), err)
	}
	if err := s.Sweep(t.Context(), time.Now().Add(time.Hour)); err != nil || uploads(t, at) != 0 {
		t.Errorf("%d uploads are left, %v, want none", uploads(t, at), err)
	}
	if got, err := get(s, "half"); err != nil || got != "whole" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestWrongCredentials(t *testing.T) {
	t.Parallel()
	s, at, proxy := through(t)
	put(t, s, "key", "content")
	config := at.Config()
	config.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "AKIDTESTONLY", SecretAccessKey: "another"}, nil
	})
	stranger := proxied(config, proxy.URL)
	for _, err := range []error{
		stranger.Own(t.Context(), "me"), stranger.Delete(t.Context(), "key"),
	} {
		if err == nil || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrNotFound) ||
			!strings.Contains(err.Error(), "SignatureDoesNotMatch") {
			t.Errorf("got %v", err)
		}
	}
	link, err := stranger.Link(t.Context(), "key", Link{Life: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if status, _, _ := fetch(t, link); status != http.StatusForbidden {
		t.Errorf("got %d", status)
	}
	if got, err := get(s, "key"); err != nil || got != "content" {
		t.Errorf("got %q, %v", got, err)
	}
}

func fetch(t *testing.T, link string) (status int, header http.Header, body string) {
	t.Helper()
	got := testkit.Request(t, http.MethodGet, link, nil, "")
	return got.Status, got.Header, string(got.Body)
}

func TestLinks(t *testing.T) {
	t.Parallel()
	if s := open(t, t.TempDir()); s.HasLinks() {
		t.Error("a folder has links")
	}
	s, _, _ := through(t)
	put(t, s, "a/key", "content")
	put(t, s, "a/secret", "other")
	link, err := s.Link(t.Context(), "a/key", Link{
		Disposition: `attachment; filename="a b.txt"`, Type: "text/plain; charset=utf-8", Life: 5 * time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	status, header, body := fetch(t, link)
	if status != http.StatusOK || body != "content" || header.Get("Content-Type") != "text/plain; charset=utf-8" ||
		header.Get("Content-Disposition") != `attachment; filename="a b.txt"` {
		t.Errorf("got %d, %v, %q", status, header, body)
	}
	for what, changed := range map[string]string{
		"another key":       strings.Replace(link, "a/key", "a/secret", 1),
		"another signature": strings.Replace(link, "X-Amz-Signature=", "X-Amz-Signature=0", 1),
		"another name":      strings.Replace(link, "attachment", "inline", 1),
		"a longer life":     strings.Replace(link, "X-Amz-Expires=300", "X-Amz-Expires=3000", 1),
		"no signature":      link[:strings.IndexByte(link, '?')],
	} {
		if status, _, body := fetch(t, changed); changed == link || status != http.StatusForbidden {
			t.Errorf("%s: got %d, %q", what, status, body)
		}
	}
}

// Only AWS gets AWS's newer checksums, unless the environment asks for them.
func TestChecksumsOfRequests(t *testing.T) {
	t.Parallel()
	at := testkit.NewS3(t)
	for name, test := range map[string]struct {
		when aws.RequestChecksumCalculation
		want bool
	}{
		"by default": {0, false}, "when supported": {aws.RequestChecksumCalculationWhenSupported, true},
	} {
		config, sent := at.Config(), recordRequests(t, at.URL)
		config.RequestChecksumCalculation = test.when
		s := proxied(config, sent.url)
		for i, size := range []int{10, 9 << 20} {
			key := fmt.Sprint(strings.ReplaceAll(name, " ", "-"), i)
			if _, _, err := s.Put(t.Context(), key, bytes.NewReader(content(size)), -1); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if got, err := get(s, key); err != nil || got != string(content(size)) {
				t.Errorf("%s: got %d bytes, %v", name, len(got), err)
			}
		}
		if got := sent.checksums(); (got != "") != test.want {
			t.Errorf("%s: got the checksum headers %q", name, got)
		}
		if !sent.conditional() {
			t.Errorf("%s: a write has no If-None-Match", name)
		}
	}
}

// recorded keeps the requests that it forwards.
type recorded struct {
	url  string
	mu   sync.Mutex
	sent []*http.Request
}

func recordRequests(t *testing.T, origin string) *recorded {
	t.Helper()
	target, err := url.Parse(origin)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorded{}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(target)
		p.Out.Host = p.In.Host // it is signed
		r.mu.Lock()
		defer r.mu.Unlock()
		r.sent = append(r.sent, p.In)
	}})
	t.Cleanup(proxy.Close)
	r.url = proxy.URL
	return r
}

func (r *recorded) checksums() (names string) {
	for _, req := range r.sent {
		for name := range req.Header {
			if strings.HasPrefix(name, "X-Amz-Checksum-") || strings.HasPrefix(name, "X-Amz-Sdk-Checksum-") {
				names += " " + name
			}
		}
	}
	return names
}

// conditional reports whether each request that creates an object has the condition.
func (r *recorded) conditional() bool {
	for _, req := range r.sent {
		query := req.URL.Query()
		whole := req.Method == http.MethodPut && !query.Has("partNumber")
		last := req.Method == http.MethodPost && query.Has("uploadId")
		if (whole || last) && req.Header.Get("If-None-Match") != "*" {
			return false
		}
	}
	return len(r.sent) > 0
}
