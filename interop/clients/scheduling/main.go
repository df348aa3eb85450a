// Command scheduling plays one workload on the cluster that KUBECONFIG names, and prints how fast its pods were given
// nodes. Everything there has to be is read from a file; there need not be a kubelet.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	file    = flag.String("workload", "", "file with the workload")
	timeout = flag.Duration("timeout", 15*time.Minute, "give up after, setting up included")
)

const (
	namespace = "bench"
	workers   = 8
)

// workload is what bench/scheduling/workloads.ts writes.
type workload struct {
	// Objects are made in this order, those of one stage at once.
	Stages [][]object `json:"stages"`
	// Nodes whose leases are renewed, as kubelets do.
	Nodes []string `json:"nodes"`
	// Pod is the text of a pod, in which `{i}`, `{i/N}` and `{i%N}` stand for numbers.
	Pod json.RawMessage `json:"pod"`
	// Warm pods are scheduled before the measured ones.
	Warm int `json:"warm"`
	// Pods that are measured: all at once, or for some seconds so many at a time, each of which is deleted and replaced
	// as soon as it has a node.
	Pods    int `json:"pods"`
	Seconds int `json:"seconds"`
	// Published objects are made in the measured time, before the pods, and are counted in their place.
	Published []object `json:"published"`
}

type object struct {
	// Path of the collection.
	Path   string          `json:"path"`
	Object json.RawMessage `json:"object"`
	// Status is patched into the object.
	Status json.RawMessage `json:"status"`
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "scheduling:", err)
		os.Exit(1)
	}
}

func parallel(n int, f func(i int) error) {
	var group sync.WaitGroup
	next := make(chan int)
	for range workers {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := range next {
				check(f(i))
			}
		}()
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
}

var number = regexp.MustCompile(`\{i([/%]\d+)?\}`)

// numbered is the text for one pod.
func numbered(text []byte, i int) []byte {
	return number.ReplaceAllFunc(text, func(match []byte) []byte {
		value := i
		if len(match) > 3 {
			by, _ := strconv.Atoi(string(match[3 : len(match)-1]))
			if match[2] == '/' {
				value = i / by
			} else {
				value = i % by
			}
		}
		return []byte(strconv.Itoa(value))
	})
}

type player struct {
	ctx    context.Context
	plain  rest.Interface
	client kubernetes.Interface
	work   workload
	mu     sync.Mutex
	// When each pod was created, and bound.
	created, bound map[string]time.Time
	changed        chan struct{}
	// Names of bound pods, in the steady state only.
	replace chan string
}

func main() {
	flag.Parse()
	text, err := os.ReadFile(*file)
	check(err)
	p := &player{created: map[string]time.Time{}, bound: map[string]time.Time{}, changed: make(chan struct{}, 1)}
	check(json.Unmarshal(text, &p.work))
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	check(err)
	config.QPS = -1
	plain, err := kubernetes.NewForConfig(config)
	check(err)
	p.plain = plain.CoreV1().RESTClient()
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf"
	p.client, err = kubernetes.NewForConfig(config)
	check(err)
	var cancel context.CancelFunc
	p.ctx, cancel = context.WithTimeout(context.Background(), *timeout)
	defer cancel()

	for _, stage := range p.work.Stages {
		parallel(len(stage), func(i int) error { return p.make(stage[i]) })
	}
	go p.heartbeat()
	go p.watch()
	steady := p.work.Seconds > 0
	if steady {
		p.steady(0, p.work.Warm, *timeout)
	} else {
		p.batch(0, p.work.Warm)
	}
	fmt.Println("begin") // The processor time of the control plane is read here, and again at "end".
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	begin, done, seconds := time.Now(), p.work.Pods, 0.0
	if steady {
		// The numbers of the warm-up end somewhere behind its count.
		done, seconds = p.steady(p.work.Warm+2*p.work.Pods+2*workers, math.MaxInt, time.Duration(p.work.Seconds)*time.Second)
	} else {
		if len(p.work.Published) > 0 {
			done = len(p.work.Published)
			parallel(done, func(i int) error { return p.make(p.work.Published[i]) })
		}
		p.batch(p.work.Warm, p.work.Pods)
		seconds = time.Since(begin).Seconds()
		fmt.Println("end")
	}
	check(p.lost())
	latencies := []float64{}
	for name, at := range p.bound {
		if created, known := p.created[name]; known && !created.Before(begin) {
			latencies = append(latencies, at.Sub(created).Seconds()*1000)
		}
	}
	sort.Float64s(latencies)
	part := func(share float64) float64 { return latencies[int(share*float64(len(latencies)-1))] }
	out, _ := json.Marshal(map[string]any{"pods": done, "seconds": seconds, "p50": part(.5), "p99": part(.99), "twice": p.twice()})
	fmt.Println(string(out))
}

