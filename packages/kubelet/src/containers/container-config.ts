import { chmodSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Node, Pod, Service } from "@dray/api/core/v1";
import type { Client } from "@dray/client";
import { makeFolderSync } from "@dray/files";
import type { NodePaths } from "../base/paths.ts";
import type { DeviceOptions } from "../device-plugins/response.ts";
import { type BoundsOptions, containerResources } from "../resources/resource-config.ts";
import type { ContainerConfig, TargetContainer } from "../runtime/config.ts";
import type { Image } from "../runtime/images.ts";
import type { StartableContainer } from "../types/containers.ts";
import type { MountedVolume } from "../types/mounted-volume.ts";
import { containerHash } from "./container-hash.ts";
import type { ClusterDns } from "./dns.ts";
import { containerEnvironment, expand } from "./environment.ts";
import { kernelHostname } from "./hostname.ts";
import { hostsMount } from "./hosts-file.ts";
import { containerMounts, type VolumeImage } from "./mounts.ts";
import { checkNonRoot, containerSecurity } from "./security.ts";
import { type ApiServerAddress, serviceEnvironment } from "./service-environment.ts";

/** Facts of the node that the configuration of a container depends on. */
export interface ConfigContext {
  readonly client: Client;
  readonly paths: NodePaths;
  readonly nodeAddress: string;
  /** The node has a network of its own, and not the machine's. */
  readonly ownNetwork: boolean;
  /** Address of the API server for a pod. */
  apiServer(pod: Pod): ApiServerAddress;
  readonly dns: ClusterDns;
  /** Maximum number of processes of a pod, or of each container on runtimes without pod-level limits. */
  readonly podMaxPids: number | undefined;
  readonly bounds: BoundsOptions;
  /** The runtime supports mounts that are read-only recursively. */
  readonly recursiveReadOnly: boolean;
  /** The runtime refuses mounts of another identity than the configuration says. */
  readonly checksMounts: boolean;
  /** Programs of images that name no user run as root. */
  readonly runsAsRoot: boolean;
  /** Containers run as root of the machine, and write its folders where a pod mounts them. */
  readonly writesMachine: boolean;
  node(): Node;
  /** Services of all namespaces. */
  services(): readonly Service[];
  /** Port at which a port of a Service is served. */
  servedPort(port: number): number;
  /** CDI devices of a container. Throws RuntimeError if they are unknown. */
  cdiDevices(pod: Pod, container: StartableContainer): readonly string[];
  /** Options of the container from device plugins. Rejects with RuntimeError while it has to wait for one. */
  deviceOptions(pod: Pod, container: StartableContainer): Promise<DeviceOptions>;
}

export interface ContainerConfigInput {
  readonly pod: Pod;
  readonly container: StartableContainer;
  readonly attempt: number;
  readonly image: Image;
  /** Addresses of the pod. */
  readonly podIPs: readonly string[];
  /** The pod's volumes by name, without those that are images. */
  readonly volumes: ReadonlyMap<string, MountedVolume>;
  /** The container that an ephemeral one names as its target. */
  readonly target: TargetContainer | undefined;
  /** Images that the container mounts, by name of the volume. */
  readonly volumeImages: ReadonlyMap<string, VolumeImage>;
}

/**
 * Generates the configuration of a container for the runtime. Rejects with RuntimeError
 * (CreateContainerConfigError).
 *
 * Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, generateContainerConfig.
 */
export async function containerConfig(
  { pod, container, attempt, image, podIPs, volumes, volumeImages, target }: ContainerConfigInput,
  context: ConfigContext,
): Promise<ContainerConfig> {
  const { client, paths, nodeAddress, dns } = context;
  const apiServer = context.apiServer(pod);
  const node = context.node();
  checkNonRoot(pod, container, image, context.runsAsRoot);
  const { namespace } = pod.metadata;
  const links = pod.spec.enableServiceLinks ?? true;
  const devices = await context.deviceOptions(pod, container);
  const own = await containerEnvironment(pod, container, {
    client,
    node,
    podIPs,
    hostIPs: [nodeAddress],
    hostname: kernelHostname(pod, dns.domain) || node.metadata.name,
    services: serviceEnvironment({
      ...{ namespace, links, apiServer },
      services: context.services(),
      servedPort: (port) => context.servedPort(port),
    }),
    volumes,
  });
  // Variables of the pod override those of devices, and its commands may name both.
  const values = new Map([...devices.env, ...own]);
  const expanded = (text: string): string => expand(text, (name) => values.get(name));
  const mounts = containerMounts({
    recursiveReadOnly: context.recursiveReadOnly,
    writesMachine: context.writesMachine,
    checksMounts: context.checksMounts,
    podDirectory: join(paths.pods, pod.metadata.uid),
    container,
    volumes,
    images: volumeImages,
    env: new Map(own),
    paths,
  });
  const hostsNode = context.ownNetwork ? { nodeName: node.metadata.name, address: nodeAddress } : undefined;
  const hosts = hostsMount({ pod, podIPs, dns, node: hostsNode }, paths);
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
    ports: (container.ports ?? []).map(({ containerPort }) => containerPort),
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
    // A pod whose containers share a process name space, or have the machine's, keeps that.
    ...(target && !pod.spec.hostPID && !pod.spec.shareProcessNamespace && { target }),
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
  };
}

/** Folder of the logs of a pod's containers. */
export function podLogDirectory({ podLogs }: NodePaths, { metadata }: Pod): string {
  return join(podLogs, `${metadata.namespace}_${metadata.name}_${metadata.uid}`);
}

/** Creates the file that is mounted at `terminationMessagePath`. */
function makeTerminationLog(
  { pods }: NodePaths,
  { metadata }: Pod,
  container: string,
  attempt: number,
): string {
  const path = join(pods, metadata.uid, "containers", container, `${attempt}.termination`);
  makeFolderSync(dirname(path), 0o755);
  writeFileSync(path, "", { flag: "a" });
  // Users of all containers write to it.
  chmodSync(path, 0o666);
  return path;
}
