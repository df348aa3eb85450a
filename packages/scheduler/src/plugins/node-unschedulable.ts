import { untolerated } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { Plugin, Rejection } from "../framework/framework.ts";

const name = "NodeUnschedulable";
const effects = ["NoSchedule"];
const taints = [{ key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }];

const unschedulable: Rejection = {
  plugin: name,
  reasons: ["node(s) were unschedulable"],
  resolvable: false,
};

const tolerates = ({ spec }: Pod): boolean => untolerated(taints, spec.tolerations, effects).length === 0;

/**
 * Cordoned nodes take only pods that tolerate it. Upstream: plugins/nodeunschedulable/node_unschedulable.go
 */
export const nodeUnschedulable: Plugin = {
  name,
  filter(_state, pod, { node }) {
    if (!node.spec.unschedulable || tolerates(pod)) return undefined;
    return unschedulable;
  },
  mayHelp(_pod, event) {
    if (event.kind === "own-pod") return tolerates(event.pod);
    if (event.kind !== "node" || event.node.spec.unschedulable) return false;
    return event.change === "add" || (event.change === "update" && event.changed.has("unschedulable"));
  },
};
