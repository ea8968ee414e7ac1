package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

type outputCmds struct {
	connection

	PR      outputPullRequestCmd `cmd:"" name:"pr" help:"From inside a run: declare a pull request of the branch that was pushed."`
	Comment outputCommentCmd     `cmd:"" help:"From inside a run: declare a comment on its pull request."`
	List    outputListCmd        `cmd:"" help:"List the outputs of a run, or outputs in a state."`
	Approve outputApproveCmd     `cmd:"" help:"Release an output that is held."`
	Reject  outputRejectCmd      `cmd:"" help:"Discard an output that is held."`
}

// declaredIn is the run that declares an output.
type declaredIn struct {
	RunID      string `name:"run" env:"PENSTOCK_RUN_ID" placeholder:"ID" help:"ID of the run; in its sandbox, the run itself."`
	Repository string `placeholder:"OWNER/NAME" field:"/repository" help:"Repository; needed if the run has several with a connection."`
}

func (d declaredIn) declare(
	ctx context.Context, std *stdio, in *outputCmds, kind penstock.OutputKind, fields map[string]any, body string,
) error {
	if d.RunID == "" {
		return exitf(exitUsage, "only a run declares outputs: PENSTOCK_RUN_ID and --run are not set")
	}
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	if fields["body"], err = std.text(body); err != nil {
		return err
	}
	fields["kind"] = kind
	return perform(ctx, c, http.MethodPost, runPath(d.RunID, "outputs"), fields, std.printOutput)
}

// printOutput says what happens to an output.
func (s *stdio) printOutput(o penstock.Output) error {
	s.notef("%s", map[penstock.OutputState]string{
		penstock.OutputDeclared:  "declared: it is done when this turn ends well",
		penstock.OutputQueued:    "released: it is done next",
		penstock.OutputDiscarded: "discarded",
	}[o.State])
	_, err := fmt.Fprintln(s.out, o.UID)
	return err
}

type outputPullRequestCmd struct {
	declaredIn
	Title  string `required:"" field:"/title" help:"Title, in one line."`
	Body   string `help:"Text in Markdown; - reads it from standard input."`
	Branch string `field:"/branch" help:"Branch that the run has pushed; by default the last one."`
	Base   string `field:"/base" help:"Base branch that the settings of the run allow; by default the ref of the repository in the run, or its default branch."`
	Ready  bool   `xor:"draft" help:"Open it for review at once. By default, the settings of the run decide, which is a draft without settings."`
	Draft  bool   `xor:"draft" help:"Open it as a draft."`
}

func (cmd *outputPullRequestCmd) Help() string {
	return "The pull request is opened after the turn, if the turn ends well. To declare it again in a later turn " +
		"changes its text."
}

func (cmd *outputPullRequestCmd) Run(ctx context.Context, std *stdio, in *outputCmds) error {
	fields := fieldsOf(cmd)
	if cmd.Ready || cmd.Draft {
		fields["draft"] = cmd.Draft
	}
	return cmd.declare(ctx, std, in, penstock.OutputPullRequest, fields, cmd.Body)
}

type outputCommentCmd struct {
	declaredIn
	Body string `arg:"" help:"Text in Markdown; - reads it from standard input."`
}

func (cmd *outputCommentCmd) Run(ctx context.Context, std *stdio, in *outputCmds) error {
	return cmd.declare(ctx, std, in, penstock.OutputComment, fieldsOf(cmd), cmd.Body)
}

type outputListCmd struct {
	ID    string `arg:"" optional:"" name:"run" help:"ID of the run; @last is the one created last that your key may see."`
	State string `placeholder:"STATE" help:"State, instead of a run; by default held."`
}

func (cmd *outputListCmd) Run(ctx context.Context, std *stdio, in *outputCmds) error {
	if cmd.ID != "" && cmd.State != "" {
		return exitf(exitUsage, "use either a run or --state")
	}
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	state := cmd.State
	if state == "" {
		state = string(penstock.OutputHeld)
	}
	path := "outputs?" + url.Values{"state": {state}}.Encode()
	if cmd.ID != "" {
		path = runPath(cmd.ID, "outputs")
	}
	return perform(ctx, c, http.MethodGet, path, nil, func(list run.OutputList) error {
		var rows [][]string
		for _, o := range list.Outputs {
			rows = append(rows, []string{
				o.UID, o.RunID, age(o.CreatedAt), string(o.Kind), string(o.State), o.Target.Repository, o.Payload.Title,
				o.URL, o.Problem,
			})
		}
		return std.table([]string{"OUTPUT", "RUN", "AGE", "KIND", "STATE", "REPOSITORY", "TITLE", "URL", "PROBLEM"}, rows)
	})
}

type outputApproveCmd struct {
	UID string `arg:"" help:"UID of the output."`
}

func (cmd *outputApproveCmd) Run(ctx context.Context, std *stdio, in *outputCmds) error {
	return decideOutput(ctx, std, in, cmd.UID, "approve")
}

type outputRejectCmd struct {
	UID string `arg:"" help:"UID of the output."`
}

func (cmd *outputRejectCmd) Run(ctx context.Context, std *stdio, in *outputCmds) error {
	return decideOutput(ctx, std, in, cmd.UID, "reject")
}

func decideOutput(ctx context.Context, std *stdio, in *outputCmds, uid, verb string) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	return perform(ctx, c, http.MethodPost, "outputs/"+url.PathEscape(uid)+"/"+verb, nil, std.printOutput)
}
