package api

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// examples adds the shell command that calls op, and its response.
func (b referenceBuilder) examples(view *operationView, op tree, parameters []tree, body tree) error {
	request, err := b.example(body)
	if err != nil {
		return err
	}
	sent := ""
	if len(request) > 0 {
		sent = request[0].Text
	}
	view.Curl = b.curl(view, parameters, sent)
	for _, more := range request[min(1, len(request)):] {
		view.Examples = append(view.Examples, exampleView{"Body: " + more.Title, more.Text})
	}
	for _, response := range op.at("responses").pairs() {
		if response.key >= "400" {
			continue
		}
		target, _ := response.value.resolve(b.root)
		examples, err := b.example(target)
		if err != nil {
			return err
		}
		for _, e := range examples {
			title := "Response " + response.key
			if e.Title != "" {
				title += ": " + e.Title
			}
			view.Examples = append(view.Examples, exampleView{title, e.Text})
		}
	}
	return nil
}

// example returns the examples of the content of a request or response.
func (b referenceBuilder) example(of tree) ([]exampleView, error) {
	var out []exampleView
	for _, media := range of.at("content").pairs() {
		examples := []pair{{"", media.value}} // a single `example`, instead of a `value`
		named := media.value.at("examples").pairs()
		if len(named) > 0 {
			examples = named
		}
		for _, e := range examples {
			object, _ := e.value.resolve(b.root)
			value := object.at("value")
			if len(named) == 0 {
				value = object.at("example")
			}
			if !value.ok() {
				continue
			}
			text, err := exampleText(media.key, value)
			if err != nil {
				return nil, err
			}
			title := ""
			if len(named) > 1 {
				title = object.at("summary").text()
			}
			out = append(out, exampleView{title, text})
		}
	}
	return out, nil
}

// exampleText formats value as it is sent: as JSON, or as a stream of events.
func exampleText(kind string, value tree) (string, error) {
	if kind != "text/event-stream" {
		text, err := value.json()
		return string(text), err
	}
	var out strings.Builder
	for _, event := range value.items() {
		if id := event.at("id").text(); id != "" {
			fmt.Fprintf(&out, "id: %s\n", id)
		}
		data, err := event.at("data").compactJSON()
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "event: %s\ndata: %s\n\n", event.at("event").text(), data)
	}
	return strings.TrimSpace(out.String()), nil
}

// curl returns a command line that calls the operation with its examples.
func (b referenceBuilder) curl(view *operationView, parameters []tree, body string) string {
	path, query := view.Path, ""
	var lines []string
	for _, p := range parameters {
		name, example := p.at("name").text(), p.at("example").text()
		switch required := p.at("required").text() == "true"; {
		case p.at("in").text() == "path" && example != "":
			path = strings.Replace(path, "{"+name+"}", example, 1)
		case p.at("in").text() == "query" && required:
			query = "?" + url.Values{name: {example}}.Encode()
		case name == "Idempotency-Key":
			lines = append(lines, `-H "Idempotency-Key: $(uuidgen)"`)
		}
	}
	if view.Scope != "" {
		lines = append([]string{`-H "Authorization: Bearer $PENSTOCK_API_KEY"`}, lines...)
	}
	if body != "" {
		quoted := strings.ReplaceAll(body, "'", `'\''`)
		lines = append(lines, `-H "Content-Type: application/json"`, "-d '"+quoted+"'")
	}
	command := "curl"
	switch kind, status := view.Responses[0].Kind, view.Responses[0].Status; {
	case kind == "text/event-stream":
		command += " -N"
	case kind == "*/*" || status == "302":
		command += " -LOJ"
	}
	raw := slices.ContainsFunc(view.Bodies, func(b bodyView) bool { return b.Kind == "*/*" })
	if raw {
		lines = append(lines, "-T build.log") // which is a PUT
	}
	if view.Method != http.MethodGet && !raw && (view.Method != http.MethodPost || body == "") {
		command += " -X " + view.Method
	}
	command += fmt.Sprintf(" %q", b.base+path+query)
	return strings.Join(append([]string{command}, lines...), " \\\n  ")
}
