package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
)

// resource is the list of columns of a T. It generates insert, select, update and scan, which
// therefore always agree. A new column needs one line here, and a migration.
type resource[T any] struct {
	table    // of the columns that an insert stores
	selected string
	orZero   string // selected, for a row that may be absent from a join
	stored   []columnOf[T]
	changing []columnOf[T]
	read     []columnOf[T]
	insert   string
}

// columnOf is a column of a resource.
type columnOf[T any] struct {
	column
	value   func(*T) any // the value to store; nil: an insert uses the schema's default
	dest    func(*T) any // the destination of a read; nil: it is only stored
	changes bool         // an update also stores it
}

// newResource builds the lists once, at the start. Every statement that selects the columns gives
// the table this alias.
func newResource[T any](name, alias string, list ...columnOf[T]) resource[T] {
	r := resource[T]{table: table{name: name}}
	var selected, orZero []string
	for _, c := range list {
		if c.value != nil {
			r.columns, r.stored = append(r.columns, c.column), append(r.stored, c)
		}
		if c.changes {
			r.changing = append(r.changing, c)
		}
		if c.dest != nil {
			r.read = append(r.read, c)
			selected = append(selected, alias+"."+c.name)
			orZero = append(orZero, "COALESCE("+alias+"."+c.name+", "+zeroOf[c.kind]+")")
		}
	}
	r.selected, r.orZero = strings.Join(selected, ", "), strings.Join(orZero, ", ")
	r.insert = "INSERT INTO " + name + " (" + r.names() + ") VALUES (" + placeholders(1, len(r.columns)) + ")"
	return r
}

// zeroOf is the value of an absent column by its kind.
var zeroOf = map[string]string{"text": "''", "bigint": "0", "bytea": "''"}

// row returns the values that an insert stores.
func (r resource[T]) row(v *T) []any { return values(r.stored, v) }

// some returns the positions of stored columns in the rows that [resource.row] makes.
func (r resource[T]) some(names ...string) (at []int) {
	for _, name := range names {
		i := slices.IndexFunc(r.columns, func(c column) bool { return c.name == name })
		if i < 0 {
			panic("store: " + r.name + " has no column " + name)
		}
		at = append(at, i)
	}
	return at
}

// set changes columns of a row that [resource.row] made before.
func (r resource[T]) set(row []any, v *T, at []int) {
	for _, i := range at {
		row[i] = r.stored[i].value(v)
	}
}

// into returns the destinations for the selected columns, and then more.
func (r resource[T]) into(v *T, more ...any) []any {
	out := make([]any, len(r.read), len(r.read)+len(more))
	for i, c := range r.read {
		out[i] = c.dest(v)
	}
	return append(out, more...)
}

// add inserts one row.
func (r resource[T]) add(ctx context.Context, tx *Tx, v *T) error {
	_, err := tx.exec(ctx, r.insert, r.row(v)...)
	return err
}

// update returns a statement that stores the columns that change, and also the given assignments.
// Each ? takes an argument after the columns' arguments: see [resource.changes].
func (r resource[T]) update(also, condition string) string {
	var set []string
	for i, c := range r.changing {
		set = append(set, c.name+" = $"+strconv.Itoa(i+1))
	}
	if also != "" {
		set = append(set, also)
	}
	text := "UPDATE " + r.name + " SET " + strings.Join(set, ", ") + " WHERE " + condition
	for n := len(r.changing) + 1; strings.Contains(text, "?"); n++ {
		text = strings.Replace(text, "?", "$"+strconv.Itoa(n), 1)
	}
	return text
}

// changes returns the arguments of an update: the columns, and then one for each ?.
func (r resource[T]) changes(v *T, more ...any) []any {
	return append(values(r.changing, v), more...)
}

// upsert returns an insert that updates the columns that change if a row with the key exists.
func (r resource[T]) upsert(key string) string { return r.insert + " " + r.orUpdate(key) }

// orUpdate returns the end of such an insert.
func (r resource[T]) orUpdate(key string) string {
	var set []string
	for _, c := range r.changing {
		set = append(set, c.name+" = excluded."+c.name)
	}
	return "ON CONFLICT (" + key + ") DO UPDATE SET " + strings.Join(set, ", ")
}

// without removes a column from those that are read.
func (r resource[T]) without(name string) resource[T] {
	list := strings.Split(r.selected, ", ")
	i := slices.IndexFunc(r.read, func(c columnOf[T]) bool { return c.name == name })
	if i < 0 {
		panic("store: no column " + name + " is read from " + r.name)
	}
	r.selected = strings.Join(slices.Delete(list, i, i+1), ", ")
	r.read = slices.Delete(slices.Clone(r.read), i, i+1)
	return r
}

// cutAfter names the columns after which a bulk insert may end, in order: see table.cuts.
func (r resource[T]) cutAfter(names ...string) resource[T] {
	for _, i := range r.some(names...) {
		r.cuts = append(r.cuts, i+1)
	}
	return r
}

func values[T any](list []columnOf[T], v *T) []any {
	out := make([]any, len(list))
	for i, c := range list {
		out[i] = c.value(v)
	}
	return out
}

