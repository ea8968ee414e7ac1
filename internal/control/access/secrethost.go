package access

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
)

const maxSecretHosts = 100

// checkSecretHosts returns the errors of the hosts of a managed secret, with pointers below /hosts.
// Valid hosts are exact names in canonical form, and IP addresses. HOST:PORT is the registry of images
// at another port than 443.
func checkSecretHosts(hosts []string) []penstock.FieldError {
	if len(hosts) > maxSecretHosts {
		return []penstock.FieldError{{Pointer: "/hosts", Detail: fmt.Sprintf("must have at most %d hosts", maxSecretHosts)}}
	}
	var errs []penstock.FieldError
	for i, host := range hosts {
		pointer := fmt.Sprintf("/hosts/%d", i)
		switch reason := checkSecretHost(host); {
		case strings.HasPrefix(host, "*."):
			errs = append(errs, penstock.FieldError{
				Pointer: pointer,
				Detail:  "must be an exact host: a wildcard would give the secret to hosts that nobody named",
			})
		case reason != "":
			errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: reason})
		case slices.Index(hosts, host) < i:
			errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: "occurs more than once"})
		}
	}
	return errs
}

// checkSecretHost describes what is wrong with a host of a secret. It returns "" for a valid one.
func checkSecretHost(host string) string {
	name, port, found := strings.Cut(host, ":")
	if _, err := netip.ParseAddr(host); err == nil || !found {
		return penstock.NetworkRule{Host: host}.CheckHost()
	}
	switch number, err := strconv.ParseUint(port, 10, 16); {
	case err != nil || number == 0 || port[0] == '0':
		return "must have a port from 1 to 65535 after the colon"
	case number == 443:
		return "must not have the port 443, which a host without a port stands for"
	}
	return penstock.NetworkRule{Host: name}.CheckHost()
}
