import { controllerOf, StatusError } from "@dray/api";
import { Node, Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import type { Client, Clock } from "@dray/client";

/** Milliseconds after which an eviction that a disruption budget refuses is tried again, as kubectl does. */
const retryInterval = 5_000;

export interface DrainOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** Receives progress messages, a line each. */
  readonly say: (line: string) => void;
  /** Aborted: the drain is given up and rejects; the nodes take pods again. */
  readonly signal: AbortSignal;
}

/** Result of a drain. */
export interface Drained {
  /** `namespace/name` of the pods that were evicted. */
  readonly evicted: readonly string[];
  /** Those among them that no controller creates again. */
  readonly lost: readonly string[];
}

/**
 * Takes nodes out of service: no new pods go there, and those that run there are evicted, with their grace
 * period and within their disruption budgets. Pods of DaemonSets and pods that have ended stay: they belong
 * to the node. Resolves when all others have gone.
 *
 * Upstream: kubectl, pkg/drain.
 */
export async function drainNodes(names: readonly string[], options: DrainOptions): Promise<Drained> {
  const { client, signal } = options;
  signal.throwIfAborted();
  // All of them first: a pod of one is not to go to another.
  await Promise.all(names.map((name) => cordon(client, name, true)));
  const ended = new AbortController();
  const watched = AbortSignal.any([signal, ended.signal]);
  try {
    const outcomes = await Promise.all(names.map((name) => drainNode(name, options, watched)));
    return {
      evicted: outcomes.flatMap(({ evicted }) => evicted),
      lost: outcomes.flatMap(({ lost }) => lost),
    };
  } catch (error) {
    await Promise.all(names.map((name) => cordon(client, name, false)));
    throw error;
  } finally {
    ended.abort();
  }
}

/** Lets nodes take pods again whose drain was given up without that: by a crash. */
export async function endDrains(client: Client): Promise<void> {
  const { items } = await client.resource(Node).list();
  for (const { metadata } of items)
    if (metadata.annotations?.[drainAnnotation] !== undefined) await cordon(client, metadata.name, false);
}

/** On a node that a drain has taken out of service: who did so otherwise may not want it back. */
const drainAnnotation = "dray/draining";

async function cordon(client: Client, name: string, on: boolean): Promise<void> {
  const body = {
    metadata: { annotations: { [drainAnnotation]: on ? "true" : null } },
    spec: { unschedulable: on ? true : null },
  };
  try {
    await client.resource(Node).patch({ name }, "merge", body);
  } catch (error) {
    if (!StatusError.is(error, "NotFound")) throw error;
  }
}

async function drainNode(name: string, options: DrainOptions, signal: AbortSignal): Promise<Drained> {
  const pods = options.client.informer(Pod, { fieldSelector: `spec.nodeName=${name}` });
  await pods.start(signal);
  const evicted: string[] = [];
  const lost: string[] = [];
  for (;;) {
    const going = pods.list().filter(hasToGo);
    if (going.length === 0) return { evicted, lost };
    options.say(`${name}: evicting ${going.map(nameOf).join(", ")}`);
    await Promise.all(going.map((pod) => evict(pod, options, signal)));
    for (const pod of going) {
      evicted.push(nameOf(pod));
      if (!controllerOf(pod)) lost.push(nameOf(pod));
    }
    const uids = new Set(going.map(({ metadata }) => metadata.uid));
    await pods.until(() => signal.aborted || pods.list().every((pod) => !uids.has(pod.metadata.uid)));
    signal.throwIfAborted();
  }
}

function hasToGo(pod: Pod): boolean {
  return !isPodTerminal(pod) && controllerOf(pod)?.kind !== "DaemonSet";
}

function nameOf({ metadata: { namespace, name } }: Pod): string {
  return `${namespace}/${name}`;
}

/** Resolves when the eviction is accepted, or the pod is gone. */
async function evict(pod: Pod, { client, clock, say }: DrainOptions, signal: AbortSignal): Promise<void> {
  const { namespace = "", name, uid } = pod.metadata;
  const eviction = {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { namespace, name },
    deleteOptions: { preconditions: { uid } },
  };
  let lastReason = "";
  for (;;) {
    signal.throwIfAborted();
    const late = new AbortController();
    const cancel = clock.after(retryInterval, () => late.abort());
    let reason = "the API server asks to wait: its PodDisruptionBudget has no status yet";
    try {
      // The client would wait for the Retry-After of the server.
      const either = AbortSignal.any([signal, late.signal]);
      await client.resource(Pod).post({ namespace, name }, "eviction", eviction, { signal: either });
      return;
    } catch (error) {
      signal.throwIfAborted();
      // Conflict: it is another pod of the same name by now.
      if (StatusError.is(error, "NotFound") || StatusError.is(error, "Conflict")) return;
      if (StatusError.is(error, "TooManyRequests")) reason = error.message;
      else if (!late.signal.aborted) throw error;
    } finally {
      cancel();
    }
    const why = `${nameOf(pod)} cannot be evicted yet: ${reason}`;
    if (why !== lastReason) say(why);
    lastReason = why;
    if (!late.signal.aborted) await delay(clock, retryInterval, signal);
  }
}

function delay(clock: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.after(milliseconds, end);
    signal.addEventListener("abort", end, { once: true });
  });
}
