package gateway

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"
)

// sent is a request type of a vendor's SDK.
type sent struct {
	holder string // the field that holds it, "" for the top
	value  any
}

// Each field that the vendors' SDKs can send is in the list of its API, or refused on purpose.
func TestTheListsHaveTheFieldsOfTheVendorsSDKs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		list    fieldList
		types   []sent
		refused []string // by the field that holds them
	}{
		"anthropic": {anthropicFields(), []sent{
			{"", anthropic.MessageNewParams{}},
			{"", anthropic.BetaMessageNewParams{}},
			{"", anthropic.MessageCountTokensParams{}},
			{"", anthropic.BetaMessageCountTokensParams{}},
		}, nil},
		"chat": {chatFields(), []sent{{"", openai.ChatCompletionNewParams{}}}, nil},
		"responses": {responsesFields(), []sent{
			{"", responses.ResponseNewParams{}},
			{"", responses.ResponseCompactParams{}},
			{"", responses.InputTokenCountParams{}},
		}, nil},
		// The SDK has one configuration, and spreads it over the request. What follows is of Vertex AI
		// alone, or an option of the SDK.
		"gemini": {geminiFields(), []sent{
			{"contents", genai.Content{}},
			{"generationConfig", genai.GenerationConfig{}},
			{"generationConfig", genai.GenerateContentConfig{}},
		}, []string{
			".automaticContinuation", ".audioTimestamp", ".enableAffectiveDialog", ".generationOutputConfig", ".httpOptions",
			".modelArmorConfig", ".modelSelectionConfig", ".routingConfig",
			"googleMaps.authConfig", "tools.enterpriseWebSearch", "tools.exaAiSearch", "tools.parallelAiSearch",
			"tools.retrieval",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := walker{list: test.list, refused: test.refused, seen: map[string]bool{}, used: map[string]bool{}}
			for _, root := range test.types {
				w.walk(reflect.TypeOf(root.value), root.holder)
			}
			slices.Sort(w.missing)
			if len(w.missing) > 0 {
				t.Errorf("fields/%s.txt lacks, and this test does not refuse:\n%s", name, strings.Join(w.missing, "\n"))
			}
			for _, field := range test.refused {
				if !w.used[field] {
					t.Errorf("no SDK sends %s", field)
				}
			}
			if len(w.seen) < 20 {
				t.Errorf("the test has read %d types", len(w.seen))
			}
		})
	}
}

// walker follows the types of a request.
type walker struct {
	list    fieldList
	refused []string
	seen    map[string]bool
	used    map[string]bool // of refused
	missing []string
}

func (w *walker) walk(t reflect.Type, holder string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	plain := strings.HasPrefix(t.Name(), "Opt[") || t.PkgPath() == "time"
	if key := holder + " " + t.String(); t.Kind() == reflect.Struct && !plain && !w.seen[key] {
		w.seen[key] = true
		for field := range fieldsOf(t) {
			w.field(field, holder)
		}
	}
}

// fieldsOf lists the fields of a type that have a JSON name, and those whose own fields take their place.
func fieldsOf(t reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for field := range t.Fields() {
			if field.IsExported() && field.Tag.Get("json") != "-" && !yield(field) {
				return
			}
		}
	}
}

func (w *walker) field(field reflect.StructField, holder string) {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	switch {
	case name == "-", name == "" && !field.Anonymous && !strings.Contains(options, "inline"):
		return
	case name == "":
		w.walk(field.Type, holder)
		return
	}
	m, listed := w.list.at(holder)[name]
	if holder == "generationConfig" && !listed { // Google's configuration has fields of the top
		holder = ""
		m, listed = w.list.at("")[name]
	}
	switch id := holder + "." + name; {
	case slices.Contains(w.refused, id):
		w.used[id] = true
	case !listed:
		w.missing = append(w.missing, id)
	case m&markOpaque != 0:
	case m&markNames != 0:
		w.names(field.Type, name)
	default:
		w.walk(field.Type, name)
	}
}

// names follows an object whose names are the client's: a map, or a type with a field for each name.
func (w *walker) names(t reflect.Type, holder string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	if _, listed := w.list.at(holder)[firstName(t)]; listed {
		w.walk(t, holder)
		return
	}
	for field := range fieldsOf(t) {
		w.walk(field.Type, holder)
	}
}

func firstName(t reflect.Type) string {
	for field := range fieldsOf(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			return name
		}
	}
	return ""
}

// The lists have no field twice in two spellings, and none that holds objects whose fields they lack.
func TestTheListsAreConsistent(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]fieldList{
		"anthropic": anthropicFields(), "chat": chatFields(), "responses": responsesFields(), "gemini": geminiFields(),
	} {
		held := map[string]bool{topFields: true}
		for holder, fields := range list {
			spelled := map[string]string{}
			for field, m := range fields {
				held[field] = held[field] || m&markOpaque == 0
				if other := spelled[fold(field)]; other != "" {
					t.Errorf("%s: %s has %s and %s", name, holder, field, other)
				}
				spelled[fold(field)] = field
			}
		}
		for holder := range list {
			if !held[holder] {
				t.Errorf("%s: no field holds %s", name, holder)
			}
		}
	}
}

func TestWhichBodiesOfferTools(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"tools":[{"name":"f"}]}`:                                   true,
		`{"functions":[{"name":"f"}]}`:                               true,
		`{"input":[{"type":"additional_tools","tools":[]}]}`:         true,
		`{"input":[{"type":"message"},{"type":"additional_tools"}]}`: true,
		`{"tools":[]}`: false,
		`{"tools":null,"input":"additional_tools"}`: false,
		`{"input":[1,{"type":"message"}]}`:          false,
		`{}`:                                        false,
	} {
		root, err := parse([]byte(body), false)
		if err != nil {
			t.Fatal(err)
		}
		if got := root.offersTools(); got != want {
			t.Errorf("%s: %t", body, got)
		}
	}
}
