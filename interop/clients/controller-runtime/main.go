// Command controller-runtime runs an operator as people write them: a custom kind, and a reconciler with a cache,
// status updates, a finalizer, owned objects and retries on conflict.
package main

import (
	"context"
	"fmt"
	"time"

	"dray.test/interop/clients/steps"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	finalizer = "sites.interop.dray.test/finalizer"
	// definitionName is that of the kind in site.go.
	definitionName = "sites.interop.dray.test"
)

func main() {
	ctrl.SetLogger(logr.Discard())
	must(AddToScheme(scheme.Scheme))
	must(apiextensionsv1.AddToScheme(scheme.Scheme))
	steps.Run(
		steps.Step{Name: "a definition is established", Run: define},
		steps.Step{Name: "a manager reconciles", Run: reconcile},
		steps.Step{Name: "the definition is deleted", Run: undefine},
	)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func define(ctx context.Context, config *rest.Config, _ string) error {
	admin, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	if err := admin.Create(ctx, definition()); err != nil {
		return err
	}
	return steps.Eventually(ctx, "it is established", func(ctx context.Context) (bool, error) {
		found := &apiextensionsv1.CustomResourceDefinition{}
		if err := admin.Get(ctx, client.ObjectKey{Name: definitionName}, found); err != nil {
			return false, err
		}
		for _, condition := range found.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
}

func undefine(ctx context.Context, config *rest.Config, _ string) error {
	admin, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	object := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: definitionName}}
	if err := admin.Delete(ctx, object); err != nil {
		return err
	}
	return steps.Eventually(ctx, "it is gone", func(ctx context.Context) (bool, error) {
		err := admin.Get(ctx, client.ObjectKey{Name: definitionName}, object)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

// reconciler keeps a ConfigMap for each Site.
type reconciler struct{ client.Client }

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	site := &Site{}
	if err := r.Get(ctx, request.NamespacedName, site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !site.DeletionTimestamp.IsZero() {
		if controllerutil.RemoveFinalizer(site, finalizer) {
			return ctrl.Result{}, r.Update(ctx, site)
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(site, finalizer) {
		return ctrl.Result{}, r.Update(ctx, site)
	}
	page := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: site.Name}}
	if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, page, func() error {
		page.Data = map[string]string{"title": site.Spec.Title}
		return controllerutil.SetControllerReference(site, page, r.Scheme())
	}); err != nil {
		return ctrl.Result{}, err
	}
	if site.Status.ObservedGeneration == site.Generation {
		return ctrl.Result{}, nil
	}
	site.Status = SiteStatus{ObservedGeneration: site.Generation, Title: site.Spec.Title}
	return ctrl.Result{}, r.Status().Update(ctx, site)
}

func reconcile(ctx context.Context, config *rest.Config, namespace string) error {
	grace := time.Second
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Metrics: server.Options{BindAddress: "0"}, GracefulShutdownTimeout: &grace,
		LeaderElection: true, LeaderElectionNamespace: namespace, LeaderElectionID: "interop-operator", LeaderElectionReleaseOnCancel: true,
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
	})
	if err != nil {
		return err
	}
	if err := ctrl.NewControllerManagedBy(manager).For(&Site{}).Owns(&corev1.ConfigMap{}).Complete(&reconciler{manager.GetClient()}); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(running) }()
	err = operate(ctx, config, namespace)
	stop()
	if failure := <-ended; err == nil {
		err = failure
	}
	return err
}

// operate does what the users of the operator do, and looks at what the operator makes of it.
func operate(ctx context.Context, config *rest.Config, namespace string) error {
	user, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	key := client.ObjectKey{Namespace: namespace, Name: "interop-site"}
	site := &Site{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: key.Name}, Spec: SiteSpec{Title: "first"}}
	if err := user.Create(ctx, site); err != nil {
		return err
	}
	reconciled := func(what, title string) error {
		return steps.Eventually(ctx, what, func(ctx context.Context) (bool, error) {
			page := &corev1.ConfigMap{}
			if err := user.Get(ctx, key, page); err != nil {
				return false, client.IgnoreNotFound(err)
			}
			if err := user.Get(ctx, key, site); err != nil {
				return false, err
			}
			return page.Data["title"] == title && site.Status.Title == title && site.Status.ObservedGeneration == site.Generation &&
				metav1.IsControlledBy(page, site), nil
		})
	}
	if err := reconciled("the page is made", "first"); err != nil {
		return err
	}
	if err := steps.Want("generation", site.Generation, 1); err != nil {
		return err
	}
	if err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := user.Get(ctx, key, site); err != nil {
			return err
		}
		site.Spec.Title = "second"
		return user.Update(ctx, site)
	}); err != nil {
		return err
	}
	if err := reconciled("the page is changed", "second"); err != nil {
		return err
	}
	if err := user.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: key.Name}}); err != nil {
		return err
	}
	if err := reconciled("the page is made again", "second"); err != nil {
		return err
	}
	if err := user.Patch(ctx, site, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"title":""}}`))); !apierrors.IsInvalid(err) {
		return fmt.Errorf("an empty title was not refused: %v", err)
	}
	if err := user.Delete(ctx, site); err != nil {
		return err
	}
	return steps.Eventually(ctx, "the site is gone after its finalizer", func(ctx context.Context) (bool, error) {
		err := user.Get(ctx, key, &Site{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

var groupVersion = schema.GroupVersion{Group: "interop.dray.test", Version: "v1"}

// AddToScheme makes the kinds of this program known.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(groupVersion, &Site{}, &SiteList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	return nil
}
