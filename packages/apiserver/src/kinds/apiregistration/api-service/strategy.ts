import type { APIService, APIServiceCondition } from "@dray/api/apiregistration/v1";
import type { Strategy } from "../../strategy.ts";

/** Condition of an APIService whose version this server serves itself. `now`: RFC 3339, whole seconds. */
export function localCondition(now: string): APIServiceCondition {
  return {
    type: "Available",
    status: "True",
    lastTransitionTime: now,
    reason: "Local",
    message: "Local APIServices are always available",
  };
}

/** Upstream: staging/src/k8s.io/kube-aggregator/pkg/registry/apiservice/strategy.go */
export const apiServiceStrategy: Strategy<APIService> = {
  prepareForCreate(service, { now }) {
    if (!service.spec?.service) service.status = { conditions: [localCondition(now)] };
  },
};
