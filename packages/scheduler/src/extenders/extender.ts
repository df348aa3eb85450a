import { encodeJSON } from "@dray/api";
import type { Container, Pod } from "@dray/api/core/v1";
import type { ExtenderConfiguration } from "../config/types.ts";
import type { Candidate } from "../framework/candidate.ts";
import { maxScore, type Rejection } from "../framework/framework.ts";
import type { NodeInfo } from "../framework/node-info.ts";
import type { PostToExtender } from "./http.ts";

/** Extenders score from 0 to this. */
const maxExtenderScore = 10;

/** Under this name a pod waits that an extender has rejected: any event wakes it. */
export const extenderName = "Extender";

type Answer = Readonly<Record<string, unknown>>;

/** Result of a filter. */
export interface Filtered {
  readonly nodes: readonly NodeInfo[];
  readonly rejections: ReadonlyMap<string, Rejection>;
}

/**
 * A service that filters, scores and binds, too. Upstream: pkg/scheduler/extender.go;
 * kube-scheduler/extender/v1/types.go has the bodies, whose fields Go reads in any case.
 */
export class Extender {
  /** The nodes that the extender accepts, with reasons for the others. Undefined: it does not filter. */
  readonly filter: ((pod: Pod, nodes: readonly NodeInfo[]) => Promise<Filtered>) | undefined;
  /** Weighted scores by node, in the range of plugins. Undefined: it does not score. */
  readonly prioritize:
    | ((pod: Pod, nodes: readonly NodeInfo[]) => Promise<ReadonlyMap<string, number>>)
    | undefined;
  /** Undefined: it does not bind. */
  readonly bind: ((pod: Pod, node: string) => Promise<void>) | undefined;
  /** The candidates that the extender leaves, with the victims that it wants. Undefined: it leaves all. */
  readonly preempt:
    | ((pod: Pod, candidates: readonly Candidate[]) => Promise<readonly Candidate[]>)
    | undefined;
  readonly #configuration: ExtenderConfiguration;
  readonly #post: PostToExtender;
  readonly #managed: ReadonlySet<string>;

  constructor(configuration: ExtenderConfiguration, post: PostToExtender) {
    this.#configuration = configuration;
    this.#post = post;
    this.#managed = new Set(configuration.managedResources.map(({ name }) => name));
    const { filterVerb, prioritizeVerb, bindVerb, preemptVerb } = configuration;
    this.filter = filterVerb === undefined ? undefined : (...asked) => this.#filter(filterVerb, ...asked);
    this.prioritize =
      prioritizeVerb === undefined ? undefined : (...asked) => this.#prioritize(prioritizeVerb, ...asked);
    this.bind = bindVerb === undefined ? undefined : (...asked) => this.#bind(bindVerb, ...asked);
    this.preempt = preemptVerb === undefined ? undefined : (...asked) => this.#preempt(preemptVerb, ...asked);
  }

  get ignorable(): boolean {
    return this.#configuration.ignorable;
  }

  /** Reports whether the pod asks for a resource that the extender manages. */
  isInterested({ spec }: Pod): boolean {
    if (this.#managed.size === 0) return true;
    return [...spec.containers, ...(spec.initContainers ?? [])].some((container) => this.#asks(container));
  }

  async #filter(verb: string, pod: Pod, nodes: readonly NodeInfo[]): Promise<Filtered> {
    const answer = await this.#ask(verb, { Pod: pod, ...this.#sent(nodes) });
    const error = textOf(answer, "Error");
    if (error !== "") throw new Error(error);
    const rejections = new Map<string, Rejection>();
    const note = (field: string, resolvable: boolean): void => {
      for (const [node, reason] of Object.entries(objectOf(answer, field)))
        rejections.set(node, { plugin: extenderName, reasons: [String(reason)], resolvable });
    };
    note("FailedNodes", true);
    note("FailedAndUnresolvableNodes", false);
    const byName = new Map(nodes.map((node) => [node.name, node]));
    const accepted = namesOf(answer).map((name) => {
      const node = byName.get(name);
      if (node !== undefined) return node;
      const { urlPrefix } = this.#configuration;
      throw new Error(
        `extender "${urlPrefix}" claims a filtered node "${name}" which is not found in the input node list`,
      );
    });
    return { nodes: accepted, rejections };
  }

  async #prioritize(
    verb: string,
    pod: Pod,
    nodes: readonly NodeInfo[],
  ): Promise<ReadonlyMap<string, number>> {
    const answer = await this.#ask(verb, { Pod: pod, ...this.#sent(nodes) });
    const list = Array.isArray(answer) ? (answer as Answer[]) : [];
    const factor = this.#configuration.weight * (maxScore / maxExtenderScore);
    return new Map(list.map((each) => [textOf(each, "Host"), Number(fieldOf(each, "Score") ?? 0) * factor]));
  }

