import { chmodSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Node, Pod, Service } from "@dray/api/core/v1";
import type { Client } from "@dray/client";
import { makeFolderSync } from "@dray/files";
import type { NodePaths } from "../base/paths.ts";
import type { DeviceOptions } from "../device-plugins/response.ts";
import { type BoundsOptions, containerResources } from "../resources/resource-config.ts";
import type { ContainerConfig } from "../runtime/config.ts";
import type { Image } from "../runtime/images.ts";
import type { StartableContainer } from "../types/containers.ts";
import { containerHash } from "./container-hash.ts";
import type { ClusterDns } from "./dns.ts";
import { containerEnvironment, expand } from "./environment.ts";
import { kernelHostname } from "./hostname.ts";
import { hostsMount } from "./hosts-file.ts";
import { containerMounts, type VolumeImage } from "./mounts.ts";
import { checkNonRoot, containerSecurity } from "./security.ts";
import { type ApiServerAddress, serviceEnvironment } from "./service-environment.ts";

/** What a node knows that containers are configured with. */
export interface ConfigContext {
  readonly client: Client;
  readonly paths: NodePaths;
  readonly nodeAddress: string;
  /** Where the pod finds the API server. */
  apiServer(pod: Pod): ApiServerAddress;
  readonly dns: ClusterDns;
  /** Of all containers of a pod together, where the runtime can bound that; else of each. */
  readonly podMaxPids: number | undefined;
  readonly bounds: BoundsOptions;
  /** The runtime can make mounts read-only with all that is below them. */
  readonly recursiveReadOnly: boolean;
  /** Containers write the machine's own folders as root where a pod mounts them. */
  readonly writesMachine: boolean;
  node(): Node;
  /** Of all namespaces. */
  services(): readonly Service[];
  /** The CDI devices of a container. Throws RuntimeError where they are not known. */
  cdiDevices(pod: Pod, container: StartableContainer): readonly string[];
  /** What the container gets of device plugins. Rejects with RuntimeError while it has to wait for one. */
  deviceOptions(pod: Pod, container: StartableContainer): Promise<DeviceOptions>;
}

export interface ContainerConfigInput {
  readonly pod: Pod;
  readonly container: StartableContainer;
  readonly attempt: number;
  readonly image: Image;
  /** The pod's addresses. */
  readonly podIPs: readonly string[];
  /** The places of the pod's volumes on the machine, by name. */
  readonly places: ReadonlyMap<string, string>;
  /** The images that are volumes of the container, by name of the volume. */
  readonly volumeImages: ReadonlyMap<string, VolumeImage>;
}

/**
 * The configuration of a container as the runtime gets it, everything looked up. Rejects with RuntimeError
 * (CreateContainerConfigError).
 *
 * Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, generateContainerConfig.
 */
export async function containerConfig(
  { pod, container, attempt, image, podIPs, places, volumeImages }: ContainerConfigInput,
  context: ConfigContext,
): Promise<ContainerConfig> {
  const { client, paths, nodeAddress, dns } = context;
  const apiServer = context.apiServer(pod);
  const node = context.node();
  checkNonRoot(pod, container, image);
  const { namespace } = pod.metadata;
  const links = pod.spec.enableServiceLinks ?? true;
  const devices = await context.deviceOptions(pod, container);
  const own = await containerEnvironment(pod, container, {
    client,
    node,
    podIPs,
    hostIPs: [nodeAddress],
    hostname: kernelHostname(pod, dns.domain) || node.metadata.name,
    services: serviceEnvironment({ services: context.services(), namespace, links, apiServer }),
    places,
  });
  // What the pod says counts more; its commands may name the variables of devices.
  const values = new Map([...devices.env, ...own]);
  const expanded = (text: string): string => expand(text, (name) => values.get(name));
  const mounts = containerMounts({
    recursiveReadOnly: context.recursiveReadOnly,
    writesMachine: context.writesMachine,
    pod,
    container,
    places,
    images: volumeImages,
    env: new Map(own),
    paths,
  });
  const hosts = hostsMount({ pod, podIPs, clusterDomain: dns.domain }, paths);
  if (hosts !== undefined && !mounts.some(({ containerPath }) => containerPath === hosts.containerPath))
    mounts.push(hosts);
  const terminationLog = makeTerminationLog(paths, pod, container.name, attempt);
  const { terminationMessagePath } = container;
  if (terminationMessagePath)
    mounts.push({ hostPath: terminationLog, containerPath: terminationMessagePath, readOnly: false });
  return {
    name: container.name,
    attempt,
    hash: containerHash(container),
    logPath: join(podLogDirectory(paths, pod), container.name, `${attempt}.log`),
    terminationLog,
    image: container.image ?? "",
    imageRef: image.ref,
    command: (container.command ?? []).map(expanded),
    args: (container.args ?? []).map(expanded),
    workingDir: container.workingDir || undefined,
    env: [...values],
    mounts: [...devices.mounts, ...mounts],
    devices: devices.devices,
    cdiDevices: [...new Set([...context.cdiDevices(pod, container), ...devices.cdiDevices])],
    annotations: devices.annotations,
    security: containerSecurity(pod, container),
    resources: {
      ...containerResources(pod, container, node, context.bounds),
      ...(context.podMaxPids === undefined ? {} : { pidsLimit: context.podMaxPids }),
    },
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
  };
}

/** The folder of the logs of a pod's containers. */
export function podLogDirectory({ podLogs }: NodePaths, { metadata }: Pod): string {
  return join(podLogs, `${metadata.namespace}_${metadata.name}_${metadata.uid}`);
}

/** A file that is mounted where the container may leave its last word. */
function makeTerminationLog(
  { pods }: NodePaths,
  { metadata }: Pod,
  container: string,
  attempt: number,
): string {
  const path = join(pods, metadata.uid, "containers", container, `${attempt}.termination`);
  makeFolderSync(dirname(path), 0o755);
  writeFileSync(path, "", { flag: "a" });
  // Whoever the container runs as may write it.
  chmodSync(path, 0o666);
  return path;
}
