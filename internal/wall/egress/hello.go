package egress

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"golang.org/x/crypto/cryptobyte"
)

const (
	recordHandshake  = 22      // RFC 8446 §5.1
	typeClientHello  = 1       // RFC 8446 §4
	extensionSNI     = 0       // RFC 6066 §3
	maxRecord        = 1 << 14 // RFC 8446 §5.1
	maxClientHello   = 64 << 10
	maxHelloBytes    = 2 * maxClientHello // with the headers of its records
	recordHeaderSize = 5
)

var errNotTLS = errors.New("the connection does not begin with a TLS ClientHello")

// readHello reads a TLS ClientHello, in one record or in several, and returns the bytes as they
// were read and the server name, "" if it has none.
func readHello(r io.Reader) (raw []byte, name string, err error) {
	var message []byte
	for len(raw) < maxHelloBytes {
		start := len(raw)
		raw = append(raw, make([]byte, recordHeaderSize)...)
		if _, err := io.ReadFull(r, raw[start:]); err != nil {
			return raw[:start], "", fmt.Errorf("read a TLS record: %w", err)
		}
		size := int(binary.BigEndian.Uint16(raw[start+3:]))
		if raw[start] != recordHandshake || raw[start+1] != 3 || size == 0 || size > maxRecord {
			return raw, "", errNotTLS
		}
		start = len(raw)
		raw = append(raw, make([]byte, size)...)
		if _, err := io.ReadFull(r, raw[start:]); err != nil {
			return raw[:start], "", fmt.Errorf("read a TLS record: %w", err)
		}
		message = append(message, raw[start:]...)
		if message[0] != typeClientHello {
			return raw, "", errNotTLS
		}
		if len(message) < 4 {
			continue
		}
		length := int(message[1])<<16 | int(message[2])<<8 | int(message[3])
		if length > maxClientHello {
			return raw, "", errNotTLS
		}
		if len(message) >= 4+length {
			name, err = serverName(message[4 : 4+length])
			return raw, name, err
		}
	}
	return raw, "", errNotTLS
}

// serverName returns the host name in the body of a ClientHello (RFC 8446 §4.1.2), "" if it has
// none. A hello with two names is an error: another reader could take the other one.
func serverName(body []byte) (string, error) {
	s := cryptobyte.String(body)
	var session, suites, compression, extensions cryptobyte.String
	if !s.Skip(2+32) || !s.ReadUint8LengthPrefixed(&session) || !s.ReadUint16LengthPrefixed(&suites) ||
		!s.ReadUint8LengthPrefixed(&compression) {
		return "", errNotTLS
	}
	if s.Empty() {
		return "", nil
	}
	if !s.ReadUint16LengthPrefixed(&extensions) || !s.Empty() {
		return "", errNotTLS
	}
	name, found := "", false
	for !extensions.Empty() {
		var kind uint16
		var data cryptobyte.String
		if !extensions.ReadUint16(&kind) || !extensions.ReadUint16LengthPrefixed(&data) {
			return "", errNotTLS
		}
		if kind != extensionSNI {
			continue
		}
		var list, host cryptobyte.String
		var nameType uint8
		if found || !data.ReadUint16LengthPrefixed(&list) || !data.Empty() || !list.ReadUint8(&nameType) ||
			nameType != 0 || !list.ReadUint16LengthPrefixed(&host) || !list.Empty() || len(host) == 0 {
			return "", errors.New("the server name of the ClientHello is malformed")
		}
		name, found = string(host), true
	}
	return name, nil
}
