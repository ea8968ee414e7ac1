package webhook_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/signature"
	"github.com/penstock-dev/penstock/internal/control/webhook"
)

// signed is a valid request with the data that mutations need.
type signed struct {
	webhook.Request

	verifier *webhook.Verifier
	secrets  []string
	form     signature.Form // the one that is valid
}

// header is the canonical name of the signature's header.
func (s *signed) header() string {
	if s.form.Numbered {
		return http.CanonicalHeaderKey(s.form.Header + "1")
	}
	return http.CanonicalHeaderKey(s.form.Header)
}

// signature returns the text of the last signature in the header.
func (s *signed) signature() string {
	value := s.Header.Get(s.header())
	if s.form.Prefix != "" {
		value = value[strings.LastIndex(value, s.form.Prefix)+len(s.form.Prefix):]
	}
	text, _, _ := strings.Cut(value, separator(s.form))
	return text
}

// separator ends a signature in its header. Without one, nothing does.
func separator(f signature.Form) string {
	if f.Separator == "" {
		return "\n"
	}
	return f.Separator
}

// replace replaces the signature with another text.
func (s *signed) replace(with string) {
	s.Header.Set(s.header(), strings.ReplaceAll(s.Header.Get(s.header()), s.signature(), with))
}

func (s *signed) verify() (webhook.Proof, *webhook.Failure) {
	return s.verifier.Verify(s.Request, s.secrets)
}

// prepared returns v with its headers in one form. It must be valid.
func prepared(t *testing.T, v vector) *signed {
	t.Helper()
	forms, err := signature.Forms(penstock.SignatureScheme(v.Scheme), v.Signature)
	if err != nil {
		t.Fatal(err)
	}
	s := &signed{Request: v.request(), verifier: v.verifier(t), secrets: []string{v.Secret}}
	for _, form := range forms {
		s.form = form
		if value := s.Header.Get(s.header()); strings.Contains(value, form.Prefix) && value != "" {
			if _, err := form.Key(v.Secret); err == nil {
				break
			}
		}
	}
	if _, failure := s.verify(); failure != nil {
		t.Fatalf("before any mutation: %v", failure)
	}
	return s
}

// setTime sets another timestamp, if the scheme has it outside of the body.
func (s *signed) setTime(text string) bool {
	switch {
	case s.form.TimestampHeader != "":
		s.Header.Set(s.form.TimestampHeader, text)
	case s.form.TimestampField != "":
		value := s.Header.Get(s.header())
		_, rest, _ := strings.Cut(value, separator(s.form))
		s.Header.Set(s.header(), s.form.TimestampField+"="+text+s.form.Separator+rest)
	default:
		return false
	}
	return true
}

// many returns the signature header with n signatures of which the last is valid.
func (s *signed) many(n int) bool {
	switch {
	case s.form.Numbered:
		valid := s.signature()
		for i := 1; i <= n; i++ {
			s.Header.Set(s.form.Header+strconv.Itoa(i), strings.Repeat("A", 43)+"=")
		}
		s.Header.Set(s.form.Header+strconv.Itoa(n), valid)
	case s.form.Separator != "":
		value, text := s.Header.Get(s.header()), s.form.Prefix+s.signature()
		others := strings.Repeat(s.form.Prefix+strings.Repeat("0", 64)+s.form.Separator, n-1)
		s.Header.Set(s.header(), strings.Replace(value, text, others+text, 1))
	default:
		return false
	}
	return true
}

