package secret

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// KMS is a symmetric key of AWS KMS that encrypts keysets.
type KMS struct {
	Key string // its id or ARN, or the name or ARN of an alias

	// Timeout limits a call with its retries; 0 means 10 seconds.
	Timeout time.Duration

	// Functions instead of the client: the linker keeps every method of a type that reflection can
	// reach, which would be all operations of the KMS.
	encrypt, decrypt func(ctx context.Context, text []byte, about map[string]string) ([]byte, error)
}

// NewKMS returns a KMS key that uses client.
func NewKMS(client *kms.Client, key string) *KMS {
	return &KMS{
		Key: key,
		encrypt: func(ctx context.Context, plaintext []byte, about map[string]string) ([]byte, error) {
			out, err := client.Encrypt(
				ctx, &kms.EncryptInput{KeyId: aws.String(key), Plaintext: plaintext, EncryptionContext: about},
			)
			if err != nil {
				return nil, err
			}
			return out.CiphertextBlob, nil
		},
		decrypt: func(ctx context.Context, ciphertext []byte, about map[string]string) ([]byte, error) {
			out, err := client.Decrypt(
				ctx, &kms.DecryptInput{KeyId: aws.String(key), CiphertextBlob: ciphertext, EncryptionContext: about},
			)
			if err != nil {
				return nil, err
			}
			return out.Plaintext, nil
		},
	}
}

// ErrKMS is returned if the KMS refused a call or did not respond in time. It wraps the error of
// the SDK.
var ErrKMS = errors.New("AWS KMS refused the request or did not respond")

// The encryption context of every call. Policies can require it (kms:EncryptionContext:purpose). It
// also prevents other data under the same key from being used as a keyset.
const (
	purposeKey = "purpose"
	purpose    = "penstock-keyset"
)

func (k *KMS) read(ctx context.Context, from keyset.Reader) (*keyset.Handle, error) {
	recorder := &errorRecorder{kms: k}
	handle, err := keyset.ReadWithContext(ctx, from, recorder, []byte(purpose))
	return handle, cmp.Or(recorder.err, err)
}

func (k *KMS) write(ctx context.Context, handle *keyset.Handle, to keyset.Writer) error {
	recorder := &errorRecorder{kms: k}
	err := handle.WriteWithContext(ctx, to, recorder, []byte(purpose))
	return cmp.Or(recorder.err, err)
}

// errorRecorder is the key for one operation of Tink. It keeps the error, because Tink returns only
// the error's text.
type errorRecorder struct {
	kms *KMS
	err error
}

var _ tink.AEADWithContext = (*errorRecorder)(nil)

// EncryptWithContext is a part of tink.AEADWithContext.
func (a *errorRecorder) EncryptWithContext(ctx context.Context, plaintext, purpose []byte) ([]byte, error) {
	return a.ask(ctx, a.kms.encrypt, plaintext, purpose)
}

// DecryptWithContext is a part of tink.AEADWithContext.
func (a *errorRecorder) DecryptWithContext(ctx context.Context, ciphertext, purpose []byte) ([]byte, error) {
	return a.ask(ctx, a.kms.decrypt, ciphertext, purpose)
}

func (a *errorRecorder) ask(
	ctx context.Context, call func(context.Context, []byte, map[string]string) ([]byte, error), text, purpose []byte,
) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(a.kms.Timeout, 10*time.Second))
	defer cancel()
	out, err := call(ctx, text, map[string]string{purposeKey: string(purpose)})
	if err != nil {
		a.err = fmt.Errorf("%w: key %s: %w", ErrKMS, a.kms.Key, err)
		return nil, a.err
	}
	return out, nil
}