// lost is an error if a node was given up for want of a heartbeat: it says nothing then how long pods have waited.
func (p *player) lost() error {
	nodes, err := p.client.CoreV1().Nodes().List(p.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, node := range nodes.Items {
		for _, taint := range node.Spec.Taints {
			if taint.Key == corev1.TaintNodeUnreachable {
				return fmt.Errorf("node %s has become unreachable", node.Name)
			}
		}
	}
	return nil
}

func (p *player) make(o object) error {
	var named metav1.PartialObjectMetadata
	check(json.Unmarshal(o.Object, &named))
	err := p.plain.Post().AbsPath(o.Path).SetHeader("Content-Type", "application/json").Body([]byte(o.Object)).Do(p.ctx).Error()
	if err != nil && !errors.IsAlreadyExists(err) {
		return fmt.Errorf("%s %s: %w", o.Path, named.Name, err)
	}
	if len(o.Status) == 0 {
		return nil
	}
	return p.plain.Patch(types.MergePatchType).AbsPath(o.Path, named.Name, "status").Body([]byte(o.Status)).Do(p.ctx).Error()
}

// batch creates the pods of these numbers, and waits until all of them have nodes.
func (p *player) batch(first, count int) {
	names := make([]string, count)
	parallel(count, func(i int) error {
		var err error
		names[i], err = p.create(first + i)
		return err
	})
	for missing := count; missing > 0; {
		missing = 0
		p.mu.Lock()
		for _, name := range names {
			if _, bound := p.bound[name]; !bound {
				missing++
			}
		}
		p.mu.Unlock()
		if missing == 0 {
			return
		}
		select {
		case <-p.changed:
			time.Sleep(time.Millisecond)
		case <-p.ctx.Done():
			check(fmt.Errorf("%d of %d pods have no node after %v", missing, count, *timeout))
		}
	}
}

// create makes the pod of this number.
func (p *player) create(i int) (string, error) {
	pod := &corev1.Pod{}
	check(json.Unmarshal(numbered(p.work.Pod, i), pod))
	p.mu.Lock()
	p.created[pod.Name] = time.Now()
	p.mu.Unlock()
	_, err := p.client.CoreV1().Pods(namespace).Create(p.ctx, pod, metav1.CreateOptions{})
	return pod.Name, err
}

// steady keeps so many pods waiting: each that has a node is deleted, and another one created, until `count` pods have had
// nodes or `duration` is over. Returns how many had nodes in how many seconds; the last ones are deleted after that.
func (p *player) steady(first, count int, duration time.Duration) (int, float64) {
	replace := make(chan string, 10_000)
	p.mu.Lock()
	p.replace = replace
	p.mu.Unlock()
	parallel(p.work.Pods, func(i int) error {
		_, err := p.create(first + i)
		return err
	})
	begin, now := time.Now(), int64(0)
	var next, done atomic.Int64
	next.Store(int64(first + p.work.Pods))
	remove := func(name string) {
		check(p.client.CoreV1().Pods(namespace).Delete(p.ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
	}
	over := time.Now().Add(duration)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for time.Now().Before(over) && int(done.Load()) < count {
				select {
				case <-time.After(time.Until(over)):
				case name := <-replace:
					done.Add(1)
					remove(name)
					_, err := p.create(int(next.Add(1)) - 1)
					check(err)
				}
			}
		})
	}
	group.Wait()
	seconds := time.Since(begin).Seconds()
	fmt.Println("end")
	parallel(p.work.Pods, func(int) error {
		select {
		case name := <-replace:
			remove(name)
		case <-p.ctx.Done():
			return fmt.Errorf("a pod has no node after %v", *timeout)
		}
		return nil
	})
	p.mu.Lock()
	p.replace = nil
	p.mu.Unlock()
	return int(done.Load()), seconds
}

// watch notes when pods get their nodes.
func (p *player) watch() {
	for p.ctx.Err() == nil {
		watched, err := p.client.CoreV1().Pods(namespace).Watch(p.ctx, metav1.ListOptions{})
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		for event := range watched.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok {
				continue
			}
			if event.Type == watch.Deleted && pod.Spec.NodeName == "" {
				check(fmt.Errorf("pod %s was deleted before it had a node", pod.Name))
			}
			if event.Type == watch.Deleted || pod.Spec.NodeName == "" {
				continue
			}
			p.mu.Lock()
			if _, known := p.bound[pod.Name]; !known {
				p.bound[pod.Name] = time.Now()
				if p.replace != nil {
					p.replace <- pod.Name
				}
			}
			p.mu.Unlock()
			select {
			case p.changed <- struct{}{}:
			default:
			}
		}
	}
}

// heartbeat renews each node's lease every 20 seconds. A slow server must not delay the next node's: one whose lease is 40
// seconds old loses its pods.
func (p *player) heartbeat() {
	if len(p.work.Nodes) == 0 {
		return
	}
	due := make(chan string, len(p.work.Nodes))
	for range 4 * workers {
		go func() {
			for node := range due {
				p.renew(node)
			}
		}()
	}
	tick := time.NewTicker(20 * time.Second / time.Duration(len(p.work.Nodes)))
	for i := 0; p.ctx.Err() == nil; i++ {
		due <- p.work.Nodes[i%len(p.work.Nodes)]
		// The first round is at once: nodes have no leases yet.
		if i >= len(p.work.Nodes) {
			<-tick.C
		}
	}
}

func (p *player) renew(node string) {
	const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
	lease := fmt.Sprintf(`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":%q},"spec":{"holderIdentity":%q,"leaseDurationSeconds":40,"renewTime":%q}}`, node, node, now)
	if p.plain.Patch(types.MergePatchType).AbsPath(leases, node).Body([]byte(lease)).Do(p.ctx).Error() != nil {
		_ = p.plain.Post().AbsPath(leases).SetHeader("Content-Type", "application/json").Body([]byte(lease)).Do(p.ctx).Error()
	}
}

// twice counts the devices that two claims have for themselves.
func (p *player) twice() int {
	claims, err := p.client.ResourceV1().ResourceClaims("").List(p.ctx, metav1.ListOptions{})
	check(err)
	count, held := 0, map[string]bool{}
	for _, claim := range claims.Items {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			if isShare(result) {
				continue
			}
			if id := result.Driver + "/" + result.Pool + "/" + result.Device; held[id] {
				count++
			} else {
				held[id] = true
			}
		}
	}
	return count
}

func isShare(result resourcev1.DeviceRequestAllocationResult) bool {
	return result.ShareID != nil || (result.AdminAccess != nil && *result.AdminAccess)
}
