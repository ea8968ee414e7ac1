package egress

import (
	"bytes"
	"crypto/tls"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// FuzzCanonical checks that each accepted host has one form that is safe to resolve.
func FuzzCanonical(f *testing.F) {
	for _, a := range attackHosts {
		f.Add(a.host)
	}
	f.Add("B\u00fccher.example.")
	f.Add("[::1]")
	f.Fuzz(func(t *testing.T, host string) {
		got, err := canonical(host)
		if err != nil {
			return
		}
		if again, err := canonical(got); err != nil || again != got {
			t.Errorf("%q became %q, then %q (%v)", host, got, again, err)
		}
		if addr, err := netip.ParseAddr(got); err == nil {
			if addr.Zone() != "" || addr.Is4In6() || addr.String() != got {
				t.Errorf("%q became the address %q", host, got)
			}
			return
		}
		if got != strings.ToLower(got) || strings.HasSuffix(got, ".") || len(got) > maxName {
			t.Errorf("%q became %q", host, got)
		}
		for i := range len(got) {
			if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-_.", rune(got[i])) {
				t.Errorf("%q became %q", host, got)
			}
		}
	})
}

// hello returns the ClientHello of Go's client.
func hello(tb testing.TB, name string) []byte {
	tb.Helper()
	client, server := net.Pipe()
	go func() {
		_ = tls.Client(client, &tls.Config{ServerName: name, InsecureSkipVerify: true}).HandshakeContext(tb.Context())
	}()
	defer server.Close()
	defer client.Close()
	raw, _, err := readHello(server)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

// FuzzHello compares our parser with the one in crypto/tls: a ClientHello that both accept has the
// same name.
func FuzzHello(f *testing.F) {
	f.Add(hello(f, "api.example.test"))
	f.Add(hello(f, ""))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		raw, name, err := readHello(bytes.NewReader(data))
		if !bytes.HasPrefix(data, raw) {
			t.Fatalf("the bytes that it returned are not those that it read")
		}
		if err != nil {
			return
		}
		var got *string
		server := tls.Server(&replay{reader: bytes.NewReader(raw)}, &tls.Config{
			GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
				got = &hello.ServerName
				return nil, net.ErrClosed
			},
		})
		_ = server.HandshakeContext(t.Context())
		// crypto/tls refuses a name with a final dot. Our parser removes the dot.
		if got != nil && *got != name {
			t.Errorf("got the name %q, crypto/tls has %q", name, *got)
		}
	})
}

// replay is a connection that reads a text and discards writes.
type replay struct {
	net.Conn
	reader *bytes.Reader
}

func (r *replay) Read(p []byte) (int, error)  { return r.reader.Read(p) }
func (r *replay) Write(p []byte) (int, error) { return len(p), nil }
func (r *replay) Close() error                { return nil }

func TestHelloInSeveralRecords(t *testing.T) {
	t.Parallel()
	raw := hello(t, "api.example.test")
	var split []byte
	for rest := raw[recordHeaderSize:]; len(rest) > 0; {
		n := min(7, len(rest))
		split = append(append(split, recordHandshake, 3, 1, 0, byte(n)), rest[:n]...)
		rest = rest[n:]
	}
	got, name, err := readHello(bytes.NewReader(split))
	if err != nil || name != "api.example.test" || !bytes.Equal(got, split) {
		t.Errorf("got %q, %v", name, err)
	}
}
