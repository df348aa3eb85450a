import { untolerated } from "@dray/api";
import type { Node, Pod } from "@dray/api/core/v1";
import { differ } from "../framework/changes.ts";
import { normalizeByHighest, type Plugin, type Rejection } from "../framework/framework.ts";

const name = "TaintToleration";
/** Effects that keep a pod off a node. */
const blocking = ["NoSchedule", "NoExecute"];
const preferred = ["PreferNoSchedule"];

const untoleratedTaint: Rejection = {
  plugin: name,
  reasons: ["node(s) had untolerated taint(s)"],
  resolvable: false,
};

const isBlocked = ({ spec }: Pod, node: Node): boolean =>
  Boolean(node.spec.taints?.length) && untolerated(node.spec.taints, spec.tolerations, blocking).length > 0;

/** Upstream: plugins/tainttoleration/taint_toleration.go */
export const taintToleration: Plugin = {
  name,
  filter(_state, pod, { node }) {
    return isBlocked(pod, node) ? untoleratedTaint : undefined;
  },
  score(_state, { spec }, { node }) {
    if (!node.spec.taints?.length) return 0;
    return untolerated(node.spec.taints, spec.tolerations, preferred).length;
  },
  normalize: (scores) => normalizeByHighest(scores, true),
  mayHelp(pod, event) {
    if (event.kind === "own-pod") return differ(event.old?.spec.tolerations, event.pod.spec.tolerations);
    if (event.kind !== "node" || event.change === "delete" || !event.changed.has("taints")) return false;
    const wasBlocked = event.old === undefined || isBlocked(pod, event.old);
    return wasBlocked && !isBlocked(pod, event.node);
  },
};
