import { type LabelSelection, labelSelectorOf, SelectorError } from "@dray/api";
import type { Pod, PodAffinityTerm } from "@dray/api/core/v1";

/** The labels of a namespace. */
export type NamespaceLabels = (name: string) => Readonly<Record<string, string>> | undefined;

/**
 * A term of pod affinity or anti-affinity. The API server has taken the labels of `matchLabelKeys` into its
 * selector.
 * Upstream: kube-scheduler/framework/types.go, AffinityTerm
 */
export class AffinityTerm {
  readonly topologyKey: string;
  /** Weight in the score of a preferred term. */
  readonly weight: number;
  readonly #namespaces: ReadonlySet<string>;
  readonly #namespaceSelector: LabelSelection;
  readonly #selector: LabelSelection;
  readonly #labelsOf: NamespaceLabels;

  constructor(owner: Pod, term: PodAffinityTerm, labelsOf: NamespaceLabels, weight = 0) {
    this.topologyKey = term.topologyKey;
    this.weight = weight;
    // Without a list and a selector it is about the owner's namespace; an empty selector means all of them.
    const own = !term.namespaces?.length && term.namespaceSelector === undefined;
    this.#namespaces = new Set(own ? [owner.metadata.namespace] : term.namespaces);
    this.#namespaceSelector = labelSelectorOf(term.namespaceSelector);
    this.#selector = labelSelectorOf(term.labelSelector);
    this.#labelsOf = labelsOf;
  }

  /**
   * The same for terms that are about the same pods; undefined where that depends on labels of namespaces.
   */
  get key(): string | undefined {
    if (!this.#namespaceSelector.empty && this.#namespaceSelector.requirements.length > 0) return undefined;
    const namespaces = this.#namespaceSelector.empty ? "*" : [...this.#namespaces].sort().join();
    return `${namespaces} ${this.#selector}`;
  }

  /** Reports whether the other pod is one that this term is about. */
  matches({ metadata: { namespace, labels } }: Pod): boolean {
    if (!this.#selector.matches(labels)) return false;
    return (
      this.#namespaces.has(namespace) ||
      this.#namespaceSelector.empty ||
      this.#namespaceSelector.matches(this.#labelsOf(namespace))
    );
  }
}

export interface AffinityTerms {
  readonly required: readonly AffinityTerm[];
  readonly requiredAnti: readonly AffinityTerm[];
  readonly preferred: readonly AffinityTerm[];
  readonly preferredAnti: readonly AffinityTerm[];
  /** Why a list of terms cannot be read; it counts as empty then. */
  readonly problem?: string;
}

const noTerms: AffinityTerms = { required: [], requiredAnti: [], preferred: [], preferredAnti: [] };

/**
 * Reads the terms of pods, once for each. Terms of running pods that are invalid have no effect.
 * Upstream: kube-scheduler/framework/types.go, PodInfo.Update; NodeInfo.AddPod ignores its error.
 */
export function affinityTerms(labelsOf: NamespaceLabels): (pod: Pod) => AffinityTerms {
  const known = new WeakMap<Pod, AffinityTerms>();
  return (pod) => {
    const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
    if (podAffinity === undefined && podAntiAffinity === undefined) return noTerms;
    let terms = known.get(pod);
    if (terms === undefined) {
      let problem: string | undefined;
      const read = (list: () => readonly AffinityTerm[]): readonly AffinityTerm[] => {
        try {
          return list();
        } catch (error) {
          if (!(error instanceof SelectorError)) throw error;
          problem ??= error.message;
          return [];
        }
      };
      const required = (side: typeof podAffinity): readonly AffinityTerm[] =>
        read(() =>
          (side?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map(
            (term) => new AffinityTerm(pod, term, labelsOf),
          ),
        );
      const preferred = (side: typeof podAffinity): readonly AffinityTerm[] =>
        read(() =>
          (side?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
            ({ podAffinityTerm, weight }) => new AffinityTerm(pod, podAffinityTerm, labelsOf, weight),
          ),
        );
      const lists = {
        required: required(podAffinity),
        requiredAnti: required(podAntiAffinity),
        preferred: preferred(podAffinity),
        preferredAnti: preferred(podAntiAffinity),
      };
      terms = { ...lists, ...(problem !== undefined && { problem }) };
      known.set(pod, terms);
    }
    return terms;
  };
}

export function matchesAll(terms: readonly AffinityTerm[], pod: Pod): boolean {
  return terms.length > 0 && terms.every((term) => term.matches(pod));
}

/** Sums by topology key and the value that nodes have for it. */
export class DomainSums {
  readonly #sums: Map<string, Map<string, number>>;

  constructor(sums = new Map<string, Map<string, number>>()) {
    this.#sums = sums;
  }

  clone(): DomainSums {
    return new DomainSums(new Map([...this.#sums].map(([key, sums]) => [key, new Map(sums)])));
  }

  /** False: no node that counts has a value. */
  get any(): boolean {
    return this.#sums.size > 0;
  }

  /** Does nothing if the node lacks the key. Zero counts are removed, unless `keep`. */
  add(
    labels: Readonly<Record<string, string>>,
    key: string,
    amount: number,
    { keep = false }: { readonly keep?: boolean } = {},
  ): void {
    if ((amount === 0 && !keep) || !Object.hasOwn(labels, key)) return;
    const value = labels[key]!;
    const sums = this.#sums.get(key) ?? new Map<string, number>();
    const sum = (sums.get(value) ?? 0) + amount;
    if (sum !== 0 || keep) sums.set(value, sum);
    else sums.delete(value);
    if (sums.size > 0) this.#sums.set(key, sums);
    else this.#sums.delete(key);
  }

  of(labels: Readonly<Record<string, string>>, key: string): number {
    if (!Object.hasOwn(labels, key)) return 0;
    return this.#sums.get(key)?.get(labels[key]!) ?? 0;
  }

  /** Reports whether a domain of the node has more than zero. */
  anyOf(labels: Readonly<Record<string, string>>): boolean {
    for (const key of this.#sums.keys()) if (this.of(labels, key) > 0) return true;
    return false;
  }

  /** Over all keys. */
  total(labels: Readonly<Record<string, string>>): number {
    let total = 0;
    for (const key of this.#sums.keys()) total += this.of(labels, key);
    return total;
  }
}
