package signature

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/penstock-dev/penstock"
)

// CheckSecret reports, without repeating it, why secret is no key of a scheme
// that is described so; nil when it is one.
func CheckSecret(scheme penstock.SignatureScheme, described *penstock.Signature, secret string) error {
	forms, err := Forms(scheme, described)
	if err != nil {
		return err
	}
	for _, form := range forms {
		if _, problem := form.Key(secret); problem == nil {
			return nil
		} else if err == nil {
			err = problem
		}
	}
	return err
}

// Key decodes secret into the bytes that the form's algorithm takes. No error
// holds anything of it.
func (f Form) Key(secret string) ([]byte, error) {
	if secret == "" {
		return nil, errors.New("the secret is empty")
	}
	var key []byte
	var err error
	length := 0 // any
	switch f.KeyForm {
	case KeyText:
		return []byte(secret), nil
	case KeyHex:
		key, err = hex.DecodeString(secret)
	case KeyEd25519:
		length = ed25519.PublicKeySize
		key, err = hex.DecodeString(secret)
	case KeyBase64:
		key, err = decodeBase64Key(secret)
	case KeyWhsec:
		key, err = decodeBase64Key(strings.TrimPrefix(secret, "whsec_"))
	case KeyWhpk:
		length = ed25519.PublicKeySize
		encoded, found := strings.CutPrefix(secret, "whpk_")
		if !found {
			return nil, errors.New("the public key does not begin with whpk_")
		}
		key, err = decodeBase64Key(encoded)
	default:
		return nil, errors.New("the scheme has an unknown key format")
	}
	if err != nil || len(key) == 0 || length > 0 && len(key) != length {
		return nil, keyProblems[f.KeyForm]
	}
	return key, nil
}

var keyProblems = map[string]error{
	KeyHex:     errors.New("the secret is not hex"),
	KeyEd25519: errors.New("the public key is not 64 characters of hex"),
	KeyBase64:  errors.New("the secret is not base64"),
	KeyWhsec:   errors.New("the secret is not base64 after whsec_"),
	KeyWhpk:    errors.New("the public key is not base64 of 32 bytes after whpk_"),
}

// decodeBase64Key does not insist on padding, which gets lost when secrets are
// copied. What is decoded is the key either way.
func decodeBase64Key(s string) ([]byte, error) {
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
}

// NewSecret makes the secret of a scheme with SecretGenerated: 32
// random bytes as Standard Webhooks writes them.
func NewSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
	return "whsec_" + base64.StdEncoding.EncodeToString(b[:])
}
