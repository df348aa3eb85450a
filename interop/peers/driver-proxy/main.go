// Command driver-proxy does what upstream's DRA suite uses the CSI host path driver for: its test drivers run in the
// suite's own process, and kubelet reaches them through this program in a pod. It accepts connections of kubelet on a
// unix socket and connections of the suite, which dials ahead, on a TCP port, and pairs them.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

func main() {
	endpoint := flag.String("endpoint", "", "unix socket that kubelet dials")
	proxyEndpoint := flag.String("proxy-endpoint", "", "tcp://HOST:PORT that the suite dials")
	flag.String("drivername", "", "not used")
	flag.String("nodeid", "", "not used")
	flag.Int("v", 0, "not used")
	flag.Parse()
	if err := run(*endpoint, *proxyEndpoint); err != nil {
		fmt.Fprintln(os.Stderr, "driver-proxy:", err)
		os.Exit(1)
	}
}

func run(endpoint, proxyEndpoint string) error {
	socket := strings.TrimPrefix(endpoint, "unix://")
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	kubelet, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	suite, err := net.Listen("tcp", strings.TrimPrefix(proxyEndpoint, "tcp://"))
	if err != nil {
		return err
	}
	for {
		client, err := kubelet.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer client.Close()
			for {
				driver, err := suite.Accept()
				if err != nil {
					return
				}
				sent := bufio.NewReader(driver)
				if isOpen(driver, sent) {
					join(client, driver, sent)
					return
				}
				driver.Close()
			}
		}()
	}
}

// isOpen reports whether the suite still holds a connection that it dialled ahead. What the suite's gRPC server has sent
// already stays in the reader.
func isOpen(connection net.Conn, sent *bufio.Reader) bool {
	_ = connection.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	_, err := sent.Peek(1)
	_ = connection.SetReadDeadline(time.Time{})
	return err == nil || errors.Is(err, os.ErrDeadlineExceeded)
}

// join copies both ways until either side ends.
func join(client, driver net.Conn, sent io.Reader) {
	done := make(chan struct{}, 2)
	pass := func(to io.Writer, from io.Reader) {
		_, _ = io.Copy(to, from)
		done <- struct{}{}
	}
	go pass(driver, client)
	go pass(client, sent)
	<-done
	client.Close()
	driver.Close()
	<-done
}
