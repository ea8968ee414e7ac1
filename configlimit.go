package penstock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Limits of a configuration.
const (
	// MaxConfigBytes limits the JSON of a configuration, because every list of runs shows it.
	// The limit applies to requests, to each layer, and to the resolved configuration.
	MaxConfigBytes = 256 << 10

	maxConfigText    = 200       // bytes of an id or a name
	maxConfigSkills  = 100       // skills to have at hand
	maxConfigServers = 50        // MCP servers
	maxVariable      = 128 << 10 // bytes of a variable as NAME=value with its end: what Linux gives to a program
)

// Size returns the size of c as JSON, in bytes.
func (c *Config) Size() int {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(c); err != nil { // invalid raw JSON; its reader reports it
		return 0
	}
	return b.Len() - 1 // the line break
}

// CheckSize returns an error at the largest key if a configuration is too large, or nil.
func (c *Config) CheckSize(at string) []FieldError {
	size := c.Size()
	if size <= MaxConfigBytes {
		return nil
	}
	return []FieldError{{at + "/" + c.largestKey(), fmt.Sprintf(
		"is the largest key of a configuration of %d bytes; a configuration may have at most %d", size, MaxConfigBytes)}}
}

func (c *Config) largestKey() (largest string) {
	text, err := json.Marshal(c)
	var keys map[string]json.RawMessage
	if err != nil || json.Unmarshal(text, &keys) != nil {
		return ""
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if len(keys[key]) > len(keys[largest]) {
			largest = key
		}
	}
	return largest
}

// checkLimits returns the values that are too long, and the lists with too many entries.
func (c *Config) checkLimits(bad func(pointer, format string, args ...any)) {
	harness := Harness{}
	if c.Harness != nil {
		harness = *c.Harness
	}
	for _, text := range []struct {
		pointer, value string
		most           int
	}{
		{"/name", c.Name, maxConfigName},
		{"/model_id", c.ModelID, maxConfigText},
		{"/environment_id", c.EnvironmentID, maxConfigText},
		{"/runner_id", c.RunnerID, maxConfigText},
		{"/worker_host", c.WorkerHost, maxConfigText},
		{"/computer_use_model_id", c.ComputerUseModelID, maxConfigText},
		{"/harness/model_id", harness.ModelID, maxConfigText},
		{"/harness/reasoning_level", harness.ReasoningLevel, maxConfigText},
	} {
		if len(text.value) > text.most {
			bad(text.pointer, "is %d bytes long; at most %d are allowed", len(text.value), text.most)
		}
	}
	if n := len(c.Skills); n > maxConfigSkills {
		bad("/skills", "has %d entries; at most %d are allowed", n, maxConfigSkills)
	}
	if n := len(c.MCPServers); n > maxConfigServers {
		bad("/mcp_servers", "has %d entries; at most %d are allowed", n, maxConfigServers)
	}
	checkVariables(bad, "/env/", c.Env)
	for name, server := range c.MCPServers {
		checkVariables(bad, "/mcp_servers/"+EscapePointer(name)+"/env/", server.Env)
	}
}

func checkVariables(bad func(pointer, format string, args ...any), at string, variables map[string]string) {
	for name, value := range variables {
		if n := len(name) + len(value) + 2; n > maxVariable {
			bad(
				at+EscapePointer(name), "has %d bytes together with its name; at most %d are allowed", n-2, maxVariable-2,
			)
		}
	}
}
