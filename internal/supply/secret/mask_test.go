package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/penstock-dev/penstock/internal/supply/secret"
)

func TestMaskerReplacesKnownValues(t *testing.T) {
	t.Parallel()
	const key = `pass<word>&"42"\ü/+%`
	const pem = "-----BEGIN KEY-----\nMIIBOgIBAAJBAKj34GkxFhD90vcNLYLInFEX6Ppy1tPf9Cnzj4p4WGeKLs1Pt8Q\n" +
		"uKUpRKfFLfRYC9AIKjbJTWit+CqvjWYzvQwECAwEAAQJAIJLixBy2qpFoS4DSmoEm\n-----END KEY-----\n"
	for name, test := range map[string]struct {
		values []string
		text   string
		want   string
	}{
		"the value itself":               {[]string{"hunter22"}, "the password is hunter22.", "the password is ***."},
		"every occurrence":               {[]string{"hunter22"}, "hunter22hunter22 hunter22", "*** ***"},
		"nothing known":                  {nil, "hunter22", "hunter22"},
		"an empty value":                 {[]string{""}, "hunter22", "hunter22"},
		"a value too short to be secret": {[]string{"abc"}, "abc", "abc"},
		"blanks around the value":        {[]string{" hunter22\n"}, "[hunter22]", "[***]"},
		"a value within another":         {[]string{"hunter22", "my hunter22 key"}, "my hunter22 key, hunter22", "***, ***"},
		"values that overlap":            {[]string{"abcdef", "defghi"}, "-abcdefghi-", "-***-"},
		"a beginning that is not one":    {[]string{"aaab"}, "aaaab aaac", "a*** aaac"},
		"as a JSON string":               {[]string{key}, `{"a":` + jsonString(key) + `}`, `{"a":"***"}`},
		"as a JSON string within another": {
			[]string{key}, jsonString(`{"a":` + jsonString(key) + `}`), `"{\"a\":\"***\"}"`,
		},
		"percent-encoded in a query": {[]string{key}, "https://x/?k=" + url.QueryEscape(key) + "&b", "https://x/?k=***&b"},
		"percent-encoded in lower":   {[]string{"a/b+c=d"}, "a%2fb%2bc%3dd", "***"},
		"percent-encoded in a path":  {[]string{"a b/c d"}, "/a%20b%2Fc%20d/", "/***/"},
		"in hexadecimal":             {[]string{"hunter22"}, hex.EncodeToString([]byte("hunter22")), "***"},
		"in base64":                  {[]string{"hunter"}, base64.StdEncoding.EncodeToString([]byte("hunter")), "***"},
		"a key in PEM line by line": {
			[]string{pem}, "  1 MIIBOgIBAAJBAKj34GkxFhD90vcNLYLInFEX6Ppy1tPf9Cnzj4p4WGeKLs1Pt8Q", "  1 ***",
		},
		"a key in PEM as a JSON text": {[]string{pem}, jsonString(pem), `"***\n"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, secret.NewMasker(test.values...).String(test.text)); diff != "" {
				t.Errorf("masked text (-want +got):\n%s", diff)
			}
		})
	}
}

func jsonString(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// The text around a value shifts its base64 form. Each shift may show at most the two characters at
// each end that depend on the neighbors.
func TestMaskerFindsBase64AnywhereInWhatWasEncoded(t *testing.T) {
	t.Parallel()
	const value = "tok_8Jq2vX7mZk?>~"
	for _, alphabet := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding} {
		for before := range 6 {
			for after := range 4 {
				text := alphabet.EncodeToString([]byte(strings.Repeat("u", before) + value + strings.Repeat("v", after)))
				got := secret.NewMasker(value).String(text)
				kept := len(got) - len(secret.Masked)
				if !strings.Contains(got, secret.Masked) || kept > len(text)-len(value)*8/6+2 {
					t.Errorf("%d before, %d after: %q became %q", before, after, text, got)
				}
			}
		}
	}
	long := strings.Repeat("0123456789abcdef", 8)
	wrapped := base64.StdEncoding.EncodeToString([]byte(long + "\n"))
	wrapped = wrapped[:76] + "\n" + wrapped[76:152] + "\n" + wrapped[152:]
	if got := secret.NewMasker(long).String(wrapped); strings.Count(got, secret.Masked) != 3 || len(got) > 16 {
		t.Errorf("broken into lines: got %q", got)
	}
}

// However a text is cut into pieces, the masked stream equals the masked text, and never shows
// anything that it would have to take back.
func TestStreamEqualsWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.SampledFrom([]rune("ab")), 4, 8, -1)
		values := rapid.SliceOfN(word, 1, 4).Draw(t, "values")
		pieces := rapid.SliceOf(rapid.StringOfN(rapid.SampledFrom([]rune("abc")), 0, 12, -1)).Draw(t, "pieces")
		m := secret.NewMasker(values...)
		text := strings.Join(pieces, "")
		stream, streamed := m.Stream(), ""
		for _, p := range pieces {
			streamed += stream.Write(p)
		}
		streamed += stream.Close()
		whole := m.String(text)
		if streamed != whole {
			t.Fatalf("got %q, want %q", streamed, whole)
		}
		for _, v := range values {
			if strings.Contains(whole, v) {
				t.Fatalf("%q still holds %q", whole, v)
			}
		}
		blanked, err := io.ReadAll(m.Blank(iotest.OneByteReader(strings.NewReader(text))))
		if err != nil || len(blanked) != len(text) {
			t.Fatalf("got %q, %v for a file of %d bytes", blanked, err, len(text))
		}
		for i := range blanked {
			if blanked[i] != '*' && blanked[i] != text[i] {
				t.Fatalf("byte %d of %q became %q", i, text, blanked)
			}
		}
		for _, v := range values {
			if bytes.Contains(blanked, []byte(v)) {
				t.Fatalf("%q still holds %q", blanked, v)
			}
		}
	})
}

func TestMaskingStreamHoldsBackAsLittleAsPossible(t *testing.T) {
	t.Parallel()
	s := secret.NewMasker("hunter22").Stream()
	for _, step := range []struct{ piece, want string }{
		{"the word hun", "the word "},
		{"t is no secret, hunter", "hunt is no secret, "},
		{"22", "***"},
		{"!", "!"},
	} {
		if got := s.Write(step.piece); got != step.want {
			t.Errorf("after %q: got %q, want %q", step.piece, got, step.want)
		}
	}
}

func BenchmarkMasker(b *testing.B) {
	values := make([]string, 20)
	for i := range values {
		values[i] = strings.Repeat(string(rune('a'+i)), 10) + "-0123456789"
	}
	m := secret.NewMasker(values...)
	text := strings.Repeat("an ordinary line of a build's output, base64 aGVsbG8gd29ybGQ= included\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		m.String(text)
	}
}
