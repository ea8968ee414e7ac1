package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

type runNetworkCmd struct {
	ID string `arg:"" name:"run" help:"ID of the run; @last is the one created last that your key may see."`
}

func (cmd *runNetworkCmd) Run(ctx context.Context, std *stdio, in *runCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	return perform(ctx, c, http.MethodGet, runPath(cmd.ID, "network"), nil, func(n run.RunNetwork) error {
		list := []fact{{"sealed", sealedText(n.Sealed)}}
		for _, layer := range n.Policy.Layers {
			list = append(list, fact{strings.TrimSpace(layer.Source + " " + layer.Name), networkText(&layer.Network)})
		}
		list = append(
			list, fact{"ceiling", networkText(n.Policy.Ceiling)}, fact{"narrowed to", networkText(n.Policy.Request)},
		)
		for _, models := range n.Policy.Models {
			list = append(list, fact{"models", strings.Join(models.Allow, " ")})
		}
		if err := std.facts(list); err != nil {
			return err
		}
		var rows [][]string
		for _, h := range n.Hosts {
			rows = append(rows, []string{
				fmt.Sprintf("%s:%d", h.Host, h.Port), h.Mode, number(h.Requests), number(h.BytesIn), number(h.BytesOut),
				number(h.Refused), h.Reason,
			})
		}
		return std.table([]string{"HOST", "MODE", "REQUESTS", "BYTES IN", "BYTES OUT", "REFUSED", "REASON"}, rows)
	})
}

func sealedText(sealed *bool) string {
	switch {
	case sealed == nil:
		return "not checked yet"
	case *sealed:
		return "yes"
	}
	return "no: it reaches everything that its worker reaches"
}

// networkText lists the rules of a network, one per line; "" for nil.
func networkText(n *penstock.Network) string {
	if n == nil {
		return ""
	}
	var lines []string
	for _, r := range n.Allow {
		lines = append(lines, ruleText(r))
	}
	if len(n.ProviderTools) > 0 {
		lines = append(lines, "provider tools: "+strings.Join(n.ProviderTools, " "))
	}
	if n.MaxUploadBytes > 0 {
		lines = append(lines, fmt.Sprintf("uploads: at most %d bytes", n.MaxUploadBytes))
	}
	if lines == nil {
		return "nothing"
	}
	return strings.Join(lines, "\n")
}

func ruleText(r penstock.NetworkRule) string {
	if r.Preset != "" {
		return "preset " + r.Preset
	}
	parts := []string{r.Host}
	for _, port := range r.Ports {
		parts = append(parts, fmt.Sprintf(":%d", port))
	}
	parts = slices.Concat(parts, r.Methods, r.Paths)
	if r.Credential != nil {
		parts = append(parts, "with the secret "+r.Credential.Secret)
	}
	return strings.Join(parts, " ")
}
