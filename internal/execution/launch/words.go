package launch

import (
	"slices"
	"strings"
)

// cannotExecute is the exit code of a shell for a program that it may not execute.
const cannotExecute = 126

// mountHint says what to do about a node that cannot mount the image of the worker, or whose runtime
// executes nothing that is mounted. It says so in words of its own, which depend on its version.
func (o observation) mountHint() string {
	for _, v := range o.pod.Spec.Volumes {
		if v["image"] != nil {
			return " The Pod mounts the worker's image, which not every node can. If that is the reason, start the launcher " +
				"without --pod-mount-program."
		}
	}
	return ""
}

// image is the image that a container waits for: one that it mounts, if the message names that, or its
// own.
func (o observation) image(name, message string) string {
	for _, v := range o.pod.Spec.Volumes {
		mounted, _ := v["image"].(map[string]any)
		if reference, ok := mounted["reference"].(string); ok && strings.Contains(message, reference) {
			return reference
		}
	}
	for _, c := range slices.Concat(o.pod.Spec.InitContainers, o.pod.Spec.Containers) {
		if c.Name == name {
			return c.Image
		}
	}
	return ""
}

// pullError prefers the event of the failure: while it backs off, the container's message does not
// say why.
func (o observation) pullError(message string) string {
	if e, ok := last(o.events, "Pod", "Failed"); ok && strings.HasPrefix(e.Message, "Failed to pull") {
		return e.Message
	}
	return message
}

// memoryLimit is the memory limit of the worker's container, or "".
func memoryLimit(p *pod) string {
	for _, c := range p.Spec.Containers {
		if limits, ok := c.Resources["limits"].(map[string]any); ok && c.Name == mainContainer {
			limit, _ := limits["memory"].(string)
			return limit
		}
	}
	return ""
}

// details adds the words of a container's end to a sentence. A process that was killed has not said why.
func details(t *terminatedState) string {
	if t.Message == "" || t.ExitCode > 128 {
		return "."
	}
	return ": " + sentence(t.Message)
}

// maxWords limits the text of the cluster in a message, in bytes.
const maxWords = 1000

// sentence cleans a text of the cluster, which may have been written by a hostile program.
func sentence(text string) string {
	text = strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "")
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, text)
	if len(text) > maxWords {
		text = strings.ToValidUTF8("…"+text[len(text)-maxWords:], "")
	}
	return strings.TrimRight(text, ".") + "."
}
