package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v4"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

// networkSettings is the key network of the configuration file.
type networkSettings struct {
	penstock.Network

	Ceiling *penstock.Network `json:"ceiling"`
}

// defaultNetwork returns the server's layer if the file has no key network.
func defaultNetwork() penstock.Network {
	return penstock.Network{Allow: []penstock.NetworkRule{{Preset: "packages"}}}
}

// serverNetwork returns the server's part of the network of all runs.
func (s *fileSettings) serverNetwork() run.ServerNetwork {
	network := s.Network
	if !s.networkGiven {
		network.Layer = defaultNetwork()
	}
	return network
}

func (s *fileSettings) readNetwork(node *yaml.Node) error {
	var value any
	if err := node.Load(&value); err != nil {
		return err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	var given networkSettings
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&given); err != nil {
		return fmt.Errorf("is not a network: %w", err)
	}
	errs := run.CheckNetwork("", &given.Network, nil)
	uses := given.Credentials("/network")
	if given.Ceiling != nil {
		errs = append(errs, run.CheckNetwork("/ceiling", given.Ceiling, nil)...)
		uses = append(uses, given.Ceiling.Credentials("/ceiling")...)
	}
	for _, use := range uses {
		errs = append(errs, penstock.FieldError{Pointer: use.Pointer, Detail: "is not allowed here: managed secrets belong " +
			"to a team, so put the rule into the network of an environment, a factory or an agent"})
	}
	if errs != nil {
		return fileErrors(errs)
	}
	s.Network.Layer, s.Network.Ceiling, s.networkGiven = given.Network, given.Ceiling, true
	return nil
}

// fileErrors returns findings as one error of the configuration file.
func fileErrors(found []penstock.FieldError) error {
	var errs []error
	for _, e := range found {
		errs = append(errs, errors.New(e.String()))
	}
	return errors.Join(errs...)
}
