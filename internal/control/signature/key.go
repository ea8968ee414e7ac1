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

// CheckSecret returns an error if secret is not a valid key for the scheme. The error does not
// contain the secret.
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

// Key decodes secret into the bytes for the form's algorithm. Errors contain no part of the secret.
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

// decodeBase64Key does not require padding, which is easily lost when a secret is copied. The
// decoded key is the same.
func decodeBase64Key(s string) ([]byte, error) {
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
}

// NewSecret creates a secret for a scheme with SecretGenerated: 32 random bytes in the format of
// Standard Webhooks.
func NewSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
	return "whsec_" + base64.StdEncoding.EncodeToString(b[:])
}
