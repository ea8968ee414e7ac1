package secret_test

import (
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"

	"github.com/penstock-dev/penstock/internal/supply/secret"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// encrypted is a keyset file that server encrypts.
func encrypted(t *testing.T, server *testkit.KMS) secret.KeysetFile {
	t.Helper()
	return secret.KeysetFile{
		Path: filepath.Join(t.TempDir(), "keyset.json"),
		KMS:  secret.NewKMS(server.Client(), testkit.KMSKey),
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func wantForm(t *testing.T, path, key string) {
	t.Helper()
	if content := readFile(t, path); !strings.Contains(content, `"`+key+`"`) ||
		strings.Contains(content, `"key"`) && key != "key" {
		t.Errorf("the file is %s, want %s in it", content, key)
	}
}

func TestKeysetIsEncryptedByAKMS(t *testing.T) {
	t.Parallel()
	server := testkit.NewKMS(t)
	file := encrypted(t, server)
	if err := file.Check(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a check before there is a file: %v", err)
	}
	k := openFile(t, file)
	wantForm(t, file.Path, "encryptedKeyset")
	if info, err := os.Stat(file.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v; want mode 0600", info.Mode(), err)
	}
	sealed := seal(t, k, "hunter22", "here")
	again := openFile(
		t, secret.KeysetFile{Path: file.Path, KMS: secret.NewKMS(server.Client(), testkit.KMSKeyARN(testkit.KMSKey))},
	)
	server.Calls()
	wantOpen(t, again, sealed, "here", "hunter22")
	wantOpen(t, k, seal(t, again, "x", "there"), "there", "x")
	if calls := server.Calls(); len(calls) > 0 {
		t.Errorf("sealing and opening ask the KMS: %v", calls)
	}

	other := secret.KeysetFile{Path: file.Path, KMS: secret.NewKMS(server.Client(), testkit.KMSOtherKey)}
	if _, err := secret.OpenKeyset(t.Context(), other); !errors.Is(err, secret.ErrKMS) ||
		!strings.Contains(err.Error(), "IncorrectKeyException") {
		t.Errorf("by another key: got %v", err)
	}
	if _, err := secret.OpenKeyset(t.Context(), secret.KeysetFile{Path: file.Path}); !errors.Is(err, secret.ErrEncrypted) {
		t.Errorf("without a key: got %v", err)
	}
	plain := filepath.Join(t.TempDir(), "keyset.json")
	openKeyset(t, plain)
	before := readFile(t, plain)
	if _, err := secret.OpenKeyset(
		t.Context(), secret.KeysetFile{Path: plain, KMS: file.KMS},
	); !errors.Is(err, secret.ErrPlain) {
		t.Errorf("a file in plain text: got %v", err)
	}
	if readFile(t, plain) != before {
		t.Error("opening has changed the file")
	}
}

// Data that the same KMS key encrypted for another purpose is not a keyset.
func TestEncryptedKeysetIsBoundToItsPurpose(t *testing.T) {
	t.Parallel()
	server := testkit.NewKMS(t)
	file := encrypted(t, server)
	openFile(t, file)
	for name, about := range map[string]map[string]string{"another purpose": {"purpose": "x"}, "no purpose": nil} {
		out, err := server.Client().Encrypt(t.Context(), &kms.EncryptInput{
			KeyId: aws.String(testkit.KMSKey), Plaintext: []byte("whatever"), EncryptionContext: about,
		})
		if err != nil {
			t.Fatal(err)
		}
		content := `{"encryptedKeyset":"` + base64.StdEncoding.EncodeToString(out.CiphertextBlob) + `"}`
		if err := os.WriteFile(file.Path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := file.Check(t.Context()); !errors.Is(err, secret.ErrKMS) ||
			!strings.Contains(err.Error(), "InvalidCiphertextException") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestKMSThatFails(t *testing.T) {
	t.Parallel()
	on := func(operation, code string) func(*testkit.KMS) {
		return func(server *testkit.KMS) {
			server.Fail(func(asked string) string {
				if asked == operation {
					return code
				}
				return ""
			})
		}
	}
	for name, tt := range map[string]struct {
		fail func(*testkit.KMS)
		says string
		file bool // there was one before
		wait time.Duration
	}{
		"may not encrypt":              {fail: on("Encrypt", "AccessDeniedException"), says: "AccessDeniedException"},
		"may encrypt, may not decrypt": {fail: on("Decrypt", "AccessDeniedException"), says: "AccessDeniedException"},
		"may not decrypt what was there": {
			fail: on("Decrypt", "AccessDeniedException"), says: "AccessDeniedException", file: true,
		},
		"key that is switched off": {fail: on("Decrypt", "DisabledException"), says: "DisabledException", file: true},
		"throttled for too long": {
			fail: on("Decrypt", "ThrottlingException"), says: "ThrottlingException", file: true,
		},
		"no response": {
			fail: func(server *testkit.KMS) { server.Hold(true) }, says: "deadline exceeded", file: true,
			wait: 200 * time.Millisecond,
		},
		"nobody there":                   {fail: (*testkit.KMS).Close, says: "connection refused", file: true},
		"nobody there at the first time": {fail: (*testkit.KMS).Close, says: "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := testkit.NewKMS(t)
			file := encrypted(t, server)
			if tt.file {
				openFile(t, file)
			}
			tt.fail(server)
			file.KMS.Timeout = tt.wait
			_, err := secret.OpenKeyset(t.Context(), file)
			if !errors.Is(err, secret.ErrKMS) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("opened: got %v, want %q", err, tt.says)
			}
			if err := file.Check(t.Context()); !tt.file && !errors.Is(err, secret.ErrKMS) {
				t.Errorf("checked: got %v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file.Path), "*keyset*")); len(left) > 0 != tt.file {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestKMSIsAskedAgainWhereItThrottles(t *testing.T) {
	t.Parallel()
	server := testkit.NewKMS(t)
	asked := 0
	server.Fail(func(string) string { // of one request at a time
		if asked++; asked == 1 {
			return "ThrottlingException"
		}
		return ""
	})
	openFile(t, encrypted(t, server))
	if calls := server.Calls(); !slices.Equal(calls, []string{"Encrypt", "Encrypt", "Decrypt", "Decrypt"}) {
		t.Errorf("asked %v", calls)
	}
}

// While the KMS of a changed keyset file is unavailable, a server keeps working with its current
// keys, without delays.
func TestKMSIsUnavailableWhileServing(t *testing.T) {
	t.Parallel()
	server := testkit.NewKMS(t)
	file := encrypted(t, server)
	serving := openFile(t, file)
	old := seal(t, serving, "old", "c")
	r := beginFile(t, file)
	defer r.Close()
	fresh := reencrypt(t, r, old)

	server.Fail(func(string) string { return "AccessDeniedException" })
	server.Calls()
	for range 20 {
		wantOpen(t, serving, old, "c", "old")
		if _, err := serving.Open(fresh, "c"); !errors.Is(err, secret.ErrSealed) || !errors.Is(err, secret.ErrKMS) {
			t.Errorf("what the new key sealed: got %v", err)
		}
	}
	if calls := server.Calls(); len(calls) != 1 {
		t.Errorf("the KMS was asked %d times, want once", len(calls))
	}
	server.Fail(nil)
	now := time.Now()
	if err := os.Chtimes(file.Path, now, now); err != nil { // changed again: no need to wait
		t.Fatal(err)
	}
	wantOpen(t, serving, fresh, "c", "old")
}

func TestRotationWithAKMS(t *testing.T) {
	t.Parallel()
	server := testkit.NewKMS(t)
	other := secret.NewKMS(server.Client(), testkit.KMSOtherKey)
	for name, tt := range map[string]struct {
		from, to func(secret.KeysetFile) secret.KeysetFile
		form     string
	}{
		"the same key": {
			from: func(f secret.KeysetFile) secret.KeysetFile { return f },
			to:   func(f secret.KeysetFile) secret.KeysetFile { return f },
			form: "encryptedKeyset",
		},
		"from plain text": {
			from: func(f secret.KeysetFile) secret.KeysetFile { return secret.KeysetFile{Path: f.Path} },
			to:   func(f secret.KeysetFile) secret.KeysetFile { return f },
			form: "encryptedKeyset",
		},
		"to plain text": {
			from: func(f secret.KeysetFile) secret.KeysetFile { return f },
			to:   func(f secret.KeysetFile) secret.KeysetFile { return secret.KeysetFile{Path: f.Path, Before: f.KMS} },
			form: "key",
		},
		"to another key": {
			from: func(f secret.KeysetFile) secret.KeysetFile { return f },
			to: func(f secret.KeysetFile) secret.KeysetFile {
				return secret.KeysetFile{Path: f.Path, KMS: other, Before: f.KMS}
			},
			form: "encryptedKeyset",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := encrypted(t, server)
			from, to := tt.from(file), tt.to(file)
			old := seal(t, openFile(t, from), "v", "c")
			if err := secret.PrepareRotation(t.Context(), to); err != nil {
				t.Fatal(err)
			}
			wantForm(t, file.Path, tt.form)
			r := beginFile(t, to)
			fresh := reencrypt(t, r, old)
			wantOpen(t, openFile(t, to), old, "c", "v")
			r.Close() // killed

			r = beginFile(t, to)
			if !r.Resumed {
				t.Error("a rotation that was broken off is not gone on with")
			}
			if err := r.Finish(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.Close()
			after := openFile(t, to)
			wantOpen(t, after, fresh, "c", "v")
			if _, err := after.Open(old, "c"); !errors.Is(err, secret.ErrSealed) {
				t.Errorf("the old key still opens: %v", err)
			}
			wantForm(t, file.Path, tt.form)
		})
	}
}

// A rotation that began before the keyset moved to a KMS leaves nothing in plain text.
func TestRotationThatContinuesWithAKMS(t *testing.T) {
	t.Parallel()
	for name, goOn := range map[string]func(*testing.T, secret.KeysetFile){
		"prepare": func(t *testing.T, f secret.KeysetFile) {
			t.Helper()
			if err := secret.PrepareRotation(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		},
		"begin": func(t *testing.T, f secret.KeysetFile) {
			t.Helper()
			r := beginFile(t, f)
			defer r.Close()
			if !r.Resumed {
				t.Error("another key was added")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := encrypted(t, testkit.NewKMS(t))
			sealed := seal(t, openKeyset(t, file.Path), "v", "c")
			beginRotation(t, file.Path).Close()
			goOn(t, file)
			wantForm(t, file.Path, "encryptedKeyset")
			wantOpen(t, openFile(t, file), sealed, "c", "v")
		})
	}
}

func TestRotationThatTheKMSRefusesChangesNothing(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]string{"encrypting": "Encrypt", "decrypting": "Decrypt"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := testkit.NewKMS(t)
			file := encrypted(t, server)
			plain := secret.KeysetFile{Path: file.Path}
			openFile(t, plain)
			before := readFile(t, file.Path)
			server.Fail(func(operation string) string {
				if operation == refused {
					return "AccessDeniedException"
				}
				return ""
			})
			if _, err := secret.BeginRotation(t.Context(), file); !errors.Is(err, secret.ErrKMS) {
				t.Errorf("got %v", err)
			}
			if readFile(t, file.Path) != before {
				t.Error("the file was changed")
			}
			beginFile(t, plain).Close() // nothing is left locked
		})
	}
}

func TestFileThatIsNoKeyset(t *testing.T) {
	t.Parallel()
	file := encrypted(t, testkit.NewKMS(t))
	for name, content := range map[string]string{
		"nothing": "", "no JSON": "{", "no keyset": `{"encryptedKeyset":"AAAA","x":1}`,
		"no base64": `{"encryptedKeyset":"?"}`,
	} {
		if err := os.WriteFile(file.Path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := file.Check(t.Context()); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
}
