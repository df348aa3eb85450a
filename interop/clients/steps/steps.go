// Package steps runs the steps of a client program one after the other, and prints a line of JSON for each.
package steps

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// patience is how long anything may take that a server or a controller has to do.
const patience = 60 * time.Second

// A Step is something that a program does with a cluster, and what must come of it.
type Step struct {
	Name string
	Run  func(ctx context.Context, config *rest.Config, namespace string) error
}

type result struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
	Error   string  `json:"error,omitempty"`
}

// Run connects to the cluster that KUBECONFIG names, makes a namespace, runs the steps in it, deletes it,
// and exits with 1 if a step has failed.
func Run(steps ...Step) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	config.QPS, config.Burst = 500, 1000
	namespace := fmt.Sprintf("interop-go-%06d", rand.IntN(1_000_000))
	client := kubernetes.NewForConfigOrDie(config)
	ctx := context.Background()
	steps = append([]Step{{"a namespace of its own", func(ctx context.Context, _ *rest.Config, _ string) error {
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		if _, err := client.CoreV1().Namespaces().Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
		return Eventually(ctx, "the service account is there", func(ctx context.Context) (bool, error) {
			_, err := client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
			return err == nil, nil
		})
	}}}, steps...)
	failed := false
	for _, step := range steps {
		start := time.Now()
		attempt, cancel := context.WithTimeout(ctx, 2*patience)
		err := step.Run(attempt, rest.CopyConfig(config), namespace)
		cancel()
		line := result{Name: step.Name, Seconds: time.Since(start).Seconds()}
		if err != nil {
			line.Error, failed = err.Error(), true
		}
		text, _ := json.Marshal(line)
		fmt.Println(string(text))
	}
	if err := client.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		failed = true
	}
	if failed {
		os.Exit(1)
	}
}

// Eventually asks every tenth of a second until check holds; an error of check ends it.
func Eventually(ctx context.Context, what string, check wait.ConditionWithContextFunc) error {
	if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, check); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Want says what was found instead of what was wanted; nil if they are equal.
func Want[T comparable](what string, found, wanted T) error {
	if found != wanted {
		return fmt.Errorf("%s: %v instead of %v", what, found, wanted)
	}
	return nil
}
