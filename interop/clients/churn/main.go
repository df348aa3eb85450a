// Command churn makes ConfigMaps, watches all of them many times, and changes them. It prints how many events came to the
// watches in how many seconds. Events are counted, not decoded, so that the server is what is measured.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	objects  = flag.Int("objects", 10_000, "ConfigMaps")
	watchers = flag.Int("watchers", 25, "watches of all of them, each on a connection of its own")
	changes  = flag.Int("changes", 40_000, "changes, one ConfigMap after the other")
	workers  = flag.Int("workers", 16, "requests at a time")
)

const (
	namespace = "churn"
	protobufs = "application/vnd.kubernetes.protobuf"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "churn:", err)
		os.Exit(1)
	}
}

func main() {
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	check(err)
	config.QPS = -1
	config.ContentType, config.AcceptContentTypes = protobufs, protobufs
	client, err := kubernetes.NewForConfig(config)
	check(err)
	ctx := context.Background()
	meta := metav1.ObjectMeta{Name: namespace}
	_, err = client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: meta}, metav1.CreateOptions{})
	check(err)
	maps := client.CoreV1().ConfigMaps(namespace)
	each(*objects, func(i int) error {
		_, err := maps.Create(ctx, object(i%*objects, i), metav1.CreateOptions{})
		return err
	})
	list, err := maps.List(ctx, metav1.ListOptions{Limit: 1})
	check(err)

	var ready, done sync.WaitGroup
	var events atomic.Int64
	for range *watchers {
		ready.Add(1)
		done.Go(func() { follow(config, list.ResourceVersion, &ready, &events) })
	}
	ready.Wait()
	fmt.Println("begin") // The processor time of the server is read here, and again at "end".
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	begin := time.Now()
	each(*changes, func(i int) error {
		// A version that the object has not: an update that changes nothing is no event.
		_, err := maps.Update(ctx, object(i%*objects, *objects+i), metav1.UpdateOptions{})
		return err
	})
	written := time.Since(begin)
	done.Wait()
	seconds := time.Since(begin).Seconds()
	fmt.Println("end")
	out, err := json.Marshal(map[string]any{"events": events.Load(), "seconds": seconds, "lag": seconds - written.Seconds()})
	check(err)
	fmt.Println(string(out))
}

// each calls f for all numbers below n, from all workers.
func each(n int, f func(i int) error) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range *workers {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				check(f(i))
			}
		})
	}
	group.Wait()
}

func object(i, version int) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("map-%05d", i), Labels: map[string]string{"app": "churn"}},
		Data:       map[string]string{"version": fmt.Sprint(version), "text": "a few words that a program was configured with"},
	}
}

// follow reads one watch until all changes have come.
func follow(config *rest.Config, resourceVersion string, ready *sync.WaitGroup, events *atomic.Int64) {
	secure, err := rest.TLSConfigFor(config)
	check(err)
	// client-go would share one connection.
	https := &http.Client{Transport: &http.Transport{TLSClientConfig: secure, ForceAttemptHTTP2: true}}
	url := fmt.Sprintf("%s/api/v1/namespaces/%s/configmaps?watch=true&resourceVersion=%s", config.Host, namespace, resourceVersion)
	request, err := http.NewRequest(http.MethodGet, url, nil)
	check(err)
	request.Header.Set("Accept", protobufs+";stream=watch")
	response, err := https.Do(request)
	check(err)
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		check(fmt.Errorf("watch: %s", response.Status))
	}
	ready.Done()
	stream := bufio.NewReaderSize(response.Body, 64<<10)
	var length [4]byte
	for range *changes {
		_, err := io.ReadFull(stream, length[:])
		check(err)
		_, err = stream.Discard(int(binary.BigEndian.Uint32(length[:])))
		check(err)
		events.Add(1)
	}
}
