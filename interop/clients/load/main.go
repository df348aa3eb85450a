// Command load measures one thing that the API server that KUBECONFIG names does: how fast it writes or reads pods, or
// tells watchers. It prints how much a second. Answers are not decoded, so that the server is what is measured.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	count    = flag.Int("count", 10_000, "requests; the create stage comes first, with the most")
	warm     = flag.Int("warm", 0, "requests before them that are not counted in the rate")
	workers  = flag.Int("workers", 16, "requests at a time")
	watchers = flag.Int("watchers", 1000, "watches of the same objects")
	changes  = flag.Int("changes", 20, "changes that each watcher is told")
	stage    = flag.String("stage", "create", "create, get, update, patch, apply, list, list-json, watch")
)

const (
	namespace = "load"
	protobufs = "application/vnd.kubernetes.protobuf"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
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
	core := client.CoreV1().RESTClient()
	pod := func(request *rest.Request, i int) *rest.Request {
		return request.Namespace(namespace).Resource("pods").Name(name(i))
	}
	send := func(request *rest.Request) error {
		_, err := request.DoRaw(ctx)
		return err
	}
	var perSecond float64
	switch *stage {
	case "create":
		prepare(ctx, client)
		perSecond = measure(func(i int) error {
			return send(core.Post().Namespace(namespace).Resource("pods").SetHeader("Content-Type", protobufs).Body(encoded(i, "created")))
		})
	case "get":
		perSecond = measure(func(i int) error { return send(pod(core.Get(), i)) })
	case "update":
		perSecond = measure(func(i int) error {
			return send(pod(core.Put(), i).SetHeader("Content-Type", protobufs).Body(encoded(i, "updated")))
		})
	case "patch":
		perSecond = measure(func(i int) error {
			return send(pod(core.Patch(types.StrategicMergePatchType), i).
				Body(fmt.Appendf(nil, `{"metadata":{"annotations":{"patched":"%d"}}}`, i)))
		})
	case "apply":
		perSecond = measure(func(i int) error {
			return send(pod(core.Patch(types.ApplyYAMLPatchType), i).Param("fieldManager", "load").Body(fmt.Appendf(nil,
				`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":%q,"labels":{"applied":"%d"}}}`, name(i), namespace, i)))
		})
	case "list":
		perSecond = measure(func(int) error { return send(core.Get().Namespace(namespace).Resource("pods")) })
	case "list-json":
		perSecond = measure(func(int) error {
			return send(core.Get().Namespace(namespace).Resource("pods").SetHeader("Accept", "application/json"))
		})
	case "watch":
		perSecond = watch(ctx, config, client)
	default:
		check(fmt.Errorf("no such stage: %q", *stage))
	}
	fmt.Println(perSecond)
}

func prepare(ctx context.Context, client kubernetes.Interface) {
	meta := metav1.ObjectMeta{Name: namespace}
	_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: meta}, metav1.CreateOptions{})
	check(err)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	_, err = client.CoreV1().ServiceAccounts(namespace).Create(ctx, account, metav1.CreateOptions{})
	check(err)
}

// measure calls f from all workers, for 0 to warm-1 and then for the count numbers that follow, and answers how many calls a
// second the latter were. Servers' CPU clocks are read in between, so it says when the warm-up is over and waits for a line.
func measure(f func(i int) error) float64 {
	if *warm > 0 {
		rate(0, *warm, f)
		fmt.Println("warm")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	}
	return rate(*warm, *count, f)
}

func rate(first, count int, f func(i int) error) float64 {
	var next atomic.Int64
	next.Store(int64(first))
	var group sync.WaitGroup
	start := time.Now()
	for range *workers {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < first+count; i = int(next.Add(1)) - 1 {
				check(f(i))
			}
		})
	}
	group.Wait()
	return float64(count) / time.Since(start).Seconds()
}

func name(i int) string { return fmt.Sprintf("pod-%05d", i) }

var serializer = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

// encoded is a pod of the size of those in a cluster, as client-go sends it.
func encoded(i int, how string) []byte {
	requests := corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("128Mi")}
	container := func(name string) corev1.Container {
		return corev1.Container{Name: name, Image: "registry.example.com/team/" + name + ":1.2.3", Args: []string{"--verbose", "--port=8080"},
			Env:       []corev1.EnvVar{{Name: "ENVIRONMENT", Value: "production"}, {Name: "POD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
			Ports:     []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
			Resources: corev1.ResourceRequirements{Requests: requests, Limits: requests}}
	}
	web, sidecar := container("web"), container("sidecar")
	sidecar.Ports = nil
	pod := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name(i), Labels: map[string]string{"app": "web", "tier": "front", "how": how},
			Annotations: map[string]string{"example.com/checksum": "0123456789abcdef0123456789abcdef"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{web, sidecar}, NodeSelector: map[string]string{"pool": "a"},
			// The server would add these; an update must name what it must not change.
			ServiceAccountName: "default", AutomountServiceAccountToken: new(bool)},
	}
	text, err := runtime.Encode(serializer, pod)
	check(err)
	return text
}

// watch follows one ConfigMap from many watches, changes it, and answers how many events a second come.
func watch(ctx context.Context, config *rest.Config, client kubernetes.Interface) float64 {
	maps := client.CoreV1().ConfigMaps(namespace)
	object, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "watched"}, Data: map[string]string{"n": "0"}}, metav1.CreateOptions{})
	check(err)
	https, err := rest.HTTPClientFor(config)
	check(err)
	url := fmt.Sprintf("%s/api/v1/namespaces/%s/configmaps?watch=true&resourceVersion=%s", config.Host, namespace, object.ResourceVersion)
	var ready, done sync.WaitGroup
	for range *watchers {
		ready.Add(1)
		done.Go(func() {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			check(err)
			request.Header.Set("Accept", "application/json")
			response, err := https.Do(request)
			check(err)
			defer response.Body.Close()
			ready.Done()
			// Each event ends its line.
			buffer, lines := make([]byte, 16<<10), 0
			for lines < *changes {
				n, err := response.Body.Read(buffer)
				for _, c := range buffer[:n] {
					if c == '\n' {
						lines++
					}
				}
				if err != nil && (err != io.EOF || lines < *changes) {
					check(err)
				}
			}
		})
	}
	ready.Wait()
	start := time.Now()
	for i := range *changes {
		body := fmt.Appendf(nil, `{"data":{"n":"%d"}}`, i+1)
		_, err := maps.Patch(ctx, "watched", types.MergePatchType, body, metav1.PatchOptions{})
		check(err)
	}
	done.Wait()
	return float64(*watchers**changes) / time.Since(start).Seconds()
}
