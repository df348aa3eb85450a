import { type Clock, type Log, sleep } from "@dray/client";
import { RpcError } from "@dray/rpc";
import { type ContainerEventResponse, ContainerEventType } from "@dray/rpc/cri/v1";
import { type CriConnection, requestTimeout } from "./connection.ts";
import { isOfNode, podUidOf, selectorOf } from "./labels.ts";

/**
 * Interval of lists in milliseconds: with events, in case one was lost, and without.
 *
 * Upstream: pkg/kubelet/kubelet.go, eventedPlegRelistPeriod and genericPlegRelistPeriod.
 */
const relistInterval = { events: 60_000, noEvents: 1000 } as const;
/** Delay before events are requested again, in milliseconds. */
const retryInterval = 1000;

export interface ChangeOptions {
  readonly connection: CriConnection;
  readonly node: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Called with the UID of a pod of this node that has changed. */
  changed(podUid: string): void;
  /** Called with the ID of a container that was removed. */
  removed(containerId: string): void;
}

/**
 * Follows changes in the runtime: by its events if it has them (`GetContainerEvents`), and by periodic lists.
 */
export class Changes {
  readonly #options: ChangeOptions;
  readonly #stop = new AbortController();
  /** Pod and state as last listed, by ID of the sandbox or container. */
  #known = new Map<string, { readonly podUid: string; readonly state: string }>();
  #events = false;
  #running: Promise<unknown> | undefined;

  constructor(options: ChangeOptions) {
    this.#options = options;
  }

  /** Lists everything, and starts watching. Rejects if the runtime cannot list. */
  async start(): Promise<void> {
    this.#known = await this.#list();
    this.#running = Promise.all([this.#watch(), this.#relist()]);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #watch(): Promise<void> {
    const { connection, clock, log, node } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      // A runtime without events rejects at once.
      const cancel = clock.after(retryInterval, () => {
        this.#events = true;
      });
      try {
        for await (const event of connection.runtime.getContainerEvents({}, { signal })) {
          this.#note(event, node);
        }
      } catch (error) {
        if (signal.aborted) return;
        if (RpcError.is(error, "Unimplemented")) {
          log.info({ runtime: connection.name }, "the runtime has no events: it is asked every second");
          return;
        }
        log.warn({ error: (error as Error).message }, "the events of the runtime have ended");
      } finally {
        cancel();
        this.#events = false;
      }
      await sleep(clock, retryInterval, signal);
    }
  }

  #note(event: ContainerEventResponse, node: string): void {
    const { CONTAINER_DELETED_EVENT } = ContainerEventType;
    if (event.containerEventType === CONTAINER_DELETED_EVENT) this.#options.removed(event.containerId);
    const labels = event.podSandboxStatus?.labels;
    if (labels !== undefined && isOfNode(labels, node)) this.#options.changed(podUidOf(labels));
    // The sandbox may be gone already.
    else if (labels === undefined) {
      const known = this.#known.get(event.containerId);
      if (known !== undefined) this.#options.changed(known.podUid);
    }
  }

  async #relist(): Promise<void> {
    const { clock, log } = this.#options;
    const { signal } = this.#stop;
    let last = clock.now();
    while (!signal.aborted) {
      await sleep(clock, relistInterval.noEvents, signal);
      if (signal.aborted) return;
      if (this.#events && clock.now() - last < relistInterval.events) continue;
      try {
        const before = this.#known;
        this.#known = await this.#list();
        last = clock.now();
        const changed = new Set<string>();
        for (const [id, { podUid, state }] of this.#known)
          if (before.get(id)?.state !== state) changed.add(podUid);
        for (const [id, { podUid }] of before) {
          if (this.#known.has(id)) continue;
          changed.add(podUid);
          this.#options.removed(id);
        }
        for (const podUid of changed) this.#options.changed(podUid);
      } catch (error) {
        last = Number.NEGATIVE_INFINITY;
        log.warn({ error: (error as Error).message }, "the runtime cannot be asked what runs");
      }
    }
  }

  async #list(): Promise<Map<string, { readonly podUid: string; readonly state: string }>> {
    const { connection, node } = this.#options;
    const options = { timeout: requestTimeout, signal: this.#stop.signal };
    const labelSelector = selectorOf(node, undefined);
    const [sandboxes, containers] = await Promise.all([
      connection.runtime.listPodSandbox({ filter: { id: "", state: undefined, labelSelector } }, options),
      connection.runtime.listContainers(
        { filter: { id: "", state: undefined, podSandboxId: "", labelSelector } },
        options,
      ),
    ]);
    const listed = new Map<string, { readonly podUid: string; readonly state: string }>();
    for (const { id, labels, state } of [...sandboxes.items, ...containers.containers])
      listed.set(id, { podUid: podUidOf(labels), state: String(state) });
    return listed;
  }
}
