package agent

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/genai"

	"github.com/penstock-dev/penstock"
)

const (
	// googleURL is Google's own address. It is always set, because otherwise the library would read
	// the environment.
	googleURL = "https://generativelanguage.googleapis.com/"

	// ownCallID is the prefix of ids for calls without an id.
	ownCallID = "penstock-"
)

// googleModel is a client of the Gemini API, for one response at a time.
type googleModel struct {
	client *genai.Client
	last   *lastAnswer
}

func newGoogle(ctx context.Context, p Provider, client *http.Client) (googleModel, error) {
	last := &lastAnswer{next: client.Transport}
	c, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey:      p.Key,
		Backend:     genai.BackendGeminiAPI,
		HTTPClient:  &http.Client{Transport: last, CheckRedirect: client.CheckRedirect},
		HTTPOptions: genai.HTTPOptions{BaseURL: cmp.Or(p.BaseURL, googleURL)},
	})
	return googleModel{c, last}, err
}

// lastAnswer records a response's status and header, which the library's errors do not have.
type lastAnswer struct {
	next   http.RoundTripper
	status int
	header http.Header
}

func (l *lastAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.next.RoundTrip(r)
	if err == nil {
		l.status, l.header = resp.StatusCode, resp.Header
	}
	return resp, err
}

func (m googleModel) stream(ctx context.Context, r request, emit func(partKind, string)) (reply, error) {
	var functions []*genai.FunctionDeclaration
	for _, s := range r.tools {
		functions = append(functions, &genai.FunctionDeclaration{
			Name: s.Name, Description: s.Description, ParametersJsonSchema: s.Schema,
		})
	}
	config := &genai.GenerateContentConfig{
		SystemInstruction:     genai.NewContentFromText(r.system, genai.RoleUser),
		Tools:                 []*genai.Tool{{FunctionDeclarations: functions}},
		AutomaticContinuation: new(false),
	}
	var response googleResponse
	for chunk, err := range m.client.Models.GenerateContentStream(ctx, r.model, googleContents(r.history), config) {
		if err != nil {
			return reply{usage: response.usage}, m.failure(err)
		}
		response.add(chunk, emit)
	}
	return response.reply()
}

// googleResponse assembles a response from its chunks.
type googleResponse struct {
	parts   []part
	finish  genai.FinishReason
	blocked bool
	usage   penstock.TokenUsage
}

func (a *googleResponse) add(chunk *genai.GenerateContentResponse, emit func(partKind, string)) {
	if u := chunk.UsageMetadata; u != nil { // each chunk has the counts so far
		a.usage = penstock.TokenUsage{
			Input:     max(0, int64(u.PromptTokenCount+u.ToolUsePromptTokenCount-u.CachedContentTokenCount)),
			Output:    int64(u.CandidatesTokenCount + u.ThoughtsTokenCount),
			CacheRead: int64(u.CachedContentTokenCount),
		}
	}
	if f := chunk.PromptFeedback; f != nil && f.BlockReason != "" {
		a.blocked = true
	}
	if len(chunk.Candidates) == 0 {
		return
	}
	candidate := chunk.Candidates[0]
	a.finish = cmp.Or(candidate.FinishReason, a.finish)
	if candidate.Content == nil {
		return
	}
	for _, p := range candidate.Content.Parts {
		a.addPart(p, emit)
	}
}

