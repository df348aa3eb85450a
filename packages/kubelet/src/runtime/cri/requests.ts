import { isAbsolute, relative } from "node:path";
import {
  ContainerConfig as CriContainerConfig,
  PodSandboxConfig as CriSandboxConfig,
  MountPropagation,
  Protocol,
} from "@dray/rpc/cri/v1";
import type { ContainerConfig, SandboxConfig } from "../config.ts";
import { RuntimeError } from "../error.ts";
import { containerAnnotations, containerLabels, keepSandboxConfig, sandboxLabels } from "./labels.ts";
import { criResources, unsupportedResources } from "./resources.ts";
import { containerSecurity, sandboxSecurity } from "./security.ts";

/** Facts of the machine and the agent for all requests. */
export interface RequestContext {
  /** Name of the node, which labels its sandboxes and containers. */
  readonly node: string;
  /** The machine has the unified hierarchy of cgroups. */
  readonly cgroup2: boolean;
  /** Folder of seccomp profiles with a relative path. */
  readonly seccompRoot: string;
  /** Cgroup of a pod in the form of the runtime's driver; "" for the runtime's default. */
  cgroupParent(uid: string): string;
}

/** A request, and what of its source CRI cannot express. */
export interface Translated<T> {
  readonly config: T;
  readonly unsupported: readonly string[];
}

/** Converts the configuration of a sandbox. Its annotations hold all of it. */
export function sandboxRequest(
  config: SandboxConfig,
  { node, cgroup2, seccompRoot, cgroupParent }: RequestContext,
): Translated<CriSandboxConfig> {
  const { namespace, name, uid, attempt, dns, resources } = config;
  const request = CriSandboxConfig.fromPartial({
    metadata: { name, namespace, uid, attempt },
    // A pod in the node's network has the node's host name.
    hostname: config.hostNetwork ? "" : config.hostname,
    logDirectory: config.logDirectory,
    ...(dns !== undefined && {
      dnsConfig: { servers: [...dns.servers], searches: [...dns.searches], options: [...dns.options] },
    }),
    portMappings: config.ports.map(({ protocol, containerPort, hostPort, hostIP }) => ({
      protocol: Protocol[protocol],
      containerPort,
      hostPort,
      hostIp: hostIP,
    })),
    labels: sandboxLabels(node, config),
    annotations: { ...config.annotations },
    linux: {
      cgroupParent: cgroupParent(uid),
      securityContext: sandboxSecurity(config, seccompRoot),
      sysctls: { ...config.sysctls },
      ...(resources !== undefined && { resources: criResources(resources, cgroup2) }),
    },
  });
  const { memoryLimitBytes, cpuQuota, pidsLimit } = resources ?? {};
  const own = config.hasOwnLimits ? { memory: memoryLimitBytes, cpu: cpuQuota } : {};
  const bounds = Object.entries({ ...own, processes: pidsLimit });
  const unsupported = bounds
    .filter(([, bound]) => bound !== undefined)
    .map(([what]) => `limit of ${what} of a whole pod`);
  return { config: keepSandboxConfig(request), unsupported };
}

const propagations = {
  private: MountPropagation.PROPAGATION_PRIVATE,
  hostToContainer: MountPropagation.PROPAGATION_HOST_TO_CONTAINER,
  bidirectional: MountPropagation.PROPAGATION_BIDIRECTIONAL,
} as const;

/** Converts the configuration of a container. Throws if its log is not below the sandbox's. */
export function containerRequest(
  config: ContainerConfig,
  sandbox: CriSandboxConfig,
  { node, cgroup2, seccompRoot }: RequestContext,
): Translated<CriContainerConfig> {
  const { name, attempt, image, imageRef, resources } = config;
  const { metadata, logDirectory } = sandbox;
  const logPath = relative(logDirectory, config.logPath);
  if (logPath === "" || logPath.startsWith("..") || isAbsolute(logPath)) {
    throw new RuntimeError(
      "CreateContainerConfigError",
      `the log ${config.logPath} of container ${name} must lie below its sandbox's log directory ${logDirectory}`,
    );
  }
  const request = CriContainerConfig.fromPartial({
    metadata: { name, attempt },
    image: { image: imageRef, userSpecifiedImage: image },
    command: [...config.command],
    args: [...config.args],
    workingDir: config.workingDir ?? "",
    envs: config.env.map(([key, value]) => ({ key, value: Buffer.from(value) })),
    mounts: config.mounts.map(({ hostPath, image, containerPath, readOnly, propagation }) => ({
      hostPath,
      containerPath,
      readonly: readOnly,
      propagation: propagations[propagation ?? "private"],
      ...(image !== undefined && {
        image: { image: image.ref, userSpecifiedImage: image.name },
        imageSubPath: image.subPath,
      }),
    })),
    devices: config.devices.map((device) => ({ ...device })),
    CDIDevices: config.cdiDevices.map((device) => ({ name: device })),
    labels: containerLabels(node, { attempt: 0, name: "", namespace: "", uid: "", ...metadata }, name),
    annotations: containerAnnotations(config),
    logPath,
    stdin: config.stdin,
    stdinOnce: config.stdinOnce,
    tty: config.tty,
    linux: {
      resources: criResources(resources, cgroup2),
      securityContext: containerSecurity(
        config,
        sandbox.linux?.securityContext?.namespaceOptions,
        seccompRoot,
      ),
    },
  });
  return { config: request, unsupported: unsupportedResources(resources, cgroup2) };
}
