package testkit

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/kms"
)

// KMS implements Encrypt and Decrypt of AWS KMS's JSON protocol. Its keys are [KMSKey] and
// [KMSOtherKey]. They really encrypt, and are bound to the encryption context. It rejects a request
// whose signature (SigV4) is not from [KMS.Env]'s credentials.
type KMS struct {
	URL string

	server *httptest.Server
	mu     sync.Mutex
	calls  []string
	fails  func(operation string) string
	held   chan struct{}
}

// The keys, each under its alias and its ARN.
const (
	KMSKey      = "alias/penstock"
	KMSOtherKey = "alias/other"
	kmsARN      = "arn:aws:kms:eu-central-1:111122223333:key/"
	kmsRegion   = "eu-central-1"
)

var kmsCredentials = aws.Credentials{AccessKeyID: "AKIDTESTONLY", SecretAccessKey: "not-a-secret-of-anybody"}

// KMSKeyARN returns the ARN of a key.
func KMSKeyARN(alias string) string { return kmsARN + strings.TrimPrefix(alias, "alias/") }

// NewKMS starts a KMS, which ends with the test.
func NewKMS(tb testing.TB) *KMS {
	tb.Helper()
	k := &KMS{held: make(chan struct{})}
	k.server = httptest.NewServer(http.HandlerFunc(k.serve))
	k.URL = k.server.URL
	tb.Cleanup(func() {
		k.Hold(false)
		k.server.Close()
	})
	close(k.held)
	return k
}

// Env returns the environment for a process that uses the KMS.
func (k *KMS) Env() []string {
	return []string{
		"AWS_ENDPOINT_URL_KMS=" + k.URL, "AWS_REGION=" + kmsRegion,
		"AWS_ACCESS_KEY_ID=" + kmsCredentials.AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + kmsCredentials.SecretAccessKey,
		"AWS_EC2_METADATA_DISABLED=true",
	}
}

// Client returns a client of the KMS.
func (k *KMS) Client() *kms.Client {
	return kms.New(kms.Options{
		BaseEndpoint: aws.String(k.URL), Region: kmsRegion,
		Credentials: aws.CredentialsProviderFunc(
			func(context.Context) (aws.Credentials, error) { return kmsCredentials, nil },
		),
	})
}

// Fail makes operations (Encrypt, Decrypt) fail from now on with the code that fails returns, such
// as AccessDeniedException. For "", the operation succeeds. With nil, all succeed.
func (k *KMS) Fail(fails func(operation string) string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fails = fails
}

// Hold delays all responses until it is called with false, or the client disconnects.
func (k *KMS) Hold(hold bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case <-k.held:
		if hold {
			k.held = make(chan struct{})
		}
	default:
		if !hold {
			close(k.held)
		}
	}
}

// Close ends the KMS before the end of the test. From now on, it refuses connections.
func (k *KMS) Close() { k.server.Close() }

// Calls lists the operations since its last call, even rejected ones.
func (k *KMS) Calls() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	calls := k.calls
	k.calls = nil
	return calls
}

// kmsRequest holds the fields of requests and responses of Encrypt and Decrypt.
type kmsRequest struct {
	KeyID             string            `json:"KeyId,omitempty"` //nolint:tagliatelle // AWS's name
	Plaintext         []byte            `json:"Plaintext,omitempty"`
	CiphertextBlob    []byte            `json:"CiphertextBlob,omitempty"`
	EncryptionContext map[string]string `json:"EncryptionContext,omitempty"`
}

func (k *KMS) serve(w http.ResponseWriter, r *http.Request) {
	operation := strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "TrentService.")
	k.mu.Lock()
	k.calls = append(k.calls, operation)
	fails, held := k.fails, k.held
	k.mu.Unlock()
	select {
	case <-held:
	case <-r.Context().Done():
		return
	}
	body, err := io.ReadAll(r.Body)
	code := ""
	switch {
	case err != nil:
		code = "SerializationException"
	case !isSigned(r, body):
		code = "InvalidSignatureException"
	case fails != nil:
		code = fails(operation)
	}
	var response *kmsRequest
	if code == "" {
		response, code = kmsResponse(operation, body)
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if code != "" {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"__type": code, "message": "the test says no"})
		return
	}
	_ = json.NewEncoder(w).Encode(response)
}

