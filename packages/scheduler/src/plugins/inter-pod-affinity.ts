import { labelSelectorOf } from "@dray/api";
import type { Pod, PodAffinityTerm } from "@dray/api/core/v1";
import type { Plugin, Rejection } from "../framework.ts";
import type { NodeInfo } from "../node-info.ts";

interface Term {
  readonly topologyKey: string;
  /** Whether the other pod is one that this term is about. */
  matches(other: Pod): boolean;
}

/** The labels of a namespace. */
type NamespaceLabels = (name: string) => Readonly<Record<string, string>> | undefined;

function readTerms(
  owner: Pod,
  terms: readonly PodAffinityTerm[] | undefined,
  labelsOf: NamespaceLabels,
): Term[] {
  return (terms ?? []).map((term) => {
    const selector = labelSelectorOf(term.labelSelector);
    // Without a list and a selector it is about the owner's namespace; an empty selector means all of them.
    const chosen = labelSelectorOf(term.namespaceSelector);
    const own = !term.namespaces?.length && term.namespaceSelector === undefined;
    const namespaces = own ? [owner.metadata.namespace] : (term.namespaces ?? []);
    return {
      topologyKey: term.topologyKey,
      matches: (other) =>
        (namespaces.includes(other.metadata.namespace) ||
          chosen.matches(labelsOf(other.metadata.namespace))) &&
        selector.matches(other.metadata.labels),
    };
  });
}

const domain = (key: string, value: string): string => `${key}\0${value}`;

interface State {
  /** Domains in which a pod stands that this pod must avoid. */
  readonly avoided: Set<string>;
  /** Domains in which a pod stands that does not want this one. */
  readonly guarded: Set<string>;
  /** For each affinity term the domains in which a matching pod stands. */
  readonly attracted: readonly Set<string>[];
}

const name = "InterPodAffinity";

/** Required affinity and anti-affinity between pods, in both directions (core/v1 PodAffinity). Preferred terms do not count. */
export function interPodAffinity(labelsOf: NamespaceLabels): Plugin {
  const cached = new WeakMap<Pod, { affinity: Term[]; anti: Term[] }>();

  function termsOf(pod: Pod): { affinity: Term[]; anti: Term[] } {
    const known = cached.get(pod);
    if (known !== undefined) return known;
    const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
    const terms = {
      affinity: readTerms(pod, podAffinity?.requiredDuringSchedulingIgnoredDuringExecution, labelsOf),
      anti: readTerms(pod, podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution, labelsOf),
    };
    cached.set(pod, terms);
    return terms;
  }

  return {
    name,
    looksAround: true,
    preFilter(state, pod, nodes) {
      const { affinity, anti } = termsOf(pod);
      const found: State = {
        avoided: new Set(),
        guarded: new Set(),
        attracted: affinity.map(() => new Set()),
      };
      const indifferent = affinity.length === 0 && anti.length === 0;
      for (const { node, pods, guarding } of nodes) {
        if (indifferent && guarding.size === 0) continue;
        const labels = node.metadata.labels ?? {};
        const note = (set: Set<string>, key: string): void => {
          if (Object.hasOwn(labels, key)) set.add(domain(key, labels[key]!));
        };
        for (const other of indifferent ? guarding : pods.values()) {
          for (const term of anti) if (term.matches(other)) note(found.avoided, term.topologyKey);
          for (const term of termsOf(other).anti)
            if (term.matches(pod)) note(found.guarded, term.topologyKey);
          affinity.forEach((term, i) => {
            // A pod attracts only where all of the terms match it.
            if (affinity.every((each) => each.matches(other))) note(found.attracted[i]!, term.topologyKey);
          });
        }
      }
      if (indifferent && found.guarded.size === 0) return { type: "skip" };
      state.set(name, found);
      return { type: "continue" };
    },
    filter(state, pod, { node }: NodeInfo): Rejection | undefined {
      const { avoided, guarded, attracted } = state.get(name) as State;
      const labels = node.metadata.labels ?? {};
      const stands = (set: Set<string>, key: string): boolean =>
        Object.hasOwn(labels, key) && set.has(domain(key, labels[key]!));
      const { affinity, anti } = termsOf(pod);
      const attractedHere = affinity.every((term, i) => stands(attracted[i]!, term.topologyKey));
      if (!attractedHere) {
        // The first pod of a group that wants its own kind may go anywhere that has the topology.
        const first =
          attracted.every((set) => set.size === 0) &&
          affinity.every((term) => term.matches(pod) && Object.hasOwn(labels, term.topologyKey));
        if (!first) return reject("node(s) didn't match pod affinity rules", false);
      }
      if (anti.some((term) => stands(avoided, term.topologyKey)))
        return reject("node(s) didn't match pod anti-affinity rules", true);
      for (const entry of guarded) {
        const [key = "", value] = entry.split("\0");
        if (labels[key] === value)
          return reject("node(s) didn't satisfy existing pods anti-affinity rules", true);
      }
      return undefined;
    },
    mayHelp: (_pod, event) =>
      event.kind === "node" ||
      event.kind === "assigned-pod" ||
      event.kind === "released" ||
      event.kind === "own-pod",
  };
}

function reject(reason: string, resolvable: boolean): Rejection {
  return { plugin: name, reasons: [reason], resolvable };
}
