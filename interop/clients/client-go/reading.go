package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"dray.test/interop/clients/steps"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	k8sinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
)

func discover(_ context.Context, config *rest.Config, _ string) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	version, err := client.ServerVersion()
	if err != nil {
		return err
	}
	if release := os.Getenv("KUBERNETES_RELEASE"); version.Major+"."+version.Minor != release {
		return fmt.Errorf("the server says that it is %s, not %s", version, release)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))
	for kind, resource := range map[schema.GroupKind]string{
		{Kind: "Pod"}:                                                     "/v1, Resource=pods",
		{Group: "apps", Kind: "Deployment"}:                               "apps/v1, Resource=deployments",
		{Group: "resource.k8s.io", Kind: "ResourceClaim"}:                 "resource.k8s.io/v1, Resource=resourceclaims",
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: "apiextensions.k8s.io/v1, Resource=customresourcedefinitions",
	} {
		mapping, err := mapper.RESTMapping(kind)
		if err != nil {
			return err
		}
		if err := steps.Want(kind.String(), mapping.Resource.String(), resource); err != nil {
			return err
		}
	}
	// Both ways to ask: one document for all groups, and one for each group and version.
	_, aggregated, _, err := client.GroupsAndMaybeResources()
	if err != nil {
		return err
	}
	for groupVersion, list := range aggregated {
		legacy := &metav1.APIResourceList{}
		path := "/apis/" + groupVersion.String()
		if groupVersion.Group == "" {
			path = "/api/" + groupVersion.Version
		}
		if err := client.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").Do(context.Background()).Into(legacy); err != nil {
			return err
		}
		if err := steps.Want(path, len(list.APIResources), len(legacy.APIResources)); err != nil {
			return err
		}
	}
	return nil
}

func openAPI(_ context.Context, config *rest.Config, _ string) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	paths, err := client.OpenAPIV3().Paths()
	if err != nil {
		return err
	}
	for _, path := range []string{"api/v1", "apis/apps/v1", "apis/resource.k8s.io/v1"} {
		group, found := paths[path]
		if !found {
			return fmt.Errorf("%s is not described", path)
		}
		text, err := group.Schema("application/json")
		if err != nil {
			return err
		}
		document := struct {
			Paths      map[string]any
			Components struct{ Schemas map[string]any }
		}{}
		if err := json.Unmarshal(text, &document); err != nil {
			return err
		}
		if len(document.Paths) == 0 || len(document.Components.Schemas) == 0 {
			return fmt.Errorf("%s is described by nothing", path)
		}
	}
	return nil
}

func informers(ctx context.Context, config *rest.Config, namespace string) error {
	client, err := kubernetes.NewForConfig(protobuf(config))
	if err != nil {
		return err
	}
	maps := client.CoreV1().ConfigMaps(namespace)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "interop-informer", Labels: map[string]string{"step": "informer"}}}
	if _, err := maps.Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return err
	}
	factory := k8sinformers.NewSharedInformerFactoryWithOptions(client, time.Minute, k8sinformers.WithNamespace(namespace),
		k8sinformers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = "step=informer" }))
	informer := factory.Core().V1().ConfigMaps()
	var added, updated, deleted atomic.Int32
	if _, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { added.Add(1) },
		UpdateFunc: func(_, object any) {
			if object.(*corev1.ConfigMap).Data["key"] == "value" {
				updated.Add(1)
			}
		},
		DeleteFunc: func(any) { deleted.Add(1) },
	}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	defer cancel()
	if !cache.WaitForCacheSync(ctx.Done(), informer.Informer().HasSynced) {
		return errors.New("the cache has not been filled")
	}
	seen, err := informer.Lister().ConfigMaps(namespace).Get(object.Name)
	if err != nil {
		return err
	}
	change := seen.DeepCopy()
	change.Data = map[string]string{"key": "value"}
	if _, err := maps.Update(ctx, change, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if err := steps.Eventually(ctx, "the update is seen", func(context.Context) (bool, error) { return updated.Load() == 1, nil }); err != nil {
		return err
	}
	// Leaving the selector is a deletion for those who watch with it.
	if _, err := maps.Patch(ctx, object.Name, "application/merge-patch+json", []byte(`{"metadata":{"labels":null}}`), metav1.PatchOptions{}); err != nil {
		return err
	}
	if err := steps.Eventually(ctx, "the deletion is seen", func(context.Context) (bool, error) { return deleted.Load() == 1, nil }); err != nil {
		return err
	}
	return steps.Want("added", added.Load(), 1)
}

func watchList(ctx context.Context, config *rest.Config, namespace string) error {
	client, err := kubernetes.NewForConfig(protobuf(config))
	if err != nil {
		return err
	}
	yes := true
	watcher, err := client.CoreV1().ServiceAccounts(namespace).Watch(ctx, metav1.ListOptions{
		SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		account, ok := event.Object.(*corev1.ServiceAccount)
		if !ok {
			return fmt.Errorf("a %T came", event.Object)
		}
		if event.Type == watch.Bookmark {
			return steps.Want("the annotation of the bookmark", account.Annotations[metav1.InitialEventsAnnotationKey], "true")
		}
		if err := steps.Want("the first events", event.Type, watch.Added); err != nil {
			return err
		}
	}
	return errors.New("the watch ended without a bookmark")
}

func pages(ctx context.Context, config *rest.Config, namespace string) error {
	client, err := kubernetes.NewForConfig(protobuf(config))
	if err != nil {
		return err
	}
	maps := client.CoreV1().ConfigMaps(namespace)
	for i := range 35 {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "interop-page-", Labels: map[string]string{"step": "pages"}}, Data: map[string]string{"i": fmt.Sprint(i)}}
		if _, err := maps.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	requests, seen := 0, map[string]bool{}
	reader := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		requests++
		return maps.List(ctx, options)
	})
	reader.PageSize = 10
	if err := reader.EachListItem(ctx, metav1.ListOptions{LabelSelector: "step=pages"}, func(object runtime.Object) error {
		seen[object.(*corev1.ConfigMap).Data["i"]] = true
		return nil
	}); err != nil {
		return err
	}
	if err := steps.Want("objects", len(seen), 35); err != nil {
		return err
	}
	if err := steps.Want("pages", requests, 4); err != nil {
		return err
	}
	if err := maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "step=pages"}); err != nil {
		return err
	}
	left, err := maps.List(ctx, metav1.ListOptions{LabelSelector: "step=pages"})
	if err != nil {
		return err
	}
	return steps.Want("left after the deletion", len(left.Items), 0)
}

func metadataClient(ctx context.Context, config *rest.Config, namespace string) error {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return err
	}
	accounts := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}).Namespace(namespace)
	list, err := accounts.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if err := steps.Want("service accounts", len(list.Items), 1); err != nil {
		return err
	}
	watcher, err := accounts.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	event := <-watcher.ResultChan()
	if object, ok := event.Object.(*metav1.PartialObjectMetadata); !ok || object.Name != "default" {
		return fmt.Errorf("a %T came", event.Object)
	}
	return nil
}

func tables(ctx context.Context, config *rest.Config, namespace string) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	table := &metav1.Table{}
	if err := client.CoreV1().RESTClient().Get().Namespace(namespace).Resource("serviceaccounts").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(ctx).Into(table); err != nil {
		return err
	}
	if len(table.ColumnDefinitions) == 0 || table.ColumnDefinitions[0].Name != "Name" {
		return fmt.Errorf("columns: %v", table.ColumnDefinitions)
	}
	return steps.Want("the first cell", fmt.Sprint(table.Rows[0].Cells[0]), "default")
}
