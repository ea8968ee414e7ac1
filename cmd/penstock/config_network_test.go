package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
)

func TestTheNetworkOfTheConfigurationFile(t *testing.T) {
	t.Parallel()
	read := func(text string) (*fileSettings, error) {
		settings := &fileSettings{}
		_, err := parseConfig([]byte(text), nil, settings)
		return settings, err
	}
	settings, err := read("models: {allow: [anthropic/*]}\n")
	if err != nil {
		t.Fatal(err)
	}
	got := settings.serverNetwork()
	packages := penstock.Network{Allow: []penstock.NetworkRule{{Preset: "packages"}}}
	if diff := cmp.Diff(packages, got.Layer); diff != "" || got.Ceiling != nil || got.Models.Allows("gpt-5") {
		t.Errorf("without the key: got %+v", got)
	}
	settings, err = read("network:\n  allow: [{host: a.test, ports: [8443]}]\n  max_upload_bytes: 1000\n" +
		"  ceiling: {allow: [{host: '*.corp.test'}]}\n")
	if err != nil {
		t.Fatal(err)
	}
	got = settings.serverNetwork()
	want := penstock.Network{
		Allow: []penstock.NetworkRule{{Host: "a.test", Ports: []int{8443}}}, MaxUploadBytes: 1000,
	}
	if diff := cmp.Diff(want, got.Layer); diff != "" || got.Ceiling == nil || got.Ceiling.Allow[0].Host != "*.corp.test" {
		t.Errorf("got %+v, -want +got:\n%s", got, diff)
	}
	if settings, err = read("network: {}\n"); err != nil || !new(settings.serverNetwork().Layer).IsZero() {
		t.Errorf("an empty network allows nothing: got %+v, %v", settings.serverNetwork(), err)
	}
	for text, mentions := range map[string]string{
		"network: {alow: []}":                                                     "alow",
		"network: {allow: [{preset: package}]}":                                   `did you mean "packages"?`,
		"network: {allow: [{host: A.test}]}":                                      "/network/allow/0/host",
		"network: {ceiling: {allow: [{host: 'a b'}]}}":                            "/ceiling/network/allow/0/host",
		"models: {allow: ['a*b']}":                                                "/allow/0",
		"network: {allow: [{host: a.test, credential: {secret: A, as: bearer}}]}": "credential",
	} {
		if _, err := read(text + "\n"); err == nil || !strings.Contains(err.Error(), mentions) {
			t.Errorf("%s: got %v, want an error that mentions %s", text, err, mentions)
		}
	}
}
