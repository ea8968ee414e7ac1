package penstock

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Selection is a filter key that selects resources by UID or name: those in In but not in
// NotIn. Its JSON is an object, or a list as the short form of in.
type Selection struct {
	In    []string
	NotIn []string

	object bool // whether the JSON was an object
}

// Has reports whether the selection includes a resource with these names.
func (s Selection) Has(names ...string) bool {
	called := func(name string) bool { return slices.Contains(names, name) }
	return slices.ContainsFunc(s.In, called) && !slices.ContainsFunc(s.NotIn, called)
}

// Pointer returns the JSON pointer of In[i], relative to the selection.
func (s Selection) Pointer(i int) string {
	if s.object {
		return fmt.Sprintf("/in/%d", i)
	}
	return fmt.Sprintf("/%d", i)
}

// MarshalJSON writes the shortest form.
func (s Selection) MarshalJSON() ([]byte, error) {
	if len(s.NotIn) == 0 {
		return json.Marshal(s.In)
	}
	return json.Marshal(map[string][]string{"in": s.In, "not_in": s.NotIn})
}

// UnmarshalJSON reads either form.
func (s *Selection) UnmarshalJSON(raw []byte) error {
	*s = Selection{}
	if json.Unmarshal(raw, &s.In) == nil {
		return nil
	}
	var lists struct {
		In    []string `json:"in"`
		NotIn []string `json:"not_in"`
	}
	if err := json.Unmarshal(raw, &lists); err != nil {
		return fmt.Errorf("read a selection: %w", err)
	}
	*s = Selection{In: lists.In, NotIn: lists.NotIn, object: true}
	return nil
}

// checkSelection checks a selection: it must name at least one resource.
func checkSelection(at, key string, filter map[string]json.RawMessage, none string) []FieldError {
	pointer := at + "/filter/" + key
	if absent(filter[key]) {
		return []FieldError{{pointer, none}}
	}
	var s Selection
	if json.Unmarshal(filter[key], &s) != nil {
		return []FieldError{{pointer, "must be an array of strings, or an object with in and not_in"}}
	}
	in := pointer
	if fields := map[string]json.RawMessage{}; s.object && json.Unmarshal(filter[key], &fields) == nil {
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			if field != "in" && field != "not_in" {
				return []FieldError{
					{pointer + "/" + EscapePointer(field), unknown("a key of a matcher", field, []string{"in", "not_in"})},
				}
			}
		}
		in += "/in"
	}
	if len(s.In) == 0 {
		return []FieldError{{in, none}}
	}
	errs := slices.Concat(checkNames(in, s.In), checkNames(pointer+"/not_in", s.NotIn))
	for i, name := range s.NotIn {
		if slices.Contains(s.In, name) {
			errs = append(
				errs, FieldError{fmt.Sprintf("%s/not_in/%d", pointer, i), "is in both in and not_in, so nothing can match"},
			)
		}
	}
	return errs
}

func checkNames(at string, names []string) []FieldError {
	if len(names) > MaxTriggerNames {
		return []FieldError{{at, fmt.Sprintf("has %d values; at most %d are allowed", len(names), MaxTriggerNames)}}
	}
	var errs []FieldError
	for i, name := range names {
		if strings.TrimSpace(name) == "" || len(name) > maxTriggerValue {
			errs = append(errs, FieldError{fmt.Sprintf("%s/%d", at, i), fmt.Sprintf("must have 1 to %d bytes", maxTriggerValue)})
		}
	}
	return errs
}
