package request

// Value returns the value of a request's field, or the zero value if it is absent.
func Value[T any](field *T) T {
	var v T
	Set(&v, field)
	return v
}

// Clear calls the function of each field that the request sets to null.
func Clear(cleared []string, fields map[string]func()) {
	for _, name := range cleared {
		if do, ok := fields[name]; ok {
			do()
		}
	}
}

// Set changes a field if the request has a value for it.
func Set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}
