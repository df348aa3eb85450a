import { encodeJSON, StatusError } from "@dray/api";
import { type ContainerState, type ContainerStatus, Pod, type PodStatus } from "@dray/api/core/v1";
import type { Client, Log } from "@dray/client";
import { ownConditions } from "./conditions.ts";

/** Writes the status of one pod when it has changed. */
export class StatusReporter {
  readonly #client: Client;
  readonly #log: Log;
  #reported: string | undefined;
  /** UID of the written object: a mirror may be created anew. */
  #uid: string | undefined;
  /** Last refusal that was logged. */
  #refusal: string | undefined;

  constructor(client: Client, log: Log) {
    this.#client = client;
    this.#log = log;
  }

  /** True once a status was generated here, written or not. */
  get begun(): boolean {
    return this.#reported !== undefined;
  }

  /**
   * Rejects if the API server is unavailable. A status that it refuses for its size or content is reduced,
   * and omitted if that is refused too, so that no text keeps a pod from ending.
   */
  async report(pod: Pod, status: PodStatus): Promise<void> {
    const text = encodeJSON(comparable(status));
    if (this.#uid !== pod.metadata.uid) this.#reported = undefined;
    this.#uid = pod.metadata.uid;
    this.#reported ??= encodeJSON(comparable(pick(pod.status ?? {}, status)));
    if (text === this.#reported) return;
    for (const reduce of reductions) {
      try {
        await this.#write(pod, reduce(status));
        this.#reported = text;
        return;
      } catch (error) {
        // Another pod has the name, or it is gone: the informer will report it.
        if (StatusError.is(error, "NotFound") || StatusError.is(error, "Conflict")) return;
        if (!StatusError.is(error, "RequestEntityTooLarge") && !StatusError.is(error, "Invalid")) throw error;
        this.#refused(pod, error);
      }
    }
  }

  async #write(pod: Pod, status: PodStatus): Promise<void> {
    const { namespace, name, uid } = pod.metadata;
    await this.#client
      .resource(Pod)
      .patch(
        { namespace, name },
        "strategic",
        { metadata: { uid }, status: patchOf(pod, status) },
        { subresource: "status" },
      );
  }

  #refused({ metadata: { namespace, name } }: Pod, error: StatusError): void {
    const level = this.#refusal === error.message ? "debug" : "error";
    this.#refusal = error.message;
    this.#log[level](
      { pod: `${namespace}/${name}`, err: error },
      "the API server refuses the status of a pod: it is written with less in it",
    );
  }
}

/** Reductions in order: none, without texts, the phase with its conditions. */
const reductions: readonly ((status: PodStatus) => PodStatus)[] = [
  (status) => status,
  withoutTexts,
  (status) => {
    const {
      containerStatuses: _,
      initContainerStatuses: __,
      ephemeralContainerStatuses: ___,
      ...rest
    } = withoutTexts(status);
    return rest;
  },
];

function withoutTexts(status: PodStatus): PodStatus {
  const {
    message: _,
    containerStatuses,
    initContainerStatuses,
    ephemeralContainerStatuses,
    ...rest
  } = status;
  const reduce = (all: readonly ContainerStatus[]): ContainerStatus[] =>
    all.map((one) => ({
      ...one,
      ...(one.state === undefined ? {} : { state: withoutText(one.state) }),
      ...(one.lastState === undefined ? {} : { lastState: withoutText(one.lastState) }),
    }));
  return {
    ...rest,
    conditions: (status.conditions ?? []).map(({ message: _, ...condition }) => condition),
    ...(containerStatuses === undefined ? {} : { containerStatuses: reduce(containerStatuses) }),
    ...(initContainerStatuses === undefined ? {} : { initContainerStatuses: reduce(initContainerStatuses) }),
    ...(ephemeralContainerStatuses === undefined
      ? {}
      : { ephemeralContainerStatuses: reduce(ephemeralContainerStatuses) }),
  };
}

function withoutText(state: ContainerState): ContainerState {
  const { waiting, terminated, ...rest } = state;
  const bare = <T extends { readonly message?: string }>({ message: _, ...one }: T): Omit<T, "message"> =>
    one;
  return {
    ...rest,
    ...(waiting === undefined ? {} : { waiting: bare(waiting) }),
    ...(terminated === undefined ? {} : { terminated: bare(terminated) }),
  };
}

/** Fields of a status that the agent writes. */
function pick(status: PodStatus, like: PodStatus): PodStatus {
  return Object.fromEntries(Object.entries(status).filter(([key]) => Object.hasOwn(like, key))) as PodStatus;
}

/** Normalizes the order of keys, and the null that the server writes for unset times. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, one]) => one !== null)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, one]) => [key, comparable(one)]),
  );
}

/** Removes amounts that are gone; if the old status had no amounts, the server drops the directive. */
function wholePod(old: PodStatus, status: PodStatus): object {
  const fields = (["resources", "allocatedResources"] as const).filter(
    (name) => old[name] !== undefined && status[name] !== undefined,
  );
  return Object.fromEntries(fields.map((name) => [name, { $patch: "replace", ...status[name] }]));
}

/** Removes explicitly what a strategic merge would keep of the old status. */
function patchOf(pod: Pod, status: PodStatus): object {
  const old = pod.status ?? {};
  const { conditions = [] } = status;
  const ipChanged = old.podIP !== undefined && old.podIP !== status.podIP;
  return {
    ...status,
    ...(old.reason !== undefined && status.reason === undefined ? { reason: null } : {}),
    ...(old.message !== undefined && status.message === undefined ? { message: null } : {}),
    ...wholePod(old, status),
    ...(ipChanged ? { podIPs: [{ $patch: "replace" }, ...(status.podIPs ?? [])] } : {}),
    conditions: [
      ...conditions.map((condition) => ({
        ...condition,
        reason: condition.reason ?? null,
        message: condition.message ?? null,
      })),
      ...(old.conditions ?? [])
        .filter(({ type }) => ownConditions.has(type) && !conditions.some((one) => one.type === type))
        .map(({ type }) => ({ $patch: "delete", type })),
    ],
  };
}
