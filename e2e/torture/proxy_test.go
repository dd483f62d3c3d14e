//go:build unix

package torture

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// identity is what the doors show to TLS clients: the certificate of a private authority for secureHost.
type identity struct {
	authority []byte // PEM
	config    *tls.Config
}

// secureHost is the name of the service in TLS. No resolver knows it, so it can be reached only through the
// proxies.
const secureHost = "ledger.example"

func newIdentity() *identity {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	must(err)
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "torture"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().AddDate(1, 0, 0),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	authority, err := x509.CreateCertificate(crand.Reader, root, root, key.Public(), key)
	must(err)
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{secureHost}, NotBefore: root.NotBefore,
		NotAfter: root.NotAfter}
	own, err := x509.CreateCertificate(crand.Reader, leaf, root, key.Public(), key)
	must(err)
	return &identity{
		authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority}),
		// Without tickets, everything that the server sends after its handshake is an answer.
		config: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{own}, PrivateKey: key}},
			SessionTicketsDisabled: true},
	}
}

// buffered is a connection with a buffer of data that is already read.
type buffered struct {
	net.Conn
	in *bufio.Reader
}

func (b buffered) Read(p []byte) (int, error) { return b.in.Read(p) }

// cut is where a proxy breaks a connection. It is drawn for an attempt, which sends it to the proxy as its
// user name.
type cut struct {
	// Place is "" (nowhere), "refused" (CONNECT is answered with 502), "answer" (the answer to CONNECT breaks
	// off), "hello" (during the client's handshake), "request" or "response" (of the first exchange).
	Place string
	After int  // bytes of what the client sends, or of the response
	Reset bool // instead of an orderly end
}

func (c cut) String() string {
	how := "end"
	if c.Reset {
		how = "reset"
	}
	return fmt.Sprintf("%s-%d-%s", c.Place, c.After, how)
}

func readCut(text string) (c cut) {
	how := ""
	fmt.Sscanf(strings.ReplaceAll(text, "-", " "), "%s %d %s", &c.Place, &c.After, &how)
	c.Reset = how == "reset"
	return c
}

// neverLeft reports whether a create with this cut has not written a byte of its request.
func (c cut) neverLeft() bool {
	return c.Place == "refused" || c.Place == "answer" || c.Place == "hello"
}

// newProxy opens a proxy for a door, and returns its address. A door has at most one.
func (l *ledger) newProxy(door string) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.proxies[door] = ln
	go l.accept(ln.Addr().String(), ln, func(n int, c *net.TCPConn) { l.tunnel(n, c, door) })
	return ln.Addr().String()
}

// tunnel connects a client with a door, until one of them or the cut ends the connection.
func (l *ledger) tunnel(n int, client *net.TCPConn, door string) {
	in := bufio.NewReader(client)
	req, err := http.ReadRequest(in)
	if err != nil {
		return
	}
	if req.Method != http.MethodConnect {
		fmt.Fprintf(client, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%d", len(fmt.Sprint(n)), n)
		return
	}
	words, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(req.Header.Get("Proxy-Authorization"), "Basic "))
	user, _, _ := strings.Cut(string(words), ":")
	where := readCut(user)
	if where.Place == "refused" {
		fmt.Fprint(client, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
		return
	}
	upstream, err := net.Dial("tcp", door)
	if err != nil {
		fmt.Fprint(client, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
		return
	}
	defer upstream.Close()
	established := "HTTP/1.1 200 Connection established\r\n\r\n"
	if where.Place == "answer" {
		io.WriteString(client, established[:min(where.After, len(established)-1)])
		return
	}
	io.WriteString(client, established)
	t := &tunnel{cut: where, client: client, upstream: upstream.(*net.TCPConn)}
	back := make(chan struct{})
	go func() {
		defer close(back)
		t.down()
	}()
	t.up(in)
	<-back
}

// tunnel is a connection through a proxy.
type tunnel struct {
	cut
	client, upstream *net.TCPConn
	asked            atomic.Bool // a part of a request is on its way to the door
}

// end breaks both connections.
func (t *tunnel) end() {
	for _, c := range []*net.TCPConn{t.client, t.upstream} {
		if t.Reset {
			c.SetLinger(0)
		}
		c.Close()
	}
}

// Types of TLS records. A client's first record with application data ends its handshake. Later ones are
// requests.
const recordHandshake, recordData = 22, 23

// up copies what the client sends, record by record.
func (t *tunnel) up(in *bufio.Reader) {
	defer t.upstream.CloseWrite()
	hello, request := 0, 0 // bytes
	for data := 0; ; {
		head, err := in.Peek(5)
		if err != nil {
			return
		}
		rest := 5 + int(head[3])<<8 + int(head[4])
		if head[0] == recordData {
			data++
		}
		record := make([]byte, rest)
		if _, err := io.ReadFull(in, record); err != nil {
			return
		}
		if data < 2 {
			if t.Place == "hello" && hello+rest > t.After {
				t.upstream.Write(record[:t.After-hello])
				t.end()
				return
			}
			hello += rest
		} else {
			if t.Place == "request" && request+rest > t.After {
				t.upstream.Write(record[:t.After-request]) // an incomplete record, which the door ignores
				t.end()
				return
			}
			request += rest
			t.asked.Store(true)
		}
		if _, err := t.upstream.Write(record); err != nil {
			return
		}
	}
}

// down copies what the door answers.
func (t *tunnel) down() {
	defer t.client.CloseWrite()
	response := 0 // bytes
	for text := make([]byte, 4096); ; {
		n, err := t.upstream.Read(text)
		if t.Place == "response" && t.asked.Load() && response+n > t.After {
			t.client.Write(text[:t.After-response])
			t.end()
			return
		}
		if t.asked.Load() {
			response += n
		}
		if _, broken := t.client.Write(text[:n]); err != nil || broken != nil {
			return
		}
	}
}
