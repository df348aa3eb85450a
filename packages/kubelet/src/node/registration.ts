import { readFileSync } from "node:fs";
import { arch, availableParallelism, hostname, machine, release, totalmem } from "node:os";
import { StatusError, type Wire } from "@dray/api";
import {
  type ContainerImage,
  Node,
  type NodeCondition,
  type NodeStatus,
  type Taint,
} from "@dray/api/core/v1";
import { type Client, type Clock, ConnectionError, type Log, sleep, timeText } from "@dray/client";
import type { PluginResources } from "../device-plugins/plugins.ts";
import { pressureTexts } from "../eviction/manager.ts";
import type { PressureCondition } from "../eviction/signals.ts";
import { bootId } from "../runtime/host/processes.ts";
import { NodeLease } from "./lease.ts";

export interface RegistrationOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeName: string;
  readonly nodeAddress: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Taints of a Node that is created; an existing one keeps its own. */
  readonly taints?: readonly Taint[];
  /** Replaces the capacity of the machine, by resource. */
  readonly capacity: Readonly<Record<string, string>>;
  /** Resources of device plugins, by name. */
  readonly devices?: () => PluginResources;
  /** Features that the node declares (KEP-5328). */
  readonly declaredFeatures?: readonly string[];
  /** `host://1`; absent while there is no runtime. */
  readonly containerRuntimeVersion?: string;
  /** Port of the node's endpoints; absent if the node serves no endpoints. */
  readonly kubeletPort?: number;
  /** Addresses of the node's pods, if the agent itself assigns them. */
  readonly podCidr?: string;
  /** Conditions of the node's pressure; none if absent. */
  pressure?(): ReadonlySet<PressureCondition>;
  /** Images of the node; undefined without a list. */
  images?(): readonly ContainerImage[] | undefined;
  /** Why the node is not ready; undefined if it is. */
  problem?(): string | undefined;
  /** Aborts as `stop` does. */
  readonly signal?: AbortSignal;
  /** Called with each version of the Node that the server returns. */
  changed(node: Node): void;
}

/** Interval in milliseconds at which the Node is read, and the maximum one of status reports, as upstream. */
const lookInterval = 10_000;
const statusInterval = 300_000;
/**
 * Minimum interval of reports of changes in milliseconds, so that a device plugin cannot flood the API
 * server.
 */
const changeInterval = 1000;
const minRetryDelay = 200;
const maxRetryDelay = 5000;

/** Registers the Node, reports its status, and renews its lease. */
export class Registration {
  readonly #options: RegistrationOptions;
  #node: Node | undefined;
  readonly #lease: NodeLease;
  #reportedAt = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #cancel: (() => void) | undefined;
  #beating: Promise<void> | undefined;
  /** The status has to be reported as soon as possible. */
  #due = false;
  readonly #stop = new AbortController();
  #kubeletVersion = "";

  constructor(options: RegistrationOptions) {
    this.#options = options;
    this.#lease = new NodeLease({ ...options, nodeUid: () => this.#node?.metadata.uid });
  }

