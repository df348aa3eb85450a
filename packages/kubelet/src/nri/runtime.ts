import type { CdiRegistry } from "@dray/cdi";
import type { Clock, Log } from "@dray/client";
import {
  type ContainerUpdate,
  type Container as NriContainer,
  type PodSandbox,
  PodSandbox as PodSandboxMessage,
} from "@dray/rpc/nri/v1alpha1";
import type { ContainerConfig, ResourceConfig, SandboxConfig } from "../runtime/config.ts";
import { RuntimeError } from "../runtime/error.ts";
import type { Made, NodeRuntime, RuntimeService } from "../runtime/service.ts";
import { adjustedConfig } from "./adjust.ts";
import { nriContainer, nriPod, nriResources, nriState, resourceConfig } from "./convert.ts";
import { DelegatingRuntime } from "./delegating-runtime.ts";
import { warnOfEvictions } from "./evictions.ts";
import { type ContainerRecord, NriRecords } from "./records.ts";
import { NriServer, type NriState } from "./server.ts";

export interface NriOptions {
  /** `/var/run/nri/nri.sock` below the node's root. */
  readonly socketPath: string;
  /** Folder of the records of pods and containers. */
  readonly folder: string;
  /** CDI devices: plugins see their environment. */
  readonly cdi: CdiRegistry;
  readonly clock: Clock;
  /** Returns a new UUID. */
  readonly newId: () => string;
  readonly log: Log;
}

/**
 * Wraps a runtime whose pods and containers NRI plugins see and change; not for one that serves NRI itself
 * (`cri`).
 */
export function withNri({ service, images }: NodeRuntime, options: NriOptions): NodeRuntime {
  return { service: new NriRuntime(service, options), images };
}

/**
 * Passes each step in the life of pods and containers to plugins, and their changes to the runtime.
 *
 * Upstream: containerd, internal/nri/nri.go.
 */
class NriRuntime extends DelegatingRuntime implements RuntimeService {
  readonly #options: NriOptions;
  readonly #records: NriRecords;
  #server: NriServer | undefined;
  #unwatch: (() => void) | undefined;
  /** Running notifications of stops, by the runtime's ID of the container. */
  readonly #stops = new Map<string, Promise<void>>();
  /** Sandboxes of whose stop plugins were notified. */
  readonly #stoppedPods = new Set<string>();

  constructor(inner: RuntimeService, options: NriOptions) {
    super(inner);
    this.#options = options;
    this.#records = new NriRecords(options.folder);
  }

  async start(): Promise<void> {
    const { clock, log, socketPath } = this.#options;
    await this.inner.start();
    try {
      await this.#records.load(log);
      await this.#catchUp();
      const server = new NriServer({
        socketPath,
        runtimeName: this.inner.name,
        runtimeVersion: this.inner.version,
        clock,
        log,
        state: () => this.#state(),
        updateContainers: (updates) => this.#update(updates),
      });
      await server.start();
      this.#server = server;
    } catch (error) {
      await this.inner.close();
      throw error;
    }
    this.#unwatch = this.inner.onChange((podUid) => void this.#changed(podUid));
  }

  async close(): Promise<void> {
    this.#unwatch?.();
    await this.#server?.close();
    await this.inner.close();
  }

  runPodSandbox(config: SandboxConfig): Promise<Made> {
    return this.#nri.change(() => this.#runPodSandbox(config));
  }

