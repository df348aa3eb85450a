import type { KubeObject } from "@dray/api";
import type { APIService, APIServiceCondition } from "@dray/api/apiregistration/v1";
import type { Strategy } from "../kinds/strategy.ts";

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
export const apiservices: Strategy = {
  prepareForCreate(object: KubeObject, { now }) {
    const service = object as APIService;
    if (!service.spec?.service) service.status = { conditions: [localCondition(now)] };
  },
};
