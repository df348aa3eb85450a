import type { Wire } from "@dray/api";
import { Pod } from "@dray/api/core/v1";
import { defineServedKind } from "../../define.ts";
import { podColumns } from "./columns.ts";
import { podStrategy } from "./strategy.ts";

/** Negative grace periods become one second. */
function positiveGracePeriod({ spec }: Wire<Pod>): void {
  const seconds = spec?.terminationGracePeriodSeconds;
  if (spec && seconds !== undefined && seconds !== null && seconds < 0)
    spec.terminationGracePeriodSeconds = 1;
}

export const pod = defineServedKind(Pod, {
  facts: {
    status: "keep",
    generation: true,
    answersDeleted: true,
    fields: [
      "spec.nodeName",
      "spec.restartPolicy",
      "spec.schedulerName",
      "spec.serviceAccountName",
      "spec.hostNetwork",
      "status.phase",
      "status.podIP",
      "status.podIPs",
      "status.nominatedNodeName",
    ],
    fieldError: "core",
    subresources: {
      attach: { kind: "PodAttachOptions", verbs: ["create", "get"] },
      binding: { kind: "Binding", verbs: ["create"] },
      ephemeralcontainers: { kind: "Pod", verbs: ["get", "patch", "update"] },
      eviction: { group: "policy", version: "v1", kind: "Eviction", verbs: ["create"] },
      exec: { kind: "PodExecOptions", verbs: ["create", "get"] },
      log: { kind: "Pod", verbs: ["get"] },
      portforward: { kind: "PodPortForwardOptions", verbs: ["create", "get"] },
      proxy: { kind: "PodProxyOptions", verbs: ["create", "delete", "get", "patch", "update"] },
      resize: { kind: "Pod", verbs: ["get", "patch", "update"] },
    },
  },
  normalise: positiveGracePeriod,
  strategy: podStrategy,
  columns: podColumns,
});
