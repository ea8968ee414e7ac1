package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

const theKMSKey = "awskms://" + testkit.KMSKey

func wantInFile(t *testing.T, path, text string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(content), text) {
		t.Errorf("%s is %s, %v; want %s in it", path, content, err, text)
	}
}

func TestKeysetInAKMS(t *testing.T) {
	t.Parallel()
	kms := testkit.NewKMS(t)
	data := filepath.Join(t.TempDir(), "data")
	call(
		t, kms.Env(), "doctor", "--data", data, "--listen", "127.0.0.1:0", "--keyset-kms", theKMSKey,
	).want(t, 0, "serve creates it")
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--keyset-kms", theKMSKey}, Env: kms.Env()})
	keyset := filepath.Join(s.Data, "keyset.json")
	wantInFile(t, keyset, `"encryptedKeyset"`)
	env := client(s)
	callWith(t, "hunter22", env, "secret", "create", "A", "--value-file", "-").want(t, 0)
	s.Restart()
	use := func() {
		t.Helper()
		const look = `demo: run echo "${#A}; $(env | grep ^AWS | grep -vc ^AWS_CA_BUNDLE=)"`
		id := startRun(t, env, look, "--secret", "A", "--wait")
		call(t, env, "run", "logs", id).want(t, 0, "8; 0")
	}
	use()

	where := append(kms.Env(), "PENSTOCK_DATA="+s.Data, "PENSTOCK_KEYSET_KMS="+theKMSKey)
	before, err := os.ReadFile(keyset)
	if err != nil {
		t.Fatal(err)
	}
	call(t, where, "secret", "rotate-key", "--settle", "1s").want(t, 0, "removed the old key")
	wantInFile(t, keyset, `"encryptedKeyset"`)
	if after, err := os.ReadFile(keyset); err != nil || string(after) == string(before) {
		t.Errorf("the keyset is the old one, %v", err)
	}
	use()
	call(t, where, "doctor").want(t, 0, "encrypted with the AWS KMS key alias/penstock")

	copied := filepath.Join(t.TempDir(), "b.tar")
	call(t, where, "backup", "--to", copied).want(t, 0)
	call(t, nil, "restore", "--data", data, "--from", copied).want(t, 0)
	call(
		t, kms.Env(), "doctor", "--data", data, "--keyset-kms", theKMSKey, "--listen", "127.0.0.1:0",
	).want(t, 0, "encrypted with the AWS KMS key")
	call(t, kms.Env(), "doctor", "--data", data, "--listen", "127.0.0.1:0").want(t, 1, "set --keyset-kms")

	kms.Close() // who serves has the keys
	callWith(t, "hunter23!", env, "secret", "set", "A", "--value-file", "-").want(t, 0)
	id := startRun(t, env, `demo: run echo "${#A}"`, "--secret", "A", "--wait")
	call(t, env, "run", "logs", id).want(t, 0, "9")
	if strings.Contains(s.Logs(), "level=ERROR") {
		t.Errorf("the server complains: %s", s.Logs())
	}
}

// A plain-text keyset moves to a KMS, then to another KMS key, and back.
func TestKeysetMovesToAKMS(t *testing.T) {
	t.Parallel()
	kms := testkit.NewKMS(t)
	config := writeFile(t, "penstock.yaml", "{}\n")
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--config", config}, Env: kms.Env()})
	keyset := filepath.Join(s.Data, "keyset.json")
	where := append(kms.Env(), "PENSTOCK_DATA="+s.Data)
	env := client(s)
	callWith(t, "hunter22", env, "secret", "create", "A", "--value-file", "-").want(t, 0)
	if calls := kms.Calls(); len(calls) > 0 {
		t.Errorf("without the setting the KMS is asked: %v", calls)
	}

	rotate := []string{"secret", "rotate-key", "--settle", "0s"}
	serve := []string{"serve", "--listen", "127.0.0.1:0"}
	call(t, where, append(rotate, "--keyset-kms", theKMSKey)...).want(t, 65, "stop it first")
	for _, step := range []struct{ setting, form, refused, says string }{
		{theKMSKey, `"encryptedKeyset"`, "", "set --keyset-kms"},
		{
			"awskms:///" + testkit.KMSKeyARN(testkit.KMSOtherKey) + "?region=eu-central-1", `"encryptedKeyset"`, theKMSKey,
			"IncorrectKeyException",
		},
		{"", `"key"`, theKMSKey, "in plain text"},
		{theKMSKey, `"encryptedKeyset"`, "", "set --keyset-kms"},
	} {
		s.Stop()
		content, args := "{}\n", rotate
		if step.setting != "" {
			content, args = "keyset-kms: "+step.setting+"\n", append(args, "--keyset-kms", step.setting)
		}
		if step.refused != "" {
			args = append(args, "--from-kms", readSetting(t, config))
		}
		call(t, where, args...).want(t, 0, "removed the old key")
		wantInFile(t, keyset, step.form)
		if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		refused := serve
		if step.refused != "" {
			refused = append(refused, "--keyset-kms", step.refused)
		}
		call(t, where, refused...).want(t, 78, step.says)
		s.Restart()
		id := startRun(t, env, `demo: run echo "${#A}"`, "--secret", "A", "--wait")
		call(t, env, "run", "logs", id).want(t, 0, "8")
	}
}

