package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"dray.test/interop/clients/steps"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	k8sevents "k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
)

func apply(ctx context.Context, config *rest.Config, namespace string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	maps := client.CoreV1().ConfigMaps(namespace)
	of := func(data map[string]string) *applycorev1.ConfigMapApplyConfiguration {
		return applycorev1.ConfigMap("interop-apply", namespace).WithData(data)
	}
	if _, err := maps.Apply(ctx, of(map[string]string{"a": "1", "b": "1"}), metav1.ApplyOptions{FieldManager: "one"}); err != nil {
		return err
	}
	_, err = maps.Apply(ctx, of(map[string]string{"a": "2"}), metav1.ApplyOptions{FieldManager: "two"})
	if !apierrors.IsConflict(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
		return fmt.Errorf("no conflict of field managers but %v", err)
	}
	forced, err := maps.Apply(ctx, of(map[string]string{"a": "2"}), metav1.ApplyOptions{FieldManager: "two", Force: true})
	if err != nil {
		return err
	}
	// What one manager takes over stays when the other lets go of it; what it alone had goes.
	if forced, err = maps.Apply(ctx, of(map[string]string{}), metav1.ApplyOptions{FieldManager: "one"}); err != nil {
		return err
	}
	if err := steps.Want("data", fmt.Sprint(forced.Data), "map[a:2]"); err != nil {
		return err
	}
	extracted, err := applycorev1.ExtractConfigMap(forced, "two")
	if err != nil {
		return err
	}
	return steps.Want("fields of the second manager", extracted.Data["a"], "2")
}

func dynamicClient(ctx context.Context, config *rest.Config, namespace string) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	maps := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace(namespace)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "interop-dynamic"}, "data": map[string]any{"a": "1"}}}
	created, err := maps.Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	watcher, err := maps.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=interop-dynamic", ResourceVersion: created.GetResourceVersion()})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	if _, err := maps.Patch(ctx, object.GetName(), types.JSONPatchType, []byte(`[{"op":"add","path":"/data/b","value":"2"}]`), metav1.PatchOptions{}); err != nil {
		return err
	}
	event := <-watcher.ResultChan()
	data, _, _ := unstructured.NestedStringMap(event.Object.(*unstructured.Unstructured).Object, "data")
	if err := steps.Want("the watched data", fmt.Sprint(data), "map[a:1 b:2]"); err != nil {
		return err
	}
	stale := created.DeepCopy()
	if _, err := maps.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		return fmt.Errorf("an old object was not refused: %v", err)
	}
	_, err = maps.Create(ctx, object, metav1.CreateOptions{FieldValidation: "Strict", DryRun: []string{"All"}})
	if !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("a second object was not refused: %v", err)
	}
	return maps.Delete(ctx, object.GetName(), metav1.DeleteOptions{})
}

func scaleClient(ctx context.Context, config *rest.Config, namespace string) error {
	client, err := kubernetes.NewForConfig(protobuf(rest.CopyConfig(config)))
	if err != nil {
		return err
	}
	labels := map[string]string{"app": "interop-scale"}
	zero := int32(0)
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "interop-scale"}, Spec: appsv1.DeploymentSpec{
		Replicas: &zero, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10"}}}}}}
	if _, err := client.AppsV1().Deployments(namespace).Create(ctx, deployment, metav1.CreateOptions{}); err != nil {
		return err
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(found))
	scales, err := scale.NewForConfig(config, mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(found))
	if err != nil {
		return err
	}
	resource := schema.GroupResource{Group: "apps", Resource: "deployments"}
	if err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		current, err := scales.Scales(namespace).Get(ctx, resource, "interop-scale", metav1.GetOptions{})
		if err != nil {
			return err
		}
		current.Spec.Replicas = 2
		_, err = scales.Scales(namespace).Update(ctx, resource, current, metav1.UpdateOptions{})
		return err
	}); err != nil {
		return err
	}
	return steps.Eventually(ctx, "two replicas are available", func(ctx context.Context) (bool, error) {
		deployment, err := client.AppsV1().Deployments(namespace).Get(ctx, "interop-scale", metav1.GetOptions{})
		return err == nil && deployment.Status.AvailableReplicas == 2, err
	})
}

func conflicts(ctx context.Context, config *rest.Config, namespace string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	maps := client.CoreV1().ConfigMaps(namespace)
	if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "interop-counter"}, Data: map[string]string{"n": "0"}}, metav1.CreateOptions{}); err != nil {
		return err
	}
	const writers, writes = 5, 10
	backoff := retry.DefaultBackoff
	backoff.Steps = 50
	failures := make([]error, writers)
	var group sync.WaitGroup
	for writer := range writers {
		group.Go(func() {
			for range writes {
				if err := retry.RetryOnConflict(backoff, func() error {
					object, err := maps.Get(ctx, "interop-counter", metav1.GetOptions{})
					if err != nil {
						return err
					}
					n, _ := strconv.Atoi(object.Data["n"])
					object.Data["n"] = strconv.Itoa(n + 1)
					_, err = maps.Update(ctx, object, metav1.UpdateOptions{})
					return err
				}); err != nil {
					failures[writer] = err
				}
			}
		})
	}
	group.Wait()
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	object, err := maps.Get(ctx, "interop-counter", metav1.GetOptions{})
	if err != nil {
		return err
	}
	return steps.Want("the count", object.Data["n"], strconv.Itoa(writers*writes))
}

func leaderElection(ctx context.Context, config *rest.Config, namespace string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	run := func(ctx context.Context, identity string, leads chan<- string) {
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: namespace, Name: "interop-leader"},
				Client: client.CoordinationV1(), LockConfig: resourcelock.ResourceLockConfig{Identity: identity}},
			LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 300 * time.Millisecond, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { leads <- identity }, OnStoppedLeading: func() {}},
		})
	}
	leads := make(chan string, 2)
	first, release := context.WithCancel(ctx)
	go run(first, "one", leads)
	if err := steps.Want("the first leader", <-leads, "one"); err != nil {
		release()
		return err
	}
	second, end := context.WithCancel(ctx)
	defer end()
	go run(second, "two", leads)
	release()
	select {
	case leader := <-leads:
		return steps.Want("the second leader", leader, "two")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func events(ctx context.Context, config *rest.Config, namespace string) error {
	client, err := kubernetes.NewForConfig(protobuf(config))
	if err != nil {
		return err
	}
	pod := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "interop-subject", UID: "interop-subject"}}
	broadcaster := k8sevents.NewBroadcaster(&k8sevents.EventSinkImpl{Interface: client.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return err
	}
	defer broadcaster.Shutdown()
	broadcaster.NewRecorder(scheme.Scheme, "interop").Eventf(pod, nil, corev1.EventTypeNormal, "Tried", "Trying", "note %d", 1)
	var found *eventsv1.EventList
	if err := steps.Eventually(ctx, "the event is stored", func(ctx context.Context) (bool, error) {
		found, err = client.EventsV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=Tried"})
		return err == nil && len(found.Items) == 1, err
	}); err != nil {
		return err
	}
	// The same object in the older group.
	older, err := client.CoreV1().Events(namespace).Get(ctx, found.Items[0].Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return steps.Want("the message", older.Message, "note 1")
}
