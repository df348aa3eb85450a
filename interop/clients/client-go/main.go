// Command client-go does with a cluster what programs built on client-go do.
package main

import (
	"fmt"
	"os"

	"dray.test/interop/clients/steps"
	"k8s.io/client-go/rest"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		fmt.Fprintln(os.Stderr, serve())
		os.Exit(1)
	}
	steps.Run(
		steps.Step{Name: "discovery and RESTMapper", Run: discover},
		steps.Step{Name: "OpenAPI v3", Run: openAPI},
		steps.Step{Name: "informers with protobuf", Run: informers},
		steps.Step{Name: "WatchList", Run: watchList},
		steps.Step{Name: "lists in pages", Run: pages},
		steps.Step{Name: "server-side apply", Run: apply},
		steps.Step{Name: "dynamic client", Run: dynamicClient},
		steps.Step{Name: "metadata client", Run: metadataClient},
		steps.Step{Name: "tables", Run: tables},
		steps.Step{Name: "scale client", Run: scaleClient},
		steps.Step{Name: "retries on conflict", Run: conflicts},
		steps.Step{Name: "leader election", Run: leaderElection},
		steps.Step{Name: "events", Run: events},
		steps.Step{Name: "TokenRequest and TokenReview", Run: tokens},
		steps.Step{Name: "SubjectAccessReview", Run: accessReviews},
		steps.Step{Name: "CertificateSigningRequest approved and signed", Run: signing},
		steps.Step{Name: "exec", Run: execute},
		steps.Step{Name: "attach", Run: attach},
		steps.Step{Name: "port-forward", Run: forward},
	)
}

func protobuf(config *rest.Config) *rest.Config {
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return config
}