  async #bind(verb: string, { metadata }: Pod, node: string): Promise<void> {
    const answer = await this.#ask(verb, {
      PodName: metadata.name,
      PodNamespace: metadata.namespace,
      PodUID: metadata.uid,
      Node: node,
    });
    const error = textOf(answer, "Error");
    if (error !== "") throw new Error(error);
  }

  async #preempt(verb: string, pod: Pod, candidates: readonly Candidate[]): Promise<readonly Candidate[]> {
    const { nodeCacheCapable, urlPrefix } = this.#configuration;
    const victims = Object.fromEntries(
      candidates.map(({ node, victims, violations }) => [
        node.name,
        {
          Pods: nodeCacheCapable ? victims.map(({ metadata }) => ({ UID: metadata.uid })) : victims,
          NumPDBViolations: violations,
        },
      ]),
    );
    const field = nodeCacheCapable ? "NodeNameToMetaVictims" : "NodeNameToVictims";
    const answer = await this.#ask(verb, { Pod: pod, [field]: victims });
    const left: Candidate[] = [];
    for (const [name, chosen] of Object.entries(objectOf(answer, "NodeNameToMetaVictims"))) {
      const candidate = candidates.find(({ node }) => node.name === name);
      if (candidate === undefined)
        throw new Error(
          `extender "${urlPrefix}" wants to preempt on node "${name}", which is not a candidate`,
        );
      const pods = listOf(chosen as Answer, "Pods").map((each) => {
        const uid = textOf(each, "UID");
        const victim = candidate.node.pods.get(uid);
        if (victim !== undefined) return victim;
        throw new Error(
          `extender: ${urlPrefix} claims to preempt pod (UID: ${uid}) on node: ${name}, but the pod is not found on that node`,
        );
      });
      if (pods.length === 0 && !this.ignorable)
        throw new Error(`expected at least one victim pod on node "${name}"`);
      const violations = Number(fieldOf(chosen as Answer, "NumPDBViolations") ?? 0);
      if (pods.length > 0) left.push({ node: candidate.node, victims: pods, violations });
    }
    return left;
  }

  #asks({ resources }: Pick<Container, "resources">): boolean {
    const names = [...Object.keys(resources?.requests ?? {}), ...Object.keys(resources?.limits ?? {})];
    return names.some((name) => this.#managed.has(name));
  }

  #sent(nodes: readonly NodeInfo[]): object {
    return this.#configuration.nodeCacheCapable
      ? { NodeNames: nodes.map(({ name }) => name) }
      : { Nodes: { metadata: {}, items: nodes.map(({ node }) => node) } };
  }

  async #ask(verb: string, body: object): Promise<Answer> {
    const text = await this.#post(verb, encodeJSON(body));
    try {
      return (JSON.parse(text) ?? {}) as Answer; // Its fields are unknown.
    } catch (error) {
      throw new Error(`the answer of extender ${this.#configuration.urlPrefix} to ${verb} is not JSON`, {
        cause: error,
      });
    }
  }
}

/** A field in any case. */
function fieldOf(answer: Answer, name: string): unknown {
  if (typeof answer !== "object" || answer === null) return undefined;
  const wanted = name.toLowerCase();
  const key = Object.keys(answer).find((each) => each.toLowerCase() === wanted);
  return key === undefined ? undefined : (answer[key] ?? undefined);
}

function textOf(answer: Answer, name: string): string {
  const value = fieldOf(answer, name);
  return typeof value === "string" ? value : "";
}

function objectOf(answer: Answer, name: string): Answer {
  const value = fieldOf(answer, name);
  return typeof value === "object" && value !== null ? (value as Answer) : {};
}

function listOf(answer: Answer, name: string): readonly Answer[] {
  const value = fieldOf(answer, name);
  return Array.isArray(value) ? (value as Answer[]) : [];
}

/** Returns the nodes of a filter's response: their names, or whole nodes. */
function namesOf(answer: Answer): readonly string[] {
  const names = fieldOf(answer, "NodeNames");
  if (Array.isArray(names)) return names.map(String);
  return listOf(objectOf(answer, "Nodes"), "items").map((node) => textOf(objectOf(node, "metadata"), "name"));
}
