package announce

import "github.com/penstock-dev/penstock"

// The formats. FormatSlack is a line of text for an incoming webhook of Slack or a compatible receiver, without a
// signature. FormatSlackApp posts with the bot token of a Slack app, so that people can answer in Slack.
const (
	FormatStandard penstock.EndpointFormat = "standard" // as Standard Webhooks describe
	FormatSlack    penstock.EndpointFormat = "slack"
	FormatSlackApp penstock.EndpointFormat = "slack_app"
)

const (
	// EventEndpointPing is sent only on request, whatever the events of the endpoint are.
	EventEndpointPing penstock.EndpointEvent = "endpoint.ping"
)
