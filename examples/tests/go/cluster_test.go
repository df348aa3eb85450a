// Package cluster shows Dray in the place of envtest: TestMain starts a whole cluster, nodes included, for all tests of
// the package.
package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const name = "go-test"

var client kubernetes.Interface

// dray runs the command line: what DRAY names, by default dray on the PATH.
func dray(arguments ...string) (string, error) {
	words := strings.Fields(os.Getenv("DRAY"))
	if len(words) == 0 {
		words = []string{"dray"}
	}
	command := exec.Command(words[0], append(words[1:], arguments...)...)
	command.Stderr = os.Stderr
	output, err := command.Output()
	return strings.TrimSpace(string(output)), err
}

func TestMain(m *testing.M) {
	os.Exit(func() int {
		defer dray("down", "--name", name, "--delete-data")
		if _, err := dray("up", "--detach", "--name", name, "--nodes", "1"); err != nil {
			fmt.Fprintln(os.Stderr, "dray up:", err)
			return 1
		}
		kubeconfig, err := dray("status", "--name", name, "-o", "kubeconfig")
		if err != nil {
			fmt.Fprintln(os.Stderr, "dray status:", err)
			return 1
		}
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		client = kubernetes.NewForConfigOrDie(config)
		return m.Run()
	}())
}

func TestAPodRuns(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pods := client.CoreV1().Pods("default")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "hello"},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "main", Image: "busybox", Command: []string{"echo", "hello"}}},
		},
	}
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		got, err := pods.Get(ctx, "hello", metav1.GetOptions{})
		return err == nil && got.Status.Phase == corev1.PodSucceeded, err
	})
	if err != nil {
		t.Fatal(err)
	}
	log, err := pods.GetLogs("hello", &corev1.PodLogOptions{}).DoRaw(ctx)
	if err != nil || string(log) != "hello\n" {
		t.Fatalf("log %q, error %v", log, err)
	}
}
