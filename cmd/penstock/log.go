package main

import (
	"log/slog"
)

// logging says how a server or worker logs.
type logging struct {
	LogFormat string `enum:"text,json" default:"text" help:"Format of the log on standard error: text or json."`
	LogLevel  string `enum:"debug,info,warn,error" default:"info" help:"Minimum log level: debug, info, warn or error."`
}

func (l *logging) logger(std *stdio) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.LogLevel)); err != nil {
		level = slog.LevelInfo // kong accepts only the four names
	}
	options := &slog.HandlerOptions{Level: level}
	if l.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(std.err, options))
	}
	return slog.New(slog.NewTextHandler(std.err, options))
}
