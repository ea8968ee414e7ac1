package gate

import "github.com/penstock-dev/penstock/internal/supply/secret"

// findSecret names the first secret in a text, "" for none.
func findSecret(known *secret.Masker, text string) string {
	if known.Found(text) {
		return "a secret of this run"
	}
	return secret.FindCredential(text)
}
