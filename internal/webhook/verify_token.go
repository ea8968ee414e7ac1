package webhook

import (
	"crypto/sha256"
	"crypto/subtle"
)

// TokenMatches is the index of the first secret that is the token which was
// given, -1 when none is. An empty token or secret matches nothing. Digests are
// compared, each secret's, so that time tells neither a length nor which one.
func TokenMatches(given string, secrets []string) int {
	match := -1
	got := sha256.Sum256([]byte(given))
	for i, secret := range secrets {
		want := sha256.Sum256([]byte(secret))
		if subtle.ConstantTimeCompare(got[:], want[:]) == 1 && secret != "" && match < 0 {
			match = i
		}
	}
	return match
}
