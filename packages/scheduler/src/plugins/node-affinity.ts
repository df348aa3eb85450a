import { type NodeTest, readNodeAffinity, readNodePreferences, readNodeSelector } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { normalizeByHighest, type Plugin, type Rejection } from "../framework/framework.ts";
import type { PluginArgs } from "./args.ts";

const name = "NodeAffinity";
const rejection = (reason: string): Rejection => ({ plugin: name, reasons: [reason], resolvable: false });
const enforced = rejection("node(s) didn't match scheduler-enforced node affinity");
const noMatch = rejection("node(s) didn't match Pod's node affinity/selector");
const conflict = rejection("pod affinity terms conflict");
/** Key of the pod's preferred terms in the cycle state. */
const scoreKey = `${name}/score`;

/**
 * Node selector, required and preferred node affinity of the pod, and the affinity that the arguments add for
 * all pods.
 * Upstream: plugins/nodeaffinity/node_affinity.go
 */
export function nodeAffinity({ addedAffinity }: PluginArgs["NodeAffinity"]): Plugin {
  const required = addedAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const added = required && readNodeSelector(required);
  const preferences = addedAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  const addedScore = preferences.length > 0 ? readNodePreferences(preferences) : undefined;

  return {
    name,
    preFilter(state, pod) {
      const { affinity, nodeSelector } = pod.spec;
      const own = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
      if (own === undefined && nodeSelector === undefined && added === undefined) return { type: "skip" };
      state.set(name, readNodeAffinity(pod.spec));
      const nodes = namedNodes(pod);
      if (nodes === undefined) return { type: "continue" };
      if (nodes.size === 0) return { type: "reject", rejection: conflict };
      return { type: "continue", nodes };
    },
    filter(state, _pod, { node }) {
      if (added?.(node) === false) return enforced;
      if ((state.get(name) as NodeTest)(node)) return undefined;
      return noMatch;
    },
    preScore(state, { spec }) {
      const own = spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution;
      if (own === undefined && addedScore === undefined) return "skip";
      state.set(scoreKey, readNodePreferences(own ?? []));
      return undefined;
    },
    score(state, _pod, { node }) {
      const own = (state.get(scoreKey) as ReturnType<typeof readNodePreferences>)(node);
      return own + (addedScore?.(node) ?? 0);
    },
    normalize: (scores) => normalizeByHighest(scores),
    mayHelp(pod, event) {
      if (event.kind !== "node" || event.change === "delete" || !event.changed.has("labels")) return false;
      if (added?.(event.node) === false) return false;
      const fits = readNodeAffinity(pod.spec);
      return fits(event.node) && (event.old === undefined || !fits(event.old));
    },
  };
}

/**
 * Node names that the pod's affinity allows by `metadata.name`, when every term names some: all of its
 * requirements hold together.
 */
function namedNodes(pod: Pod): Set<string> | undefined {
  const terms =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  if (terms.length === 0) return undefined;
  const names = new Set<string>();
  for (const term of terms) {
    const fields = (term.matchFields ?? []).filter((f) => f.key === "metadata.name" && f.operator === "In");
    if (fields.length === 0) return undefined;
    const sets = fields.map(({ values }) => new Set(values));
    for (const node of sets.reduce((both, other) => both.intersection(other))) names.add(node);
  }
  return names;
}
