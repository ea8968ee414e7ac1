package factorymcp

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type eventArgs struct {
	Factory    string `json:"factory_uid"`
	Webhook    string `json:"webhook_uid"`
	Delivery   string `json:"delivery_id"`
	Automation string `json:"automation_uid"`
	Schedule   string `json:"schedule_id"`
}

func (s *session) explainEvent(ctx context.Context, _ *mcp.CallToolRequest, args eventArgs) (result, error) {
	if args.Delivery != "" {
		if args.Factory == "" || args.Webhook == "" {
			return result{}, &apiError{text: "delivery_id needs factory_uid and webhook_uid"}
		}
		return s.delivery(ctx, args)
	}
	q := page{}.query()
	for name, value := range map[string]string{
		"webhook_uid": args.Webhook, "automation_uid": args.Automation, "schedule_id": args.Schedule,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	var list struct {
		Occurrences []map[string]any `json:"occurrences"`
	}
	if err := s.do(ctx, request{path: "occurrences", query: q}, &list); err != nil {
		return result{}, err
	}
	known, words := []facts{}, []any{}
	for _, o := range list.Occurrences {
		f := facts{}
		for _, name := range []string{
			"occurrence_uid", "kind", "fate", "due_at", "decided_at", "automation_uid", "schedule_id", "webhook_uid",
			"delivery_id", "run_ids",
		} {
			if value, found := o[name]; found {
				f[name] = value
			}
		}
		known = append(known, f)
		words = append(words, map[string]any{
			"occurrence_uid": o["occurrence_uid"], "reason": o["reason"], "subject": o["subject"],
		})
	}
	r := result{facts: facts{"events": known}}
	if len(words) > 0 {
		r.foreign = []foreign{{"events", "the senders of the events, whom the reasons quote", words}}
	}
	return r, nil
}

// delivery explains one delivery. Everything in its log can quote the sender.
func (s *session) delivery(ctx context.Context, args eventArgs) (result, error) {
	var d map[string]any
	q := request{path: join("factory", args.Factory, "webhooks", args.Webhook, "deliveries", args.Delivery)}
	if err := s.do(ctx, q, &d); err != nil {
		return result{}, err
	}
	f := facts{}
	for _, name := range []string{"delivery_id", "webhook_uid", "outcome", "received_at", "http_status", "size", "runs"} {
		if value, found := d[name]; found {
			f[name] = value
		}
	}
	return result{f, []foreign{{"delivery", "the sender of the delivery, whom the log quotes", d}}}, nil
}
