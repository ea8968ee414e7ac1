package penstock_test

import (
	"testing"

	"github.com/penstock-dev/penstock"
)

func TestOnlyHTTPSIsReadWithoutRightsOfTheWorker(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]bool{
		"https://git.example.com/a/b": false, "HTTPS://git.example.com/a/b": false, "ssh://git@git.example.com/a/b": true,
		"git@git.example.com:a/b": true, "file:///srv/b": true, "http://127.0.0.1/a/b": true, "https:git/b": true, "": false,
	} {
		if got := (penstock.RunRepository{URL: url}).ReadByWorker(); got != want {
			t.Errorf("%q: got %v", url, got)
		}
	}
}
