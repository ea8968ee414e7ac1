package request

import (
	"reflect"
	"slices"
	"strings"
)

// Settable is a field of a resource that a request may set.
type Settable struct {
	Name        string // in JSON
	from, to    []int
	dereference bool
}

// SettableOf lists the fields of a request that the resource has with the same JSON name,
// except the given ones. It panics if their types differ.
func SettableOf[Request, Resource any](except ...string) []Settable {
	fields := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Resource]()) {
		fields[jsonName(f)] = f
	}
	var list []Settable
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Request]()) {
		name := jsonName(f)
		if name == "" || slices.Contains(except, name) {
			continue
		}
		to := fields[name]
		s := Settable{Name: name, from: f.Index, to: to.Index, dereference: f.Type != to.Type}
		if s.dereference && (f.Type.Kind() != reflect.Pointer || f.Type.Elem() != to.Type) {
			panic("field: the request's " + name + " is not one of the resource's")
		}
		list = append(list, s)
	}
	return list
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" {
		return ""
	}
	return name
}

// Given reports whether the request, a pointer, sets the field.
func (s Settable) Given(request any) bool {
	return !reflect.ValueOf(request).Elem().FieldByIndex(s.from).IsNil()
}

// Set copies the field to the resource if the request sets it. Both are pointers.
func (s Settable) Set(request, resource any) {
	value := reflect.ValueOf(request).Elem().FieldByIndex(s.from)
	if value.IsNil() {
		return
	}
	if s.dereference {
		value = value.Elem()
	}
	reflect.ValueOf(resource).Elem().FieldByIndex(s.to).Set(value)
}

// Clear empties the field of the resource, a pointer.
func (s Settable) Clear(resource any) { reflect.ValueOf(resource).Elem().FieldByIndex(s.to).SetZero() }