  async #runPodSandbox(config: SandboxConfig): Promise<Made> {
    const made = await this.inner.runPodSandbox(config);
    try {
      const sandboxes = await this.inner.listPodSandboxes(config.uid);
      const ips = sandboxes.find(({ id }) => id === made.id)?.ips ?? [];
      const pod = nriPod(made.id, config, ips, this.inner.linuxSandbox?.(made.id));
      await this.#records.keepPod(pod);
      await this.#nri.runPodSandbox(pod);
      return made;
    } catch (error) {
      // Plugins that have accepted the pod undo what they did.
      await this.#endPodSandbox(made.id);
      await this.inner.removePodSandbox(made.id);
      await this.#podRemoved(made.id, []);
      throw refused("FailedCreatePodSandBox", error);
    }
  }

  stopPodSandbox(id: string): Promise<void> {
    return this.#endPodSandbox(id);
  }

  /**
   * Ends the containers, notifies plugins while the network of the pod is still there, and takes it down.
   *
   * Upstream: containerd, internal/cri/server/sandbox_stop.go, stopPodSandbox.
   */
  async #endPodSandbox(id: string): Promise<void> {
    const pod = this.#records.pods.get(id);
    if (pod !== undefined) {
      const records = this.#recordsOf(id);
      for (const { runtimeId } of records) await this.inner.stopContainer(runtimeId, 0);
      for (const record of records) await this.#stopped(record);
      if (!this.#stoppedPods.has(id)) await this.#notify("StopPodSandbox", this.#nri.stopPodSandbox(pod));
      this.#stoppedPods.add(id);
    }
    await this.inner.stopPodSandbox(id);
  }

  async removePodSandbox(id: string): Promise<void> {
    const records = this.#recordsOf(id);
    await this.#endPodSandbox(id);
    await this.inner.removePodSandbox(id);
    await this.#podRemoved(id, records);
  }

  async #podRemoved(id: string, records: readonly ContainerRecord[]): Promise<void> {
    const pod = this.#records.pods.get(id);
    if (pod === undefined) return;
    for (const record of records) await this.#removed(record);
    await this.#notify("RemovePodSandbox", this.#nri.removePodSandbox(pod));
    await this.#records.forget(id);
    this.#stoppedPods.delete(id);
  }

  createContainer(sandboxId: string, config: ContainerConfig): Promise<Made> {
    return this.#nri.change(() => this.#createContainer(sandboxId, config));
  }

  async #createContainer(sandboxId: string, config: ContainerConfig): Promise<Made> {
    const pod = this.#pod(sandboxId);
    // Plugins know the container before the runtime has an ID for it.
    const { newId } = this.#options;
    const id = `${newId()}${newId()}`.replaceAll("-", "");
    const container = nriContainer(id, sandboxId, config, await this.#environment(config));
    const { adjust, update, evict } = await this.#nri
      .createContainer(pod, container)
      .catch((error: unknown) => {
        throw refused("CreateContainerError", error);
      });
    warnOfEvictions(this.#options.log, evict);
    const adjusted = adjustedConfig(config, adjust);
    const made = await this.inner.createContainer(sandboxId, adjusted.config);
    const after = nriContainer(id, sandboxId, adjusted.config, await this.#environment(adjusted.config));
    await this.#records.keepContainer({ runtimeId: made.id, container: after, stopped: false });
    await this.#apply(update);
    await this.#notify("PostCreateContainer", this.#nri.postCreateContainer(pod, after));
    return { ...made, unsupported: [...made.unsupported, ...adjusted.unsupported] };
  }

  async startContainer(id: string): Promise<void> {
    const record = this.#records.containers.get(id);
    if (record === undefined) return this.inner.startContainer(id);
    const { container } = record;
    const pod = this.#pod(container.podSandboxId);
    await this.#nri.startContainer(pod, container).catch((error: unknown) => {
      throw refused("RunContainerError", error);
    });
    await this.inner.startContainer(id);
    await this.#notify("PostStartContainer", this.#nri.postStartContainer(pod, container));
  }

  async stopContainer(id: string, graceMilliseconds: number): Promise<void> {
    await this.inner.stopContainer(id, graceMilliseconds);
    const record = this.#records.containers.get(id);
    if (record !== undefined) await this.#stopped(record);
  }

  async removeContainer(id: string): Promise<void> {
    await this.inner.removeContainer(id);
    const record = this.#records.containers.get(id);
    if (record !== undefined) await this.#removed(record);
  }

  async updateContainerResources(id: string, resources: ResourceConfig): Promise<void> {
    const record = this.#records.containers.get(id);
    if (record === undefined) return this.inner.updateContainerResources(id, resources);
    const { container } = record;
    const pod = this.#pod(container.podSandboxId);
    const wanted = await this.#nri
      .updateContainer(pod, container, nriResources(resources))
      .catch((error: unknown) => {
        throw refused("UpdateContainerError", error);
      });
    const { oomScoreAdj } = resources;
    await this.inner.updateContainerResources(id, {
      ...resourceConfig(wanted.resources).resources,
      ...(oomScoreAdj !== undefined && { oomScoreAdj }),
    });
    await this.#apply(wanted.update);
    await this.#notify("PostUpdateContainer", this.#nri.postUpdateContainer(pod, container));
  }

  get #nri(): NriServer {
    if (this.#server !== undefined) return this.#server;
    throw new RuntimeError("RuntimeUnavailable", "the runtime has not been started");
  }

  /** A sandbox from before NRI was served is known by its ID alone. */
  #pod(id: string): PodSandbox {
    return this.#records.pods.get(id) ?? PodSandboxMessage.fromPartial({ id });
  }

  #recordsOf(sandboxId: string): ContainerRecord[] {
    return [...this.#records.containers.values()].filter(
      ({ container }) => container.podSandboxId === sandboxId,
    );
  }

  /**
   * Returns the environment that the container will have. If its devices do not resolve, the runtime refuses
   * it.
   */
  async #environment({ env, cdiDevices }: ContainerConfig): Promise<readonly string[]> {
    const values = new Map(env);
    if (cdiDevices.length > 0) {
      const edits = await this.#options.cdi.resolve(cdiDevices).catch((error: Error) => {
        throw new RuntimeError("CreateContainerError", error.message, { cause: error });
      });
      for (const each of edits.env) {
        const at = each.indexOf("=");
        values.set(each.slice(0, at), each.slice(at + 1));
      }
    }
    return [...values].map(([name, value]) => `${name}=${value}`);
  }

  /** Pods and containers for a plugin that connects. */
  async #state(): Promise<NriState> {
    const listed = new Map((await this.inner.listContainers()).map((each) => [each.id, each]));
    const containers: NriContainer[] = [];
    for (const { runtimeId, container, stopped } of this.#records.containers.values()) {
      const now = listed.get(runtimeId);
      if (now !== undefined && !stopped) containers.push({ ...container, state: nriState(now.state) });
    }
    return { pods: [...this.#records.pods.values()], containers };
  }

  /** Removes records of what was removed or has stopped while no agent ran. */
  async #catchUp(): Promise<void> {
    const containers = await this.inner.listContainers();
    const there = new Set([...(await this.inner.listPodSandboxes()), ...containers].map(({ id }) => id));
    for (const id of [...this.#records.pods.keys(), ...this.#records.containers.keys()])
      if (!there.has(id)) await this.#records.forget(id);
    for (const { id, state } of containers) {
      const record = this.#records.containers.get(id);
      if (record !== undefined && state === "exited" && !record.stopped)
        await this.#records.keepContainer({ ...record, stopped: true });
    }
  }

  /** Notifies plugins of containers that have ended by themselves. */
  async #changed(podUid: string): Promise<void> {
    try {
      for (const { id, state } of await this.inner.listContainers(podUid)) {
        const record = this.#records.containers.get(id);
        if (record !== undefined && state === "exited") await this.#stopped(record);
      }
    } catch (error) {
      this.#options.log.warn(
        { podUid, error: (error as Error).message },
        "NRI plugins are not notified of containers that ended",
      );
    }
  }

  /**
   * Notifies plugins once that a container has stopped, and applies their updates of others. A second call
   * waits for the first: plugins must be notified before claims are unprepared and the container is removed.
   */
  #stopped(record: ContainerRecord): Promise<void> {
    const { runtimeId } = record;
    const running = this.#stops.get(runtimeId);
    if (running !== undefined) return running;
    const notification = this.#notifyStopped(record).finally(() => this.#stops.delete(runtimeId));
    this.#stops.set(runtimeId, notification);
    return notification;
  }

  async #notifyStopped({ runtimeId, container }: ContainerRecord): Promise<void> {
    const pod = this.#pod(container.podSandboxId);
    const notify = async (): Promise<void> => {
      const known = this.#records.containers.get(runtimeId);
      if (known === undefined || known.stopped) return;
      await this.#records.keepContainer({ ...known, stopped: true });
      await this.#apply(await this.#nri.stopContainer(pod, container));
    };
    await this.#notify("StopContainer", this.#nri.change(notify));
  }

  async #removed(record: ContainerRecord): Promise<void> {
    await this.#stopped(record);
    const { container, runtimeId } = record;
    await this.#notify(
      "RemoveContainer",
      this.#nri.removeContainer(this.#pod(container.podSandboxId), container),
    );
    await this.#records.forget(runtimeId);
  }

  /** Logs a plugin's error about an event that has happened and cannot be undone. */
  async #notify(event: string, notification: Promise<void>): Promise<void> {
    try {
      await notification;
    } catch (error) {
      this.#options.log.warn({ event, error: (error as Error).message }, "NRI plugin failed");
    }
  }

  async #apply(updates: readonly ContainerUpdate[]): Promise<void> {
    for (const { containerId, ignoreFailure } of await this.#update(updates))
      if (!ignoreFailure) this.#options.log.warn({ container: containerId }, "NRI plugin's update failed");
  }

  /** Applies updates of plugins. Returns those that failed. */
  async #update(updates: readonly ContainerUpdate[]): Promise<readonly ContainerUpdate[]> {
    const failed: ContainerUpdate[] = [];
    for (const update of updates) {
      const { containerId, linux } = update;
      const record = [...this.#records.containers.values()].find(
        ({ container }) => container.id === containerId,
      );
      const { resources, unsupported } = resourceConfig(linux?.resources);
      if (record === undefined || unsupported.length > 0) {
        failed.push(update);
        continue;
      }
      // A stopped container needs no update.
      if (record.stopped) continue;
      try {
        await this.inner.updateContainerResources(record.runtimeId, resources);
      } catch (error) {
        this.#options.log.warn(
          { container: containerId, error: (error as Error).message },
          "NRI update failed",
        );
        failed.push(update);
      }
    }
    return failed;
  }
}

/** Converts a plugin's refusal. */
function refused(reason: string, error: unknown): RuntimeError {
  if (error instanceof RuntimeError) return error;
  return new RuntimeError(reason, `NRI: ${(error as Error).message}`, { cause: error });
}