func textColumn[T any, V ~string](name string, at func(*T) *V) columnOf[T] {
	return columnOf[T]{
		column: column{name, "text"},
		value:  func(v *T) any { return string(*at(v)) },
		dest:   func(v *T) any { return at(v) },
	}
}

func numberColumn[T any, V ~int | ~int64](name string, at func(*T) *V) columnOf[T] {
	return columnOf[T]{
		column: column{name, "bigint"},
		value:  func(v *T) any { return int64(*at(v)) },
		dest:   func(v *T) any { return at(v) },
	}
}

func flagColumn[T any](name string, at func(*T) *bool) columnOf[T] {
	return columnOf[T]{
		column: column{name, "bigint"},
		value:  func(v *T) any { return flag(*at(v)) },
		dest:   func(v *T) any { return at(v) },
	}
}

func bytesColumn[T any](name string, at func(*T) *[]byte) columnOf[T] {
	return columnOf[T]{
		column: column{name, "bytea"},
		value:  func(v *T) any { return notNull(*at(v)) },
		dest:   func(v *T) any { return at(v) },
	}
}

// jsonColumn is JSON text, or "" for an empty value.
func jsonColumn[T, V any](name string, at func(*T) *V) columnOf[T] {
	return columnOf[T]{
		column: column{name, "text"},
		value:  func(v *T) any { return marshal(*at(v)) },
		dest:   func(v *T) any { return &document{into: at(v)} },
	}
}

// rawColumn is JSON text, unchanged.
func rawColumn[T any](name string, at func(*T) *json.RawMessage) columnOf[T] {
	return columnOf[T]{
		column: column{name, "text"},
		value:  func(v *T) any { return string(*at(v)) },
		dest:   func(v *T) any { return (*[]byte)(at(v)) },
	}
}

// listColumn is a list of words with commas around each, or "" if it is empty.
func listColumn[T any](name string, at func(*T) *[]string) columnOf[T] {
	return columnOf[T]{
		column: column{name, "text"},
		value:  func(v *T) any { return joined(*at(v)) },
		dest:   func(v *T) any { return (*words)(at(v)) },
	}
}

// storedText is a column that is derived from a T and never read back, as are storedNumber and
// storedFlag.
func storedText[T any](name string, value func(*T) string) columnOf[T] {
	return columnOf[T]{column: column{name, "text"}, value: func(v *T) any { return value(v) }}
}

func storedNumber[T any, V ~int | ~int64](name string, value func(*T) V) columnOf[T] {
	return columnOf[T]{column: column{name, "bigint"}, value: func(v *T) any { return int64(value(v)) }}
}

func storedFlag[T any](name string, value func(*T) bool) columnOf[T] {
	return columnOf[T]{column: column{name, "bigint"}, value: func(v *T) any { return flag(value(v)) }}
}

// from makes an insert store a derived value.
func (c columnOf[T]) from(value func(*T) any) columnOf[T] {
	c.value = value
	return c
}

// unset makes inserts use the schema's default for a column.
func (c columnOf[T]) unset() columnOf[T] {
	c.value = nil
	return c
}

// editable makes updates store the column.
func (c columnOf[T]) editable() columnOf[T] {
	c.changes = true
	return c
}

// words reads a column of words between commas.
type words []string

// Scan is called by database/sql.
func (w *words) Scan(value any) error {
	var text sql.NullString
	if err := text.Scan(value); err != nil {
		return err
	}
	*w = listed(text.String)
	return nil
}

// joined returns a list as a column, or "" for an empty list. listed reads it.
func joined(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return "," + strings.Join(list, ",") + ","
}

func listed(column string) []string {
	if column == "" {
		return nil
	}
	return strings.Split(strings.Trim(column, ","), ",")
}

// document reads a column of JSON and records its size.
type document struct {
	into any
	size int
}

// Scan is called by database/sql.
func (d *document) Scan(value any) error {
	var text sql.NullString
	if err := text.Scan(value); err != nil {
		return err
	}
	d.size = len(text.String)
	return unmarshal(text.String, d.into)
}

// selectActor selects the columns of a principal that a statement has joined under the
// alias; uid is the column that names it.
func selectActor(uid, alias string) string {
	return fmt.Sprintf("%[1]s, %[2]s.type, %[2]s.display_name, %[2]s.email, %[2]s.photo_url", uid, alias)
}

// joinActor joins the principal that a column names, whose row may be absent.
func joinActor(alias, uid string) string {
	return fmt.Sprintf(" LEFT JOIN principals %[1]s ON %[1]s.uid = %[2]s", alias, uid)
}

// actorColumns are the columns of a principal, whose row may be absent.
type actorColumns struct{ uid, kind, name, email, photo sql.NullString }

func (a *actorColumns) into() []any { return []any{&a.uid, &a.kind, &a.name, &a.email, &a.photo} }

func (a *actorColumns) actor() *penstock.Actor {
	if a.uid.String == "" {
		return nil
	}
	kind := cmp.Or(a.kind.String, "service_account")
	return &penstock.Actor{
		Type: kind, UID: a.uid.String, DisplayName: a.name.String, Email: a.email.String, PhotoURL: a.photo.String,
	}
}

func uidOf(a *penstock.Actor) string {
	if a == nil {
		return ""
	}
	return a.UID
}
