import {
  Container,
  type LinuxResources,
  LinuxResources as LinuxResourcesMessage,
  ContainerState as NriState,
  PodSandbox,
} from "@dray/rpc/nri/v1alpha1";
import type { ContainerConfig, ResourceConfig, SandboxConfig } from "../runtime/config.ts";
import type { ContainerState, LinuxSandbox } from "../runtime/service.ts";

/** Converts a sandbox to NRI. Upstream: containerd, internal/cri/nri/nri_api_linux.go, criPodSandbox. */
export function nriPod(
  id: string,
  config: SandboxConfig,
  ips: readonly string[],
  linux: LinuxSandbox | undefined,
): PodSandbox {
  const { namespace, name, uid, labels, annotations, runtimeHandler, resources } = config;
  return PodSandbox.fromPartial({
    id,
    name,
    uid,
    namespace,
    labels: { ...labels },
    annotations: { ...annotations },
    runtimeHandler,
    ips: [...ips],
    linux: {
      ...(resources !== undefined && { podResources: nriResources(resources) }),
      ...(linux !== undefined && {
        cgroupParent: linux.cgroupParent,
        namespaces: linux.namespaces.map(({ type, path = "" }) => ({ type, path })),
      }),
    },
    pid: linux?.pid ?? 0,
  });
}

/** Converts a container to NRI, with the environment of its CDI devices. */
export function nriContainer(
  id: string,
  podSandboxId: string,
  config: ContainerConfig,
  env: readonly string[],
): Container {
  const { name, annotations, command, args, mounts, resources, cdiDevices } = config;
  return Container.fromPartial({
    id,
    podSandboxId,
    name,
    state: NriState.CONTAINER_UNKNOWN,
    annotations: { ...annotations },
    args: [...command, ...args],
    env: [...env],
    // The path of an image's files is not known yet.
    mounts: mounts
      .filter(({ image }) => image === undefined)
      .map(({ hostPath, containerPath, readOnly, recursiveReadOnly, propagation }) => ({
        destination: containerPath,
        type: "bind",
        source: hostPath,
        options: [
          "rbind",
          propagationOptions[propagation ?? "private"],
          readOnly ? (recursiveReadOnly ? "rro" : "ro") : "rw",
        ],
      })),
    linux: {
      resources: nriResources(resources),
      ...(resources.oomScoreAdj !== undefined && { oomScoreAdj: { value: BigInt(resources.oomScoreAdj) } }),
    },
    CDIDevices: cdiDevices.map((device) => ({ name: device })),
    image: { name: config.image, digest: config.imageRef },
  });
}

const propagationOptions = {
  private: "rprivate",
  hostToContainer: "rslave",
  bidirectional: "rshared",
} as const;

const states: Readonly<Record<ContainerState, NriState>> = {
  created: NriState.CONTAINER_CREATED,
  running: NriState.CONTAINER_RUNNING,
  exited: NriState.CONTAINER_STOPPED,
};

export function nriState(state: ContainerState): NriState {
  return states[state];
}

/** Converts resources to NRI. */
export function nriResources(resources: ResourceConfig): LinuxResources {
  const int = (value: number | undefined) =>
    value === undefined ? undefined : { value: BigInt(Math.trunc(value)) };
  const { pidsLimit } = resources;
  return LinuxResourcesMessage.fromPartial({
    cpu: {
      shares: int(resources.cpuShares),
      quota: int(resources.cpuQuota),
      period: int(resources.cpuPeriod),
      cpus: resources.cpusetCpus ?? "",
      mems: resources.cpusetMems ?? "",
    },
    memory: { limit: int(resources.memoryLimitBytes) },
    ...(pidsLimit !== undefined && { pids: { limit: BigInt(pidsLimit) } }),
  });
}

/** Converts resources of NRI, and lists the ones that runtimes of the agent do not support. */
export function resourceConfig(resources: LinuxResources | undefined): {
  readonly resources: ResourceConfig;
  readonly unsupported: readonly string[];
} {
  const { cpu, memory, pids } = resources ?? {};
  const number = (value: { readonly value: bigint } | undefined) =>
    value === undefined ? undefined : Number(value.value);
  const known: Record<keyof ResourceConfig, number | string | undefined> = {
    cpuShares: number(cpu?.shares),
    cpuPeriod: number(cpu?.period),
    cpuQuota: number(cpu?.quota),
    cpusetCpus: cpu?.cpus || undefined,
    cpusetMems: cpu?.mems || undefined,
    memoryLimitBytes: number(memory?.limit),
    pidsLimit: pids === undefined ? undefined : Number(pids.limit),
    oomScoreAdj: undefined,
  };
  const others: Record<string, unknown> = {
    "realtime scheduling": cpu?.realtimeRuntime ?? cpu?.realtimePeriod,
    "memory.reservation": memory?.reservation,
    "memory.swap": memory?.swap,
    "memory.kernel": memory?.kernel ?? memory?.kernelTcp,
    "memory.swappiness": memory?.swappiness,
    "memory.disableOomKiller": memory?.disableOomKiller,
    "memory.useHierarchy": memory?.useHierarchy,
    hugepageLimits: resources?.hugepageLimits[0],
    blockioClass: resources?.blockioClass,
    rdtClass: resources?.rdtClass,
    unified: Object.keys(resources?.unified ?? {})[0],
    "device rules": resources?.devices[0],
  };
  return {
    resources: Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined)),
    unsupported: Object.keys(others).filter((name) => others[name] !== undefined),
  };
}