// kmsResponse returns the response, or the code of an error.
func kmsResponse(operation string, body []byte) (response *kmsRequest, code string) {
	var in kmsRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, "SerializationException"
	}
	arn := in.KeyID
	if strings.HasPrefix(arn, "alias/") {
		arn = KMSKeyARN(arn)
	}
	if arn != KMSKeyARN(KMSKey) && arn != KMSKeyARN(KMSOtherKey) {
		return nil, "NotFoundException"
	}
	switch operation {
	case "Encrypt":
		return &kmsRequest{KeyID: arn, CiphertextBlob: kmsSeal(arn, in)}, ""
	case "Decrypt":
		by, sealed, _ := bytes.Cut(in.CiphertextBlob, []byte{0})
		if string(by) != arn {
			return nil, "IncorrectKeyException"
		}
		plaintext, err := kmsOpen(arn, sealed, in.EncryptionContext)
		if err != nil {
			return nil, "InvalidCiphertextException"
		}
		return &kmsRequest{KeyID: arn, Plaintext: plaintext}, ""
	}
	return nil, "UnknownOperationException"
}

func kmsSeal(arn string, in kmsRequest) []byte {
	a := kmsCipher(arn)
	nonce := make([]byte, a.NonceSize())
	_, _ = rand.Read(nonce) // does not fail
	return append([]byte(arn+"\x00"), a.Seal(nonce, nonce, in.Plaintext, kmsContext(in.EncryptionContext))...)
}

func kmsOpen(arn string, sealed []byte, about map[string]string) ([]byte, error) {
	a := kmsCipher(arn)
	if len(sealed) < a.NonceSize() {
		return nil, errors.New("too short")
	}
	return a.Open(nil, sealed[:a.NonceSize()], sealed[a.NonceSize():], kmsContext(about))
}

func kmsCipher(arn string) cipher.AEAD {
	key := sha256.Sum256([]byte("a key of a test: " + arn))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has 32 bytes
	}
	a, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // AES has blocks of 16 bytes
	}
	return a
}

func kmsContext(about map[string]string) []byte {
	var b bytes.Buffer
	for _, key := range slices.Sorted(maps.Keys(about)) {
		fmt.Fprintf(&b, "%q=%q\n", key, about[key])
	}
	return b.Bytes()
}

var authorization = regexp.MustCompile(
	`^AWS4-HMAC-SHA256 Credential=[^/]+/\d{8}/([a-z0-9-]+)/kms/aws4_request, SignedHeaders=([a-z0-9;-]+), ` +
		`Signature=[0-9a-f]{64}$`,
)

// isSigned computes the signature from its headers and compares it.
func isSigned(r *http.Request, body []byte) bool {
	given := r.Header.Get("Authorization")
	parts := authorization.FindStringSubmatch(given)
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if parts == nil || err != nil || time.Since(at).Abs() > 5*time.Minute {
		return false
	}
	again, err := http.NewRequestWithContext(
		context.Background(), r.Method, "http://"+r.Host+r.URL.RequestURI(), bytes.NewReader(body),
	)
	if err != nil {
		return false
	}
	for name := range strings.SplitSeq(parts[2], ";") {
		if values := r.Header.Values(name); len(values) > 0 {
			again.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	sum := sha256.Sum256(body)
	err = v4.NewSigner().SignHTTP(
		context.Background(), kmsCredentials, again, hex.EncodeToString(sum[:]), "kms", parts[1], at,
	)
	return err == nil && again.Header.Get("Authorization") == given
}
