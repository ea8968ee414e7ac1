package announce_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/api"
	"github.com/penstock-dev/penstock/internal/control/announce"
)

// A receiver that is generated from the contract has no type for a message that the contract does not list.
func TestTheContractListsEachMessage(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(api.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	types := (&announce.Endpoints{}).EventTypes()
	var all, choices, listed []penstock.EndpointEvent
	message := doc.Components.Schemas["EventMessage"]
	for _, each := range types {
		all = append(all, each.Type)
		if each.Description == "" {
			t.Errorf("%s has no description", each.Type)
		}
		item := doc.Webhooks[string(each.Type)]
		if item == nil || item.Post == nil || item.Post.Summary != string(each.Type) ||
			item.Post.RequestBody.Value.Content["application/json"].Schema.Value != message.Value {
			t.Errorf("the webhooks of the contract do not describe %s", each.Type)
		}
	}
	for name := range doc.Webhooks {
		listed = append(listed, penstock.EndpointEvent(name))
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(all)), slices.Sorted(slices.Values(listed))); diff != "" {
		t.Errorf("the webhooks of the contract: %s", diff)
	}
	choices = announce.Events()
	for schema, want := range map[string][]penstock.EndpointEvent{"EventType": choices, "MessageType": all} {
		var got []penstock.EndpointEvent
		for _, value := range doc.Components.Schemas[schema].Value.Enum {
			got = append(got, penstock.EndpointEvent(fmt.Sprint(value)))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the schema %s: %s", schema, diff)
		}
	}
}
