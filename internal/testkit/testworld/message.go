package testworld

import (
	"encoding/json"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/announce"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// Listen creates an event endpoint for messages of some types. It does not exist, so that they stay for [World.Heard].
func (w *World) Listen(req announce.EndpointRequest, events ...penstock.EndpointEvent) (uid string) {
	w.T.Helper()
	url := "https://hooks.invalid/"
	req.URL, req.Events = &url, &events
	e, err := w.Endpoints.Create(w.T.Context(), w.Admin, req)
	if err != nil {
		w.T.Fatal(err)
	}
	return e.UID
}

// Heard returns the messages that were written for an endpoint, oldest first, with a path as URL.
func (w *World) Heard(uid string) []penstock.EndpointMessage {
	w.T.Helper()
	var list []penstock.EndpointMessage
	for _, row := range testkit.Rows(w.T, w.URL, `SELECT type, path, data
		FROM endpoint_messages
		WHERE endpoint_uid = '`+uid+`'
		ORDER BY happened_at, id`) {
		m := penstock.EndpointMessage{Type: penstock.EndpointEvent(row[0])}
		if err := json.Unmarshal([]byte(row[2]), &m.Data); err != nil {
			w.T.Fatal(err)
		}
		m.Data.URL = row[1]
		list = append(list, m)
	}
	return list
}