// readSetting returns the KMS key of a configuration.
func readSetting(t *testing.T, config string) string {
	t.Helper()
	content, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(strings.TrimPrefix(string(content), "keyset-kms: "))
}

func TestKMSErrors(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "plain")
	call(t, nil, "migrate", "--data", plain).want(t, 0)
	for name, tt := range map[string]struct {
		kms  func(*testkit.KMS)
		env  []string
		key  string
		code int
		says string
	}{
		"access denied": {
			kms: func(k *testkit.KMS) { k.Fail(func(string) string { return "AccessDeniedException" }) }, code: 78,
			says: "AccessDeniedException",
		},
		"throttled": {
			kms: func(k *testkit.KMS) { k.Fail(func(string) string { return "ThrottlingException" }) }, code: 69,
			says: "ThrottlingException",
		},
		"nobody there":      {kms: (*testkit.KMS).Close, code: 69, says: "connection refused"},
		"no such key":       {key: "awskms://alias/nobody", code: 78, says: "NotFoundException"},
		"wrong credentials": {env: []string{"AWS_SECRET_ACCESS_KEY=other"}, code: 78, says: "InvalidSignatureException"},
		"no credentials":    {env: []string{"AWS_SECRET_ACCESS_KEY="}, code: 69, says: "credentials"},
		"no region":         {env: []string{"AWS_REGION="}, code: 78, says: "AWS_REGION"},
		"no such profile":   {env: []string{"AWS_PROFILE=nobody"}, code: 78, says: "AWS settings"},
		"another kind of KMS": {
			key: "gcpkms://projects/p/locations/global/keyRings/r/cryptoKeys/k", code: 64, says: "awskms://KEY",
		},
		"no kind":           {key: "alias/penstock", code: 64, says: "awskms://KEY"},
		"no key":            {key: "awskms://?region=eu-central-1", code: 64, says: "awskms://KEY"},
		"no such parameter": {key: "awskms://alias/penstock?zone=1", code: 64, says: "awskms://KEY"},
		"an ARN of another kind": {
			key: "awskms://arn:aws:s3:eu-central-1:111122223333:key/x", code: 64, says: "awskms://KEY",
		},
		"two regions": {
			key: "awskms://" + testkit.KMSKeyARN(testkit.KMSKey) + "?region=us-east-1", code: 64, says: "remove ?region=",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kms, key := testkit.NewKMS(t), theKMSKey
			if tt.kms != nil {
				tt.kms(kms)
			}
			if tt.key != "" {
				key = tt.key
			}
			env := append(append(kms.Env(), tt.env...), "PENSTOCK_KEYSET_KMS="+key)
			data := filepath.Join(t.TempDir(), "data")
			call(t, env, "serve", "--listen", "127.0.0.1:0", "--data", data).want(t, tt.code, tt.says)
			if left, _ := filepath.Glob(filepath.Join(data, "*keyset*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if tt.code == 64 {
				call(t, env, "secret", "rotate-key", "--data", plain).want(t, 64, tt.says)
			}
		})
	}
}
