package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"example.com/till/pkg/api"
)

// NormalizeBaseURL checks the address of a service and writes it in its only normal form: scheme and host in
// lower case, no default port, no slash at the end. It accepts plain http only for literal loopback
// addresses, and no other spelling of the same address, see [api.CheckSpelling].
func NormalizeBaseURL(text string) (string, error) {
	u, err := parseBaseURL(text)
	if err != nil {
		return "", err
	}
	return u.Scheme + "://" + u.Host + strings.TrimRight(u.EscapedPath(), "/"), nil
}

// errPlainHTTP marks the only fault of an address that is dangerous and not merely misspelled.
var errPlainHTTP = errors.New("plain http to another machine")

func parseBaseURL(text string) (*url.URL, error) {
	const want = "write one such as https://pay.example.com"
	u, err := url.Parse(text)
	switch { // the errors show no address that may hold a password
	case err != nil || strings.ContainsFunc(text, unicode.IsSpace):
		return nil, fmt.Errorf("the address cannot be understood: %s", want)
	case u.User != nil || strings.ContainsAny(text, "?#"):
		return nil, fmt.Errorf("the address has a user name or a password, a query or a fragment: leave them out, and %s", want)
	case u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "":
		return nil, fmt.Errorf("%q does not begin with https:// and a host: %s", text, want)
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return nil, fmt.Errorf("%q has no such port: write a number from 1 to 65535", text)
		}
		port = strconv.FormatUint(n, 10)
	}
	if u.Scheme == "http" && !isLoopback(host) {
		instead := "write https://"
		if host == "localhost" { // a name: a machine can be set up to resolve it to any address
			instead = "write 127.0.0.1 instead of localhost"
		}
		return nil, fmt.Errorf("%w: over %q a key would be readable on the way, %s", errPlainHTTP, text, instead)
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		host = addr.String() // one spelling of an IPv6 address
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	u.Host = host
	if ofScheme := map[string]string{"https": "443", "http": "80"}[u.Scheme]; port != "" && port != ofScheme {
		u.Host += ":" + port
	}
	return u, api.CheckSpelling(u)
}

// isLoopback reports whether a host is a literal loopback address, 127.0.0.0/8 or ::1. No name is one.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Zone() == "" && !addr.Is4In6() && addr.IsLoopback()
}

// IsLoopbackURL reports whether an address is on a literal loopback address.
func IsLoopbackURL(text string) bool {
	u, err := parseBaseURL(text)
	return err == nil && isLoopback(u.Hostname())
}

// serverOf returns the part of an address that decides who gets a key: scheme, host and port. It is empty for
// no address.
func serverOf(text string) string {
	u, err := parseBaseURL(text)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