func (a *googleResponse) addPart(p *genai.Part, emit func(partKind, string)) {
	next := part{
		Kind: partText, Text: p.Text, Provider: googleID, Opaque: base64.StdEncoding.EncodeToString(p.ThoughtSignature),
	}
	switch {
	case p.FunctionCall != nil:
		next.Kind, next.CallID, next.Tool = partCall, p.FunctionCall.ID, p.FunctionCall.Name
		if next.CallID == "" {
			next.CallID = ownCallID + uuid.NewString()
		}
		next.Input = json.RawMessage("{}")
		if raw, err := json.Marshal(p.FunctionCall.Args); err == nil && p.FunctionCall.Args != nil {
			next.Input = raw
		}
		a.parts = append(a.parts, next)
		return
	case p.Thought:
		next.Kind = partThought
	}
	if p.Text != "" {
		emit(next.Kind, p.Text)
	}
	// Pieces of one text become one part. A signature ends the part.
	if last := len(a.parts) - 1; last >= 0 && a.parts[last].Kind == next.Kind && a.parts[last].Opaque == "" {
		a.parts[last].Text += next.Text
		a.parts[last].Opaque = next.Opaque
		return
	}
	if next.Text != "" || next.Opaque != "" {
		a.parts = append(a.parts, next)
	}
}

func (a *googleResponse) reply() (reply, error) {
	r := reply{parts: a.parts, usage: a.usage}
	switch a.finish {
	case genai.FinishReasonStop:
	case genai.FinishReasonMaxTokens:
		r.stop = stopLength
	case genai.FinishReasonSafety, genai.FinishReasonProhibitedContent, genai.FinishReasonBlocklist,
		genai.FinishReasonSPII,
		genai.FinishReasonRecitation, genai.FinishReasonLanguage, genai.FinishReasonImageSafety:
		r.stop = stopRefused
	case "":
		if !a.blocked {
			return r, failure(googleID, errors.New("the response of the model ended too early"))
		}
		r.stop = stopRefused
	default: // a malformed call, or something new: another attempt may succeed
		return r, failure(googleID, errors.New("the response of the model ended with "+string(a.finish)))
	}
	return r, nil
}

func (m googleModel) failure(err error) error {
	var e genai.APIError
	if !errors.As(err, &e) {
		return failure(googleID, err)
	}
	status := m.last.status
	if status < 400 { // an error within a stream
		status = e.Code
	}
	return httpFailure(googleID, status, cmp.Or(e.Message, e.Status), m.last.header)
}

func googleContents(history []message) []*genai.Content {
	var contents []*genai.Content
	for _, m := range history {
		role := genai.RoleUser
		if m.Role == roleAssistant {
			role = genai.RoleModel
		}
		var parts []*genai.Part
		for _, p := range m.Parts {
			if gp, ok := googlePart(p); ok {
				parts = append(parts, gp)
			}
		}
		last := len(contents) - 1
		switch {
		case len(parts) == 0:
		case last >= 0 && contents[last].Role == role:
			contents[last].Parts = append(contents[last].Parts, parts...)
		default:
			contents = append(contents, &genai.Content{Role: role, Parts: parts})
		}
	}
	return contents
}

// googlePart converts a part to Google's form. It returns false for thoughts of another provider
// and for empty texts. Signatures return with their parts.
func googlePart(p part) (*genai.Part, bool) {
	gp := &genai.Part{}
	if p.Provider == googleID {
		// We only save base64.
		gp.ThoughtSignature, _ = base64.StdEncoding.DecodeString(p.Opaque)
	}
	id := p.CallID
	if strings.HasPrefix(id, ownCallID) {
		id = ""
	}
	switch p.Kind {
	case partText:
		gp.Text = p.Text
		return gp, p.Text != "" || len(gp.ThoughtSignature) > 0
	case partThought:
		gp.Text, gp.Thought = p.Text, true
		return gp, p.Provider == googleID && p.Text != ""
	case partImage:
		data, err := base64.StdEncoding.DecodeString(p.Data)
		gp.InlineData = &genai.Blob{MIMEType: p.MimeType, Data: data}
		return gp, err == nil
	case partCall:
		gp.FunctionCall = &genai.FunctionCall{ID: id, Name: p.Tool}
		return gp, json.Unmarshal(p.Input, &gp.FunctionCall.Args) == nil
	case partResult:
		key := "output"
		if p.Failed {
			key = "error"
		}
		gp.FunctionResponse = &genai.FunctionResponse{ID: id, Name: p.Tool, Response: map[string]any{key: p.Text}}
		return gp, true
	}
	return nil, false
}
