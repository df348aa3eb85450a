package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"dray.test/interop/clients/steps"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// servedPort is where the program serves pages when it runs in a pod.
const servedPort = "18080"

const longPage = 3_000_000

// serve is what the program does in a pod: each page says its own path, and one is long.
func serve() error {
	return http.ListenAndServe(net.JoinHostPort(os.Getenv("POD_IP"), servedPort), http.HandlerFunc(
		func(response http.ResponseWriter, request *http.Request) {
			_, _ = io.WriteString(response, pageAt(request.URL.Path))
		}))
}

func pageAt(path string) string {
	if path == "/long" {
		return strings.Repeat("x", longPage)
	}
	return "page " + path
}

func forward(ctx context.Context, config *rest.Config, namespace string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	const pod = "interop-site"
	program, err := os.Executable()
	if err != nil {
		return err
	}
	program = filepath.Join(programFolder, filepath.Base(program))
	ownAddress := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}
	listens := &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.Parse(servedPort)}}}
	site := corev1.Container{Command: []string{program, "serve"}, ReadinessProbe: listens, Env: []corev1.EnvVar{{Name: "POD_IP", ValueFrom: ownAddress}}}
	if err := runContainer(ctx, client, namespace, pod, site); err != nil {
		return err
	}
	url := client.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return err
	}
	overSPDY := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	tunnel, err := portforward.NewSPDYOverWebsocketDialerForStreaming(url, config)
	if err != nil {
		return err
	}
	for _, way := range []struct {
		name   string
		dialer httpstream.Dialer
	}{
		{"WebSocket", tunnel},
		{"SPDY", overSPDY},
		{"WebSocket, else SPDY", portforward.NewFallbackDialerForStreaming(tunnel, overSPDY, needsFallback)},
	} {
		if err := readPages(ctx, way.dialer); err != nil {
			return fmt.Errorf("over %s: %w", way.name, err)
		}
	}
	return nil
}

// readPages forwards a port, and reads pages through it at the same time.
func readPages(ctx context.Context, dialer httpstream.Dialer) error {
	stop, ready := make(chan struct{}), make(chan struct{})
	var trouble bytes.Buffer
	forwarder, err := portforward.NewForStreaming(dialer, []string{"0:" + servedPort}, stop, ready, io.Discard, &trouble)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-ended:
		return fmt.Errorf("it ended before it was ready: %w", err)
	case <-ctx.Done():
		return ctx.Err()
	}
	read := func() error {
		ports, err := forwarder.GetPorts()
		if err != nil {
			return err
		}
		base := fmt.Sprintf("http://127.0.0.1:%d", ports[0].Local)
		pages := []string{"/long", "/1", "/2", "/3", "/4", "/long", "/5", "/6"}
		failures := make([]error, len(pages))
		var all sync.WaitGroup
		for index, path := range pages {
			all.Go(func() { failures[index] = readPage(ctx, base, path) })
		}
		all.Wait()
		return errors.Join(failures...)
	}
	failure := read()
	close(stop)
	failure = errors.Join(failure, <-ended)
	return errors.Join(failure, steps.Want("what is said of errors", trouble.String(), ""))
}

// readPage reads a page over a connection of its own.
func readPage(ctx context.Context, base, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
	if err != nil {
		return err
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if string(page) != pageAt(path) {
		return fmt.Errorf("%s: another page, of %d bytes", path, len(page))
	}
	return nil
}
