import type { APIService } from "../../../generated/apiregistration/v1.ts";
import type { Wire } from "../../../objects/wire.ts";

/** Upstream: staging/src/k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/defaults.go */
export function defaultAPIService({ spec }: Wire<APIService>): void {
  if (spec?.service) spec.service.port ??= 443;
}
