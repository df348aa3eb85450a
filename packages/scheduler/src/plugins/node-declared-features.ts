import type { Features } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { differ } from "../framework/changes.ts";
import type { Plugin } from "../framework/framework.ts";

const name = "NodeDeclaredFeatures";

/**
 * Features that the specs of pods need of their node, those that only matter to updates apart.
 * Upstream: k8s.io/component-helpers/nodedeclaredfeatures/features, InferForScheduling
 */
const needs: Readonly<Record<string, (spec: Pod["spec"]) => boolean>> = {
  RestartAllContainersOnContainerExits: ({ containers = [], initContainers = [] }) =>
    [...containers, ...initContainers].some(({ restartPolicyRules = [] }) =>
      restartPolicyRules.some(({ action }) => action === "RestartAllContainers"),
    ),
  UserNamespacesHostNetworkSupport: ({ hostNetwork, hostUsers }) =>
    hostNetwork === true && hostUsers === false,
};

function featuresOf({ spec }: Pod): string[] {
  return Object.keys(needs).filter((feature) => needs[feature]!(spec));
}

/**
 * A pod runs only on nodes that declare the features it needs (KEP-5328).
 * Upstream: plugins/nodedeclaredfeatures/nodedeclaredfeatures.go
 */
export function nodeDeclaredFeatures(features: Features): Plugin {
  const enabled = features.enabled("NodeDeclaredFeatures");
  return {
    name,
    preFilter(state, pod) {
      const needed = enabled ? featuresOf(pod) : [];
      if (needed.length === 0) return { type: "skip" };
      state.set(name, needed);
      return { type: "continue" };
    },
    filter(state, _pod, { node }) {
      const declared = node.status?.declaredFeatures ?? [];
      if ((state.get(name) as string[]).every((feature) => declared.includes(feature))) return undefined;
      const reasons = ["node(s) didn't match Pod's required features"];
      return { plugin: name, reasons, resolvable: false };
    },
    mayHelp(_pod, event) {
      if (event.kind === "own-pod") {
        return event.old === undefined || differ(featuresOf(event.old), featuresOf(event.pod));
      }
      if (event.kind !== "node" || event.change === "delete") return false;
      return event.changed.has("declaredFeatures");
    },
  };
}
