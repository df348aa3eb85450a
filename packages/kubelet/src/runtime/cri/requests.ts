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

/** What of the machine and the agent goes into every request. */
export interface RequestContext {
  /** The node's name: its sandboxes and containers carry it. */
  readonly node: string;
  /** The machine has the unified hierarchy of cgroups. */
  readonly cgroup2: boolean;
  /** Where seccomp profiles with a relative path lie. */
  readonly seccompRoot: string;
  /** The cgroup of a pod as the runtime wants it; "" for the runtime's own choice. */
  cgroupParent(uid: string): string;
}

/** A request, and what of its source it does not say. */
export interface Translated<T> {
  readonly config: T;
  readonly unsupported: readonly string[];
}

/** The configuration of a sandbox in CRI's terms. Its annotations hold all of it. */
export function sandboxRequest(
  config: SandboxConfig,
  { node, cgroup2, seccompRoot, cgroupParent }: RequestContext,
): Translated<CriSandboxConfig> {
  const { namespace, name, uid, attempt, dns, resources } = config;
  const request = CriSandboxConfig.fromPartial({
    metadata: { name, namespace, uid, attempt },
    // With the network of the node comes its name.
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

/** The configuration of a container in CRI's terms. Throws if its log would not lie below the sandbox's. */
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
        config.security,
        sandbox.linux?.securityContext?.namespaceOptions,
        seccompRoot,
      ),
    },
  });
  return { config: request, unsupported: unsupportedResources(resources, cgroup2) };
}
