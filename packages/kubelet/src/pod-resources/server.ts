import { join } from "node:path";
import type { Container, Pod } from "@dray/api/core/v1";
import { isSidecar } from "@dray/api/pod";
import type { Clock, Log } from "@dray/client";
import { makeFolder } from "@dray/files";
import { RpcError, type RpcServer, service, unixServer } from "@dray/rpc";
import {
  type ContainerDevices,
  type ContainerResources,
  type DynamicResource,
  type PodResources,
  PodResourcesListerDefinition,
} from "@dray/rpc/podresources/v1";
import type { DeviceOnNode } from "../device-plugins/manager.ts";
import type { DraManager } from "../dra/manager.ts";
import { requestLimiter } from "./rate-limit.ts";

/**
 * Maximum size of a response in bytes, as clients of this API accept it. Upstream: test/e2e_node,
 * defaultPodResourcesMaxSize.
 */
const maxAnswerBytes = 16 << 20;
/** Requests per second, and burst. Upstream: pkg/kubelet/apis/podresources/constants.go. */
const requestsPerSecond = 100;
const requestBurst = 10;

/** Source of devices of device plugins. */
export interface PluginDeviceSource {
  /** Devices of a container. */
  devices(podUid: string, container: string): readonly DeviceOnNode[];
  /** All healthy devices, allocated or not. */
  allocatable(): readonly DeviceOnNode[];
}

export interface PodResourcesOptions {
  /** Folder of `kubelet.sock`. */
  readonly directory: string;
  /** Active pods of the node: neither refused nor ended. */
  pods(): readonly Pod[];
  readonly claims: Pick<DraManager, "dynamicResources">;
  readonly devices?: PluginDeviceSource;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The pod resources API, v1: which container holds which devices (KEP-606, KEP-3695). CPUs and memory are
 * empty, since no manager here assigns them exclusively, as with the policy `none` upstream.
 *
 * Upstream: pkg/kubelet/apis/podresources/server_v1.go.
 */
export class PodResourcesServer {
  readonly #options: PodResourcesOptions;
  readonly #isAdmitted: () => boolean;
  #server: RpcServer | undefined;
  /** Requests and errors by method, for metrics. */
  readonly #requests = { list: 0, get_allocatable: 0, get: 0 };
  #getErrors = 0;

  constructor(options: PodResourcesOptions) {
    this.#options = options;
    this.#isAdmitted = requestLimiter(options.clock, requestsPerSecond, requestBurst);
  }

  /** Starts serving. Rejects if the folder or the socket cannot be made. */
  async start(): Promise<void> {
    const { directory, log } = this.#options;
    await makeFolder(directory, 0o750);
    const path = join(directory, "kubelet.sock");
    const lister = service(PodResourcesListerDefinition, {
      list: async () => {
        this.#count("list");
        return { podResources: this.#options.pods().map((pod) => this.#podResources(pod)) };
      },
      getAllocatableResources: async () => {
        this.#count("get_allocatable");
        const devices = this.#options.devices?.allocatable() ?? [];
        return { devices: devices.map(containerDevices), cpuIds: [], memory: [] };
      },
      get: async ({ podName, podNamespace }) => {
        this.#count("get");
        const pod = this.#options
          .pods()
          .find(({ metadata }) => metadata.name === podName && metadata.namespace === podNamespace);
        if (pod !== undefined) return { podResources: this.#podResources(pod) };
        this.#getErrors++;
        throw new RpcError("Unknown", `pod ${podName} in namespace ${podNamespace} not found`);
      },
    });
    this.#server = await unixServer(path, [lister], { maxSendBytes: maxAnswerBytes });
    log.info({ socket: path }, "pod resources are served");
  }

  async close(): Promise<void> {
    await this.#server?.close(0);
    this.#server = undefined;
  }

  /** Metrics in the text format of Prometheus. */
  metrics(): string {
    const lines: string[] = [];
    const add = (name: string, help: string, value: number): void => {
      const full = `kubelet_pod_resources_endpoint_${name}`;
      lines.push(`# HELP ${full} ${help}`, `# TYPE ${full} counter`);
      lines.push(`${full}{server_api_version="v1"} ${value}`);
    };
    const entries = Object.entries(this.#requests);
    add(
      "requests_total",
      "Cumulative number of requests to the PodResource endpoint",
      entries.reduce((sum, [, count]) => sum + count, 0),
    );
    for (const [method, count] of entries)
      add(`requests_${method}`, `Number of ${method} requests to the PodResource endpoint`, count);
    add(
      "errors_get",
      "Number of get requests to the PodResource endpoint which returned error",
      this.#getErrors,
    );
    return `${lines.join("\n")}\n`;
  }

  #count(method: "list" | "get_allocatable" | "get"): void {
    if (!this.#isAdmitted()) throw new RpcError("ResourceExhausted", "rejected by rate limit");
    this.#requests[method]++;
  }

  #podResources(pod: Pod): PodResources {
    const sidecars = (pod.spec.initContainers ?? []).filter(isSidecar);
    return {
      name: pod.metadata.name,
      namespace: pod.metadata.namespace ?? "",
      containers: [...sidecars, ...pod.spec.containers].map((container) => this.#container(pod, container)),
      cpuIds: [],
      memory: [],
    };
  }

  #container(pod: Pod, container: Container): ContainerResources {
    const { devices, claims } = this.#options;
    return {
      name: container.name,
      devices: (devices?.devices(pod.metadata.uid, container.name) ?? []).map(containerDevices),
      cpuIds: [],
      memory: [],
      dynamicResources: claims.dynamicResources(pod, container).map(dynamicResource),
    };
  }
}

function containerDevices({ resource, id, numaNode }: DeviceOnNode): ContainerDevices {
  return {
    resourceName: resource,
    deviceIds: [id],
    topology: numaNode === undefined ? undefined : { nodes: [{ ID: numaNode }] },
  };
}

/** Each device has its own CDI devices; upstream repeats those of the devices before it. */
function dynamicResource({
  claim,
  namespace,
  devices,
}: ReturnType<DraManager["dynamicResources"]>[number]): DynamicResource {
  return {
    claimName: claim,
    claimNamespace: namespace,
    claimResources: devices.map(({ driver, PoolName, DeviceName, ShareID, CDIDeviceIDs }) => ({
      cdiDevices: (CDIDeviceIDs ?? []).map((name) => ({ name })),
      driverName: driver,
      poolName: PoolName,
      deviceName: DeviceName,
      shareId: ShareID,
    })),
  };
}
