package webhook_test

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/webhook"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// BenchmarkDelivery profiles the ingress alone: 64 connections send signed bodies of 2 KB, each
// with a new id, past an automation whose filter does not match. It also reports the CPU time of
// both ends, which other work on the machine changes less. "bare" reads the body, checks HMAC and
// JSON, and stores nothing.
func BenchmarkDelivery(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		server := &http.Server{Handler: http.HandlerFunc(serveBare), ReadHeaderTimeout: time.Minute}
		listener, err := new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		go func() { _ = server.Serve(listener) }()
		defer server.Close()
		sendMany(b, listener.Addr().String(), []string{"/"})
	})
	b.Run("sqlite", func(b *testing.B) {
		benchmarkOn(b, "sqlite://"+filepath.Join(b.TempDir(), "penstock.db"))
	})
	b.Run("postgres", func(b *testing.B) {
		benchmarkOn(b, testkit.Postgres(b))
	})
}

func benchmarkOn(b *testing.B, url string) {
	b.Helper()
	s := open(b, url, b.TempDir(), func(o *webhook.IngressOptions) {
		o.Limits.DeliveriesPerMinute, o.Limits.WebhooksPerFactory = 0, 0
		o.Tracer, o.Log = nil, nil
	})
	f, err := s.Factories.Create(b.Context(), s.admin, factory.FactoryRequest{Name: new(penstock.NewUID())})
	if err != nil {
		b.Fatal(err)
	}
	s.factory = f.UID
	webhooks, automations := 1, 1
	if many := os.Getenv("MANY"); many != "" {
		webhooks, automations = 1000, 20
	}
	var paths []string
	for range webhooks {
		w := s.signed("github", "s3cret-of-sixteen", nil)
		for range automations {
			filter := `{"action": ["closed"], "repository": {"full_name": ["acme/shop"]}}`
			if os.Getenv("MATCH") != "" {
				filter = ""
			}
			s.automation(w, filter, nil)
		}
		paths = append(paths, path(w))
	}
	sendMany(b, s.addr, paths)
}

func serveBare(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	given, _ := hex.DecodeString(strings.TrimPrefix(r.Header.Get("X-Hub-Signature-256"), "sha256="))
	mac := hmac.New(sha256.New, []byte("s3cret-of-sixteen"))
	mac.Write(body)
	if err != nil || !hmac.Equal(given, mac.Sum(nil)) || !json.Valid(body) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"delivery_id":"019c1f90-1a2b-7c3d-8e4f-5a6b7c8d9e0f"}`)
}

// payload is a body of 2 KB as a forge sends it.
func payload() []byte {
	var body bytes.Buffer
	body.WriteString(
		`{"action":"opened","number":4711,"repository":{"id":1296269,"full_name":"acme/shop","private":false},"items":[`,
	)
	for i := 0; body.Len() < 1960; i++ {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"id":%d,"name":"item number %d","price":%d.99,"tags":["a","b"],"ok":true}`, i, i, i*7)
	}
	body.WriteString(`]}`)
	return body.Bytes()
}

// sendMany sends b.N deliveries over 64 connections.
func sendMany(b *testing.B, addr string, paths []string) {
	b.Helper()
	body := payload()
	head := " HTTP/1.1\r\nHost: x\r\nUser-Agent: GitHub-Hookshot/1\r\nContent-Type: application/json\r\nX-GitHub-Event: " +
		"pull_request\r\nX-Hub-Signature-256: " +
		github("s3cret-of-sixteen", body)["X-Hub-Signature-256"] + "\r\nContent-Length: " + strconv.Itoa(len(body)) +
		"\r\nX-GitHub-Delivery: " + strconv.FormatInt(time.Now().UnixNano(), 10) + "-"
	var sent atomic.Int64
	before := processorTime(b)
	b.ResetTimer()
	var together sync.WaitGroup
	for range 64 {
		together.Go(func() {
			conn, err := new(net.Dialer).DialContext(b.Context(), "tcp", addr)
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			in := bufio.NewReader(conn)
			var request []byte
			for n := sent.Add(1); n <= int64(b.N); n = sent.Add(1) {
				request = append(append(append(request[:0], "POST "...), paths[int(n)%len(paths)]...), head...)
				request = append(append(strconv.AppendInt(request, n, 10), "\r\n\r\n"...), body...)
				if _, err := conn.Write(request); err != nil {
					b.Error(err)
					return
				}
				if !accepted(in) {
					b.Error("not accepted")
					return
				}
			}
		})
	}
	together.Wait()
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// accepted reads one response.
func accepted(in *bufio.Reader) bool {
	status, length := "", 0
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return false
		}
		if status == "" {
			status = string(line[9:12])
		}
		if text, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(text)))
		}
		if len(line) == 2 {
			_, err := in.Discard(length)
			return err == nil && status == "202"
		}
	}
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