// mutations change a valid request. Each lists the possible reasons, or none if the request stays
// valid. It returns false if it changes nothing for the scheme.
var mutations = []struct {
	name   string
	change func(s *signed) bool
	want   []webhook.Reason
}{
	{"nothing at all", func(*signed) bool { return true }, nil},
	{"a byte added to the body", func(s *signed) bool {
		s.Body = append(bytes.Clone(s.Body), ' ')
		return s.form.Algorithm != signature.AlgorithmToken
	}, []webhook.Reason{webhook.Mismatch}},
	{"a bit of the body changed", func(s *signed) bool {
		s.Body = bytes.Clone(s.Body)
		s.Body[len(s.Body)/2] ^= 1
		return s.form.Algorithm != signature.AlgorithmToken
	}, []webhook.Reason{webhook.Mismatch}},
	{"an empty body", func(s *signed) bool {
		s.Body = nil
		return s.form.Algorithm != signature.AlgorithmToken
	}, []webhook.Reason{webhook.Mismatch}},
	{
		"no signature header", func(s *signed) bool { s.Header.Del(s.header()); return true },
		[]webhook.Reason{webhook.MissingHeader},
	},
	{
		"an empty signature header", func(s *signed) bool { s.Header.Set(s.header(), ""); return true },
		[]webhook.Reason{webhook.MissingHeader},
	},
	{"the signature header twice", func(s *signed) bool {
		s.Header.Add(s.header(), s.Header.Get(s.header()))
		return true
	}, []webhook.Reason{webhook.BadFormat}},
	{"the signature header twice, the first one empty", func(s *signed) bool {
		s.Header[s.header()] = []string{"", s.Header.Get(s.header())}
		return true
	}, []webhook.Reason{webhook.BadFormat}},
	{"a signature header of over 8 KB", func(s *signed) bool {
		s.Header.Set(s.header(), s.Header.Get(s.header())+separator(s.form)+strings.Repeat("x", 8<<10))
		return true
	}, []webhook.Reason{webhook.BadFormat}},
	{"another prefix", func(s *signed) bool {
		s.Header.Set(s.header(), strings.ReplaceAll(s.Header.Get(s.header()), s.form.Prefix, "v9="))
		return s.form.Prefix != ""
	}, []webhook.Reason{webhook.BadFormat}},
	{"20 signatures, the last one valid", func(s *signed) bool { return s.many(20) }, nil},
	{"a wrong signature behind the valid one", func(s *signed) bool {
		valid := s.form.Prefix + s.signature()
		wrong := strings.NewReplacer("0", "1", "1", "2", "A", "B").Replace(valid[len(s.form.Prefix):])
		s.Header.Set(
			s.header(), strings.Replace(s.Header.Get(s.header()), valid, valid+s.form.Separator+s.form.Prefix+wrong, 1),
		)
		return s.form.Separator != ""
	}, nil},
	{"21 signatures", func(s *signed) bool { return s.many(21) }, []webhook.Reason{webhook.BadFormat}},
	{"a version that is not known before", func(s *signed) bool {
		s.Header.Set(s.header(), "v7=abc"+s.form.Separator+s.Header.Get(s.header()))
		return s.form.Separator != ""
	}, nil},
	{"the signature without its last character", func(s *signed) bool {
		s.replace(s.signature()[:len(s.signature())-1])
		return true
	}, []webhook.Reason{webhook.Mismatch}},
	{"the signature cut in half", func(s *signed) bool {
		s.replace(s.signature()[:len(s.signature())/4*2])
		return true
	}, []webhook.Reason{webhook.Mismatch}},
	{
		"a digit behind the signature", func(s *signed) bool { s.replace(s.signature() + "0"); return true },
		[]webhook.Reason{webhook.Mismatch},
	},
	{
		"hex in capitals",
		func(s *signed) bool { s.replace(strings.ToUpper(s.signature())); return s.form.Encoding == "hex" }, nil,
	},
	{"base64 instead of hex", func(s *signed) bool {
		raw, _ := hex.DecodeString(s.signature())
		s.replace(base64.StdEncoding.EncodeToString(raw))
		return s.form.Encoding == "hex"
	}, []webhook.Reason{webhook.Mismatch}},
	{"hex instead of base64", func(s *signed) bool {
		raw, _ := base64.StdEncoding.DecodeString(s.signature())
		s.replace(hex.EncodeToString(raw))
		return s.form.Encoding == "base64"
	}, []webhook.Reason{webhook.Mismatch}},
	{"base64 without padding", func(s *signed) bool {
		s.replace(strings.TrimRight(s.signature(), "="))
		return s.form.Encoding == "base64"
	}, []webhook.Reason{webhook.Mismatch}},
	{"base64 of the URL alphabet", func(s *signed) bool {
		url := strings.NewReplacer("+", "-", "/", "_").Replace(s.signature())
		changed := url != s.signature()
		s.replace(url)
		return s.form.Encoding == "base64" && changed
	}, []webhook.Reason{webhook.Mismatch}},
	{"base64 with bits left over", func(s *signed) bool {
		text := s.signature()
		if s.form.Encoding != "base64" || !strings.HasSuffix(text, "=") || strings.HasSuffix(text, "==") {
			return false
		}
		at := len(text) - 2 // its lowest bits are not part of the signature
		alphabet := "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
		s.replace(text[:at] + string(alphabet[strings.IndexByte(alphabet, text[at])|1]) + "=")
		return true
	}, []webhook.Reason{webhook.Mismatch}},
	{
		"another secret", func(s *signed) bool { s.secrets = []string{otherSecret(s.form)}; return true },
		[]webhook.Reason{webhook.Mismatch},
	},
	{"the right secret behind another", func(s *signed) bool {
		s.secrets = []string{otherSecret(s.form), s.secrets[0]}
		return true
	}, nil},
	{"no secret", func(s *signed) bool { s.secrets = nil; return true }, []webhook.Reason{webhook.NoSecret}},
	{
		"an empty secret", func(s *signed) bool { s.secrets = []string{""}; return true }, []webhook.Reason{webhook.NoSecret},
	},
	{"a secret that is no key", func(s *signed) bool {
		s.secrets = []string{"%%%"}
		return s.form.KeyForm != signature.KeyText
	}, []webhook.Reason{webhook.NoSecret}},
	{
		"at the edge of the tolerance, late",
		func(s *signed) bool { s.Now = s.Now.Add(max(s.form.Tolerance, s.form.MaxAge) - drift(s)); return true }, nil,
	},
	{"a second later", func(s *signed) bool {
		s.Now = s.Now.Add(max(s.form.Tolerance, s.form.MaxAge) - drift(s) + time.Second)
		return s.form.SignsTime()
	}, []webhook.Reason{webhook.Stale}},
	{
		"at the edge of the tolerance, early",
		func(s *signed) bool { s.Now = s.Now.Add(-s.form.Tolerance - drift(s)); return true }, nil,
	},
	{"a second earlier", func(s *signed) bool {
		s.Now = s.Now.Add(-s.form.Tolerance - drift(s) - time.Second)
		return s.form.SignsTime()
	}, []webhook.Reason{webhook.Future}},
	{"no timestamp header", func(s *signed) bool {
		s.Header.Del(s.form.TimestampHeader)
		return s.form.TimestampHeader != ""
	}, []webhook.Reason{webhook.MissingHeader}},
	{"the timestamp header twice", func(s *signed) bool {
		s.Header.Add(s.form.TimestampHeader, s.Header.Get(s.form.TimestampHeader))
		return s.form.TimestampHeader != ""
	}, []webhook.Reason{webhook.BadFormat}},
	{"a second timestamp in the header", func(s *signed) bool {
		s.Header.Set(s.header(), s.Header.Get(s.header())+s.form.Separator+s.form.TimestampField+"=1")
		return s.form.TimestampField != ""
	}, []webhook.Reason{webhook.BadFormat}},
	{"a timestamp a second away", func(s *signed) bool {
		text := strconv.FormatInt(s.Now.Unix()+1, 10)
		switch s.form.TimestampUnit {
		case signature.UnitMilliseconds:
			text += "000"
		case signature.UnitRFC3339:
			text = s.Now.UTC().Add(time.Second).Format(time.RFC3339)
		}
		return s.setTime(text)
	}, []webhook.Reason{webhook.Mismatch}},
	{
		"a timestamp with a sign", func(s *signed) bool { return s.setTime("+" + strconv.FormatInt(s.Now.Unix(), 10)) },
		[]webhook.Reason{webhook.BadFormat},
	},
	{"a negative timestamp", func(s *signed) bool { return s.setTime("-1") }, []webhook.Reason{webhook.BadFormat}},
	{
		"a timestamp with a leading zero",
		func(s *signed) bool { return s.setTime("0" + strconv.FormatInt(s.Now.Unix(), 10)) },
		[]webhook.Reason{webhook.BadFormat},
	},
	{
		"a timestamp of 14 digits", func(s *signed) bool { return s.setTime(strconv.FormatInt(s.Now.Unix(), 10) + "0000") },
		[]webhook.Reason{webhook.BadFormat},
	},
	{"a timestamp in hex", func(s *signed) bool { return s.setTime("0x6553f100") }, []webhook.Reason{webhook.BadFormat}},
	{
		"a timestamp with a fraction", func(s *signed) bool { return s.setTime(strconv.FormatInt(s.Now.Unix(), 10) + ".0") },
		[]webhook.Reason{webhook.BadFormat},
	},
	{
		"an empty timestamp", func(s *signed) bool { return s.setTime("") },
		[]webhook.Reason{webhook.MissingHeader, webhook.BadFormat},
	},
	{"another method", func(s *signed) bool {
		s.Method = http.MethodPut
		return strings.Contains(s.form.Template, "{method}")
	}, []webhook.Reason{webhook.Mismatch}},
	{"another URL", func(s *signed) bool {
		s.URL += "x"
		return strings.Contains(s.form.Template, "{url}") || strings.Contains(s.form.Template, "{path}")
	}, []webhook.Reason{webhook.Mismatch}},
	{"another Host header", func(s *signed) bool { s.Header.Set("Host", "elsewhere.example"); return true }, nil},
}

