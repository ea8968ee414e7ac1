package service

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
)

// maxShownModel bounds what a message repeats of a model's name, in bytes.
const maxShownModel = 100

// quotedModel is the name of a model for messages and headers: quoted, in ASCII,
// without control characters and commas, and cut where it is long.
func quotedModel(name string) string {
	if len(name) > maxShownModel {
		name = strings.ToValidUTF8(name[:maxShownModel], "") + "..."
	}
	return strings.ReplaceAll(strconv.QuoteToASCII(name), ",", `\x2c`)
}

// providerKeys are the variables that give a worker a provider.
var providerKeys = map[string]string{
	"anthropic/": "ANTHROPIC_API_KEY", "openai/": "OPENAI_API_KEY", "google/": "GEMINI_API_KEY",
}

// noProvider says that no connected worker has a provider for a model, and how to
// fix it.
func noProvider(model string) string {
	text := "no connected worker has a provider for the model " + quotedModel(model)
	if key, known := providerKeys[penstock.ProviderPrefix(model)]; known {
		return fmt.Sprintf("%s: set %s for a worker, or cancel the run and create it with another model", text, key)
	}
	return text + ": the built-in agent has models of anthropic/, openai/ and google/; cancel the run and create it with one of them"
}
