package field

// Value is what a field of a request says, the zero value where it says nothing.
func Value[T any](field *T) T {
	var v T
	Set(&v, field)
	return v
}

// Clear does what belongs to each of the fields that were given as null.
func Clear(cleared []string, fields map[string]func()) {
	for _, name := range cleared {
		if do, ok := fields[name]; ok {
			do()
		}
	}
}

// Set changes a field where the request has a value for it.
func Set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}