// drift is the time from the vector's timestamp to its clock.
func drift(s *signed) time.Duration {
	text := s.Header.Get(s.form.TimestampHeader)
	if s.form.TimestampField != "" {
		_, rest, _ := strings.Cut(s.Header.Get(s.header()), s.form.TimestampField+"=")
		text, _, _ = strings.Cut(rest, s.form.Separator)
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return s.Now.Sub(t)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return 0
	case len(text) > 11:
		return s.Now.Sub(time.UnixMilli(n))
	}
	return s.Now.Sub(time.Unix(n, 0))
}

func otherSecret(f signature.Form) string {
	return map[string]string{
		signature.KeyText:    "another",
		signature.KeyBase64:  "YW5vdGhlcg==",
		signature.KeyHex:     "616e6f74686572",
		signature.KeyWhsec:   "whsec_YW5vdGhlcg==",
		signature.KeyWhpk:    "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
		signature.KeyEd25519: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
	}[f.KeyForm]
}

func TestMutations(t *testing.T) {
	t.Parallel()
	tried := map[string]int{}
	for _, v := range positives(t) {
		for _, mutation := range mutations {
			s := prepared(t, v)
			if !mutation.change(s) {
				continue
			}
			tried[mutation.name]++
			proof, failure := s.verify()
			switch {
			case len(mutation.want) == 0 && failure != nil:
				t.Errorf("%s (%s), %s: got %v, want it to stay valid", v.Scheme, v.Name, mutation.name, failure)
			case len(mutation.want) == 0 && s.secrets[proof.Secret] != v.Secret:
				t.Errorf("%s (%s), %s: got secret %d as the one that fits", v.Scheme, v.Name, mutation.name, proof.Secret)
			case len(mutation.want) > 0 && (failure == nil || !slices.Contains(mutation.want, failure.Reason)):
				t.Errorf("%s (%s), %s: got %v, want %v", v.Scheme, v.Name, mutation.name, failure, mutation.want)
			}
		}
	}
	for _, mutation := range mutations {
		if tried[mutation.name] == 0 {
			t.Errorf("no vector was fit for %q", mutation.name)
		}
	}
}
