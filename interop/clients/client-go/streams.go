package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"dray.test/interop/clients/steps"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"
)

// agent is the node whose containers run; the others have none.
const agent = "interop-agent"

func needsFallback(err error) bool {
	return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
}

// executors are the ways in which programs reach the streams of a container.
var executors = []struct {
	name string
	make func(config *rest.Config, url *url.URL) (remotecommand.Executor, error)
}{
	{"WebSocket", overWebSocket},
	{"SPDY", overSPDY},
	{"WebSocket, else SPDY", func(config *rest.Config, url *url.URL) (remotecommand.Executor, error) {
		return withFallback(config, url, "v5.channel.k8s.io")
	}},
	// As with a server that does not know the protocol of the client.
	{"SPDY after a refused WebSocket", func(config *rest.Config, url *url.URL) (remotecommand.Executor, error) {
		return withFallback(config, url, "v99.channel.k8s.io")
	}},
}

func overWebSocket(config *rest.Config, url *url.URL) (remotecommand.Executor, error) {
	return remotecommand.NewWebSocketExecutor(config, http.MethodGet, url.String())
}

func overSPDY(config *rest.Config, url *url.URL) (remotecommand.Executor, error) {
	return remotecommand.NewSPDYExecutor(config, http.MethodPost, url)
}

func withFallback(config *rest.Config, url *url.URL, protocol string) (remotecommand.Executor, error) {
	first, err := remotecommand.NewWebSocketExecutorForProtocols(config, http.MethodGet, url.String(), protocol)
	if err != nil {
		return nil, err
	}
	second, err := overSPDY(config, url)
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(first, second, needsFallback)
}

// programFolder is where containers see the folder of this program.
const programFolder = "/interop"

// runContainer starts a pod with one container on the agent's node, and waits until it is ready.
func runContainer(ctx context.Context, client kubernetes.Interface, namespace, name string, container corev1.Container) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	grace := int64(1)
	container.Name, container.Image = "main", "interop"
	// Pods have users of their own, to whom the cache folder of this user is closed.
	container.VolumeMounts = []corev1.VolumeMount{{Name: "program", MountPath: programFolder, ReadOnly: true}}
	folder := corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: filepath.Dir(program)}}
	pods := client.CoreV1().Pods(namespace)
	_, err = pods.Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		Containers:                    []corev1.Container{container},
		Volumes:                       []corev1.Volume{{Name: "program", VolumeSource: folder}},
		NodeSelector:                  map[string]string{corev1.LabelHostname: agent},
		Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		RestartPolicy:                 corev1.RestartPolicyNever,
		TerminationGracePeriodSeconds: &grace,
	}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	var last corev1.PodStatus
	err = steps.Eventually(ctx, name+" is ready", func(ctx context.Context) (bool, error) {
		pod, err := pods.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		last = pod.Status
		for _, condition := range last.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("%w: %v %v", err, last.Phase, last.ContainerStatuses)
	}
	return nil
}

// streamURL is where a subresource of a pod answers with streams.
func streamURL(client kubernetes.Interface, namespace, pod, subresource string, options runtime.Object) *url.URL {
	return client.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).
		SubResource(subresource).VersionedParams(options, scheme.ParameterCodec).URL()
}

func execute(ctx context.Context, config *rest.Config, namespace string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	const pod = "interop-exec"
	if err := runContainer(ctx, client, namespace, pod, corev1.Container{Command: []string{"sleep", "300"}}); err != nil {
		return err
	}
	for _, way := range executors {
		run := func(options remotecommand.StreamOptions, command ...string) error {
			executor, err := way.make(config, streamURL(client, namespace, pod, "exec", &corev1.PodExecOptions{
				Command: command, Stdin: options.Stdin != nil, Stdout: options.Stdout != nil, Stderr: options.Stderr != nil, TTY: options.Tty}))
			if err != nil {
				return err
			}
			return executor.StreamWithContext(ctx, options)
		}
		for _, check := range []func(runner) error{outputs, input, terminal} {
			if err := check(run); err != nil {
				return fmt.Errorf("over %s: %w", way.name, err)
			}
		}
	}
	return nil
}

// A runner runs a command in a container.
type runner func(options remotecommand.StreamOptions, command ...string) error

func outputs(run runner) error {
	var stdout, stderr bytes.Buffer
	err := run(remotecommand.StreamOptions{Stdout: &stdout, Stderr: &stderr}, "sh", "-c", "echo out; echo err >&2; exit 3")
	if err := wantCode(err, 3); err != nil {
		return err
	}
	return errors.Join(steps.Want("standard output", stdout.String(), "out\n"), steps.Want("standard error", stderr.String(), "err\n"))
}

func input(run runner) error {
	var stdout bytes.Buffer
	sent := strings.Repeat("0123456789abcdef", 50_000)
	if err := run(remotecommand.StreamOptions{Stdin: strings.NewReader(sent), Stdout: &stdout}, "cat"); err != nil {
		return err
	}
	if stdout.String() != sent {
		return fmt.Errorf("%d bytes went in and %d others came out", len(sent), stdout.Len())
	}
	return nil
}

func terminal(run runner) error {
	var stdout bytes.Buffer
	size := make(sizes, 1)
	size <- remotecommand.TerminalSize{Width: 77, Height: 33}
	defer close(size)
	// The size is sent beside the command, and may come after its start.
	script := `until [ "$(stty size)" = "33 77" ]; do sleep 0.05; done; test -t 1 && stty size; exit 4`
	err := run(remotecommand.StreamOptions{Stdin: neverEnding(), Stdout: &stdout, Tty: true, TerminalSizeQueue: size}, "sh", "-c", script)
	if err := wantCode(err, 4); err != nil {
		return err
	}
	return steps.Want("what the terminal shows", stdout.String(), "33 77\r\n")
}

// neverEnding is the keyboard of somebody who does not type.
func neverEnding() io.Reader {
	reader, _ := io.Pipe()
	return reader
}

type sizes chan remotecommand.TerminalSize

func (s sizes) Next() *remotecommand.TerminalSize {
	size, more := <-s
	if !more {
		return nil
	}
	return &size
}

func wantCode(err error, code int) error {
	var ended exec.CodeExitError
	if !errors.As(err, &ended) {
		return fmt.Errorf("the command ended with %v instead of the code %d", err, code)
	}
	return steps.Want("the code of the command", ended.Code, code)
}

func attach(ctx context.Context, config *rest.Config, namespace string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	// A container that is done when who attaches is.
	container := corev1.Container{Stdin: true, StdinOnce: true, Command: []string{"sh", "-c", `while read -r line; do echo "got $line"; done; echo done`}}
	for index, way := range executors {
		pod := fmt.Sprintf("interop-attach-%d", index)
		if err := runContainer(ctx, client, namespace, pod, container); err != nil {
			return err
		}
		executor, err := way.make(config, streamURL(client, namespace, pod, "attach", &corev1.PodAttachOptions{Stdin: true, Stdout: true}))
		if err != nil {
			return err
		}
		var stdout bytes.Buffer
		options := remotecommand.StreamOptions{Stdin: strings.NewReader("some\nwords\n"), Stdout: &stdout}
		if err := executor.StreamWithContext(ctx, options); err != nil {
			return fmt.Errorf("over %s: %w", way.name, err)
		}
		if err := steps.Want("the output", stdout.String(), "got some\ngot words\ndone\n"); err != nil {
			return fmt.Errorf("over %s: %w", way.name, err)
		}
	}
	return nil
}