  /**
   * Creates the Node, or takes the existing one, and renews the lease until `stop`. Waits for an API server
   * that is unavailable; rejects if it refuses, or after `stop`.
   */
  async start(): Promise<Node> {
    const { clock, log } = this.#options;
    for (let delay = minRetryDelay; ; delay = Math.min(delay * 2, maxRetryDelay)) {
      this.#stop.signal.throwIfAborted();
      try {
        return await this.#start();
      } catch (error) {
        const later = error instanceof ConnectionError || (error instanceof StatusError && error.code >= 500);
        if (!later || this.#stop.signal.aborted) throw error;
        log.warn({ err: error, delay }, "the node could not be registered yet");
      }
      await sleep(clock, delay, this.#stop.signal);
    }
  }

  async #start(): Promise<Node> {
    const { client } = this.#options;
    const version = JSON.parse(await client.text("GET", "/version")) as Wire<{ gitVersion: string }>;
    this.#kubeletVersion = version.gitVersion ?? "";
    const node = await this.#register();
    await this.#lease.start();
    this.#schedule();
    return node;
  }

  /** Resolves when nothing more is written. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#cancel?.();
    await Promise.all([this.#beating, this.#lease.stop()]);
  }

  /** Reports a change of `devices` soon. */
  changed(): void {
    this.#due = true;
    // Otherwise a running report schedules the next one.
    if (this.#cancel === undefined) return;
    this.#cancel();
    this.#schedule();
  }

  /** Reports the status without a delay. Rejects if that fails. */
  async reportNow(): Promise<void> {
    this.#due = true;
    await this.#beating;
    if (this.#due) await this.#look();
  }

  #schedule(): void {
    if (this.#stop.signal.aborted) return;
    const { clock } = this.#options;
    const last = Math.max(this.#reportedAt, this.#lookedAt);
    const wait = this.#due ? Math.max(0, last + changeInterval - clock.now()) : lookInterval;
    this.#cancel = clock.after(wait, () => {
      this.#cancel = undefined;
      this.#beating = this.#beat().finally(() => this.#schedule());
    });
  }

  async #beat(): Promise<void> {
    this.#lookedAt = this.#options.clock.now();
    try {
      await this.#look();
    } catch (error) {
      this.#options.log.warn({ err: error }, "the Node could not be looked at or reported");
    }
  }

  /**
   * Reports the status if it is due, or if another component has changed a condition: the node lifecycle
   * controller sets Ready to Unknown after a lapse of the lease, and the node has to reset it. A node that
   * was deleted is registered again.
   */
  async #look(): Promise<void> {
    const { client, nodeName, clock, log, changed } = this.#options;
    try {
      this.#node = await client.resource(Node).get({ name: nodeName });
    } catch (error) {
      if (!StatusError.is(error, "NotFound") || this.#stop.signal.aborted) throw error;
      log.warn({ node: nodeName }, "the node was deleted and is registered again");
      await this.#register();
      return;
    }
    changed(this.#node);
    const { conditions: ours } = this.#status(this.#node.status);
    const theirs = this.#node.status?.conditions ?? [];
    const differs = ours?.some(
      ({ type, status }) => theirs.find((one) => one.type === type)?.status !== status,
    );
    if (this.#due || differs || clock.now() - this.#reportedAt >= statusInterval) await this.#report();
  }

  #labels(): Record<string, string> {
    const { nodeName, labels } = this.#options;
    const names: Record<string, string> = { x64: "amd64", ia32: "386" };
    const architecture = names[arch()] ?? arch();
    return {
      "beta.kubernetes.io/arch": architecture,
      "beta.kubernetes.io/os": "linux",
      "kubernetes.io/arch": architecture,
      "kubernetes.io/hostname": nodeName,
      "kubernetes.io/os": "linux",
      ...labels,
    };
  }

  async #register(): Promise<Node> {
    const { client, nodeName, podCidr, log, changed, taints = [] } = this.#options;
    const nodes = client.resource(Node);
    const labels = this.#labels();
    const range = podCidr === undefined ? {} : { podCIDR: podCidr, podCIDRs: [podCidr] };
    const spec = { ...range, ...(taints.length > 0 && { taints: [...taints] }) };
    try {
      // With its status in the same request, so that it never has no capacity.
      await nodes.create({ metadata: { name: nodeName, labels }, spec, status: this.#status(undefined) });
    } catch (error) {
      if (!StatusError.is(error, "AlreadyExists")) throw error;
      const known = (await nodes.get({ name: nodeName })).spec?.podCIDR;
      if (podCidr !== undefined && known !== undefined && known !== podCidr)
        // It can be set only once (core/v1 NodeSpec.podCIDR).
        log.warn({ podCIDR: known, range: podCidr }, "the Node names other addresses than its pods get");
      // Taints of an existing Node belong to other components.
      const change = known === undefined ? { metadata: { labels }, spec: range } : { metadata: { labels } };
      await nodes.patch({ name: nodeName }, "strategic", change);
    }
    this.#node = await nodes.get({ name: nodeName });
    changed(this.#node);
    return this.#report();
  }

  async #report(): Promise<Node> {
    const { client, nodeName, clock, changed } = this.#options;
    const status = this.#status(this.#node?.status);
    // If the report fails, the next look reports again.
    this.#reportedAt = Number.NEGATIVE_INFINITY;
    this.#due = false;
    this.#node = await client
      .resource(Node)
      .patch({ name: nodeName }, "strategic", { status }, { subresource: "status" });
    this.#reportedAt = clock.now();
    changed(this.#node);
    return this.#node;
  }

  #status(old: NodeStatus | undefined): NodeStatus {
    const { nodeAddress, nodeName, kubeletPort, containerRuntimeVersion, clock } = this.#options;
    const { declaredFeatures = [] } = this.#options;
    const capacity = {
      cpu: String(availableParallelism()),
      memory: `${Math.floor(totalmem() / 1024)}Ki`,
      "ephemeral-storage": "100Gi",
      pods: "110",
      ...this.#options.capacity,
    };
    const devices = this.#options.devices?.();
    const now = timeText(clock.now());
    const problem = this.#options.problem?.();
    const condition = (type: string, status: string, reason: string, message: string): NodeCondition => {
      const before = old?.conditions?.find((one) => one.type === type);
      return {
        type,
        status,
        reason,
        message,
        lastHeartbeatTime: now,
        lastTransitionTime: before?.status === status ? (before.lastTransitionTime ?? now) : now,
      };
    };
    const images = this.#options.images?.();
    const pressure = (type: PressureCondition): NodeCondition => {
      const { reason, message, goneReason, goneMessage } = pressureTexts[type];
      return this.#options.pressure?.().has(type)
        ? condition(type, "True", reason, message)
        : condition(type, "False", goneReason, goneMessage);
    };
    const status: NodeStatus = {
      capacity: { ...capacity, ...devices?.capacity },
      allocatable: { ...capacity, ...devices?.allocatable },
      conditions: [
        pressure("MemoryPressure"),
        pressure("DiskPressure"),
        pressure("PIDPressure"),
        problem === undefined
          ? condition("Ready", "True", "KubeletReady", "kubelet is posting ready status")
          : condition("Ready", "False", "KubeletNotReady", problem),
      ],
      addresses: [
        { type: "InternalIP", address: nodeAddress },
        { type: "Hostname", address: nodeName },
      ],
      ...(kubeletPort === undefined ? {} : { daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort } } }),
      ...(images === undefined ? {} : { images: [...images] }),
      ...(declaredFeatures.length === 0 ? {} : { declaredFeatures: [...declaredFeatures] }),
      nodeInfo: {
        machineID: machineId(),
        systemUUID: machineId(),
        bootID: bootId(),
        kernelVersion: release(),
        osImage: osImage(),
        containerRuntimeVersion: containerRuntimeVersion ?? old?.nodeInfo?.containerRuntimeVersion ?? "",
        kubeletVersion: this.#kubeletVersion,
        kubeProxyVersion: "",
        operatingSystem: "linux",
        architecture: this.#labels()["kubernetes.io/arch"] ?? machine(),
      },
    };
    return status;
  }
}

function machineId(): string {
  try {
    return readFileSync("/etc/machine-id", "utf8").trim();
  } catch {
    return hostname();
  }
}

function osImage(): string {
  try {
    const text = readFileSync("/etc/os-release", "utf8");
    return /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(text)?.[1] ?? "Linux";
  } catch {
    return "Linux";
  }
}
