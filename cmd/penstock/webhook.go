package main

type webhookCmds struct {
	Verify webhookVerifyCmd `cmd:"" help:"Check the signature of a captured delivery, when the sender gets 401."`
}
