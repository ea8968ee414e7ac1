package agent

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// checkTime limits the check of an MCP server over HTTP, which an agent waits for.
const checkTime = 20 * time.Second

// Check is the hidden command that a worker runs before an agent that is not ours: some of them do not
// start with an MCP server over HTTP that does not work. It reads the servers as a JSON list, connects to
// all of them at once, and writes a line with an [acp.ServerFailure] for each that does not list its tools.
// The proxy and certificates are those in env. It returns the exit code.
func Check(ctx context.Context, in io.Reader, out io.Writer, env []string) int {
	const most = 16 << 20
	var servers []acp.MCPServer
	if err := json.NewDecoder(io.LimitReader(in, most)).Decode(&servers); err != nil {
		return 1
	}
	owner := &session{env: env, agent: &agent{cfg: Config{ServerStart: checkTime, Log: slog.New(slog.DiscardHandler)}}}
	var checks sync.WaitGroup
	var mu sync.Mutex
	for _, described := range servers {
		checks.Go(func() {
			m := &mcpServer{described: described, owner: owner}
			err := m.connect(ctx)
			m.disconnect()
			if err == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			_ = json.NewEncoder(out).Encode(acp.ServerFailure{Name: described.Name, Reason: clean(err.Error())})
		})
	}
	checks.Wait()
	return 0
}
