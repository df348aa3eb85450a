import { posix } from "node:path";
import { applyToOciConfig, type ContainerEdits, type HostDevice } from "@dray/cdi";
import type { ContainerConfig, MountConfig, ResourceConfig, SandboxConfig } from "../config.ts";
import { RuntimeError } from "../error.ts";
import { containerCapabilities } from "./capabilities.ts";
import type { ImageConfig } from "./images/manifest.ts";
import { defaultSeccomp, type SeccompProfile } from "./seccomp.ts";
import type { ResolvedUser } from "./users.ts";

/** A device node of the container. */
export interface SpecDevice extends HostDevice {
  readonly path: string;
  /** Any of `r`, `w` and `m`. */
  readonly permissions: string;
}

/** Properties of the machine. */
export interface MachineFacts {
  readonly cgroupVersion: 1 | 2;
  /** Capabilities of the agent, which containers cannot exceed. */
  readonly capabilities: ReadonlySet<string>;
  readonly seccomp: boolean;
  /** Minimum `oom_score_adj` that can be set. */
  readonly minOomScoreAdj: number;
  /** Swap counts against a limit of its own (cgroup v1). */
  readonly swapAccounting: boolean;
}

export interface SpecInput {
  readonly sandbox: SandboxConfig;
  readonly container: ContainerConfig;
  readonly image: ImageConfig;
  readonly user: ResolvedUser;
  /** Root file system of the container on the machine. */
  readonly root: string;
  /** Files of the pod's name spaces; without one, the machine's, or for `pid` the container's own. */
  readonly namespaces: Readonly<Partial<Record<"network" | "ipc" | "uts" | "pid", string>>>;
  /** Files and folders that the runtime mounts, unless the configuration mounts something there. */
  readonly podMounts: readonly MountConfig[];
  readonly devices: readonly SpecDevice[];
  /** Profile of `localhost/...`, if the configuration names one. */
  readonly seccomp: SeccompProfile | undefined;
  readonly edits: ContainerEdits;
  /** Path below the root of every hierarchy. */
  readonly cgroupsPath: string;
  readonly machine: MachineFacts;
  lookUpDevice(path: string): HostDevice;
}

interface OciMount {
  readonly destination: string;
  readonly type?: string;
  readonly source?: string;
  readonly options?: readonly string[];
}

/**
 * `config.json` of an OCI bundle, with the fields that are used here (OCI runtime specification, config.md).
 */
export interface OciSpec {
  readonly ociVersion: string;
  readonly process: {
    readonly terminal: boolean;
    readonly user: { readonly uid: number; readonly gid: number; readonly additionalGids: readonly number[] };
    readonly args: readonly string[];
    readonly env: readonly string[];
    readonly cwd: string;
    readonly capabilities: Readonly<Record<"bounding" | "effective" | "permitted", readonly string[]>>;
    readonly noNewPrivileges: boolean;
    readonly oomScoreAdj: number;
  };
  readonly root: { readonly path: string; readonly readonly: boolean };
  readonly mounts: readonly OciMount[];
  readonly annotations: Readonly<Record<string, string>>;
  readonly linux: {
    readonly namespaces: readonly { readonly type: string; readonly path?: string }[];
    readonly devices: readonly {
      readonly path: string;
      readonly type: string;
      readonly major: number;
      readonly minor: number;
      readonly fileMode?: number;
      readonly uid?: number;
      readonly gid?: number;
    }[];
    readonly resources: OciResources;
    readonly cgroupsPath: string;
    readonly maskedPaths?: readonly string[];
    readonly readonlyPaths?: readonly string[];
    readonly rootfsPropagation?: string;
    readonly seccomp?: SeccompProfile;
    readonly netDevices?: Readonly<Record<string, { readonly name?: string }>>;
  };
}

export interface OciResources {
  readonly devices?: readonly {
    readonly allow: boolean;
    readonly type?: string;
    readonly major?: number;
    readonly minor?: number;
    readonly access?: string;
  }[];
  readonly cpu?: {
    readonly shares?: number;
    readonly quota?: number;
    readonly period?: number;
    readonly cpus?: string;
    readonly mems?: string;
  };
  readonly memory?: { readonly limit?: number; readonly swap?: number };
  readonly pids?: { readonly limit: number };
  readonly unified?: Readonly<Record<string, string>>;
}

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Paths of /proc and /sys that are hidden. Upstream: pkg/securitycontext, defaultMaskedPaths; containerd. */
const maskedPaths = [
  "/proc/acpi",
  "/proc/asound",
  "/proc/interrupts",
  "/proc/kcore",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/sched_debug",
  "/proc/scsi",
  "/proc/timer_list",
  "/proc/timer_stats",
  "/sys/devices/virtual/powercap",
  "/sys/firmware",
];
const readonlyPaths = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"];

/**
 * Converts the configuration of a container to OCI, and lists the ignored fields. A pure function of its
 * input. Throws a RuntimeError (`CreateContainerError`) for an invalid one.
 *
 * Upstream: containerd, internal/cri/server/container_create.go.
 */
export function containerSpec(input: SpecInput): {
  readonly spec: OciSpec;
  readonly unsupported: readonly string[];
} {
  const { container, sandbox, image, user, machine, namespaces, seccomp } = input;
  const { security } = container;
  const { privileged } = security;
  const { given, missing } = containerCapabilities(security, machine.capabilities);
  const unsupported = missing.map((name) => `capability ${name}`);
  const profile =
    privileged || security.seccomp === "unconfined" ? undefined : (seccomp ?? defaultSeccomp(given));
  if (profile !== undefined && !machine.seccomp) unsupported.push(`seccomp profile ${security.seccomp}`);
  const oomScoreAdj = Math.max(container.resources.oomScoreAdj ?? 0, machine.minOomScoreAdj);
  const mounts = allMounts(input);
  const spec: OciSpec = {
    ociVersion: "1.0.2",
    process: {
      terminal: container.tty,
      user,
      args: programOf(container, image),
      env: environmentOf(container, sandbox, image),
      cwd: posix.join("/", container.workingDir || image.workingDir || "/"),
      capabilities: { bounding: given, effective: given, permitted: given },
      noNewPrivileges: security.noNewPrivileges && !privileged,
      oomScoreAdj,
    },
    root: { path: input.root, readonly: security.readOnlyRootFilesystem },
    mounts: mounts.list,
    annotations: container.annotations,
    linux: {
      namespaces: [
        { type: "mount" },
        ...(machine.cgroupVersion === 2 ? [{ type: "cgroup" }] : []),
        ...(sandbox.hostPID ? [] : [namespaceOf("pid", namespaces.pid)]),
        ...(["network", "ipc", "uts"] as const).flatMap((type) =>
          namespaces[type] === undefined ? [] : [namespaceOf(type, namespaces[type])],
        ),
      ],
      devices: input.devices.map(({ path, type, major, minor, fileMode }) => ({
        path,
        type,
        major,
        minor,
        fileMode,
        // A user other than root could not open files of the machine's root.
        ...(privileged ? {} : { uid: user.uid, gid: user.gid }),
      })),
      resources: {
        ...ociResources(container.resources, machine),
        devices: privileged
          ? [{ allow: true, access: "rwm" }]
          : [
              { allow: false, access: "rwm" },
              ...input.devices.map(({ type, major, minor, permissions }) => ({
                allow: true,
                type,
                major,
                minor,
                access: permissions || "rwm",
              })),
            ],
      },
      cgroupsPath: input.cgroupsPath,
      ...(privileged ? {} : { maskedPaths, readonlyPaths }),
      ...(mounts.propagation === undefined ? {} : { rootfsPropagation: mounts.propagation }),
      ...(profile === undefined || !machine.seccomp ? {} : { seccomp: profile }),
    },
  };
  return { spec: applyToOciConfig(spec, input.edits, input.lookUpDevice), unsupported };
}

function namespaceOf(type: string, path: string | undefined): { type: string; path?: string } {
  return path === undefined ? { type } : { type, path };
}

/** `command` of a pod replaces the image's program and its arguments, `args` replace the arguments. */
function programOf(
  { name, command, args }: ContainerConfig,
  { entrypoint, cmd }: ImageConfig,
): readonly string[] {
  const program =
    command.length > 0 ? [...command, ...args] : [...entrypoint, ...(args.length > 0 ? args : cmd)];
  if (program.length === 0)
    throw new RuntimeError(
      "CreateContainerError",
      `container "${name}": no command specified: neither the pod nor its image names a program`,
    );
  return program;
}

function environmentOf(
  container: ContainerConfig,
  sandbox: SandboxConfig,
  image: ImageConfig,
): readonly string[] {
  const env = new Map<string, string>([["PATH", defaultPath]]);
  for (const assignment of image.env) {
    const equals = assignment.indexOf("=");
    if (equals > 0) env.set(assignment.slice(0, equals), assignment.slice(equals + 1));
  }
  if (container.tty) env.set("TERM", "xterm");
  env.set("HOSTNAME", sandbox.hostname);
  for (const [name, value] of container.env) {
    if (name === "" || /[=\0]/.test(name) || value.includes("\0"))
      throw new RuntimeError(
        "CreateContainerError",
        `environment variable ${JSON.stringify(name)} cannot be set: a name must not be empty or contain "=", and ` +
          "neither name nor value may contain a null byte",
      );
    env.set(name, value);
  }
  return [...env].map(([name, value]) => `${name}=${value}`);
}

function allMounts(input: SpecInput): {
  readonly list: readonly OciMount[];
  readonly propagation: string | undefined;
} {
  const { container, podMounts, machine, sandbox } = input;
  const { privileged, readOnlyRootFilesystem } = container.security;
  const system: OciMount[] = [
    { destination: "/proc", type: "proc", source: "proc", options: ["nosuid", "noexec", "nodev"] },
    {
      destination: "/dev",
      type: "tmpfs",
      source: "tmpfs",
      options: ["nosuid", "strictatime", "mode=755", "size=65536k"],
    },
    {
      destination: "/dev/pts",
      type: "devpts",
      source: "devpts",
      options: ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"],
    },
    ...(sandbox.hostIPC
      ? []
      : [
          {
            destination: "/dev/mqueue",
            type: "mqueue",
            source: "mqueue",
            options: ["nosuid", "noexec", "nodev"],
          },
        ]),
    {
      destination: "/sys",
      type: "sysfs",
      source: "sysfs",
      options: ["nosuid", "noexec", "nodev", privileged ? "rw" : "ro"],
    },
    {
      destination: "/sys/fs/cgroup",
      type: "cgroup",
      source: "cgroup",
      options: [
        "nosuid",
        "noexec",
        "nodev",
        "relatime",
        privileged && machine.cgroupVersion === 2 ? "rw" : "ro",
      ],
    },
  ];
  const place = (mount: MountConfig): string => posix.join("/", mount.containerPath).replace(/(?<=.)\/$/, "");
  const own = new Map(container.mounts.map((mount) => [place(mount), mount]));
  const pod = podMounts
    .filter((mount) => !own.has(place(mount)))
    .map((mount) => ({
      ...mount,
      readOnly: mount.readOnly || (readOnlyRootFilesystem && mount.containerPath !== "/dev/shm"),
    }));
  const depth = (mount: MountConfig): number => place(mount).split("/").length;
  // A mount comes after its parent, which would hide it.
  const bound = [...pod, ...own.values()].sort((a, b) => depth(a) - depth(b));
  const kept = system.filter(({ destination }) => !own.has(destination));
  return {
    list: [...kept, ...bound.map((mount) => bindMount(place(mount), mount))],
    propagation: rootPropagation(container.mounts),
  };
}

function bindMount(
  destination: string,
  { hostPath, image, readOnly, recursiveReadOnly, propagation = "private" }: MountConfig,
): OciMount {
  const kind = { private: "rprivate", hostToContainer: "rslave", bidirectional: "rshared" }[propagation];
  const access = readOnly ? (recursiveReadOnly ? "rro" : "ro") : "rw";
  const options = ["rbind", kind, access, ...(image === undefined ? [] : ["noexec"])];
  return { destination, type: "bind", source: hostPath, options };
}

/** Propagation of the root that the container's mounts require. */
function rootPropagation(mounts: readonly MountConfig[]): string | undefined {
  if (mounts.some(({ propagation }) => propagation === "bidirectional")) return "rshared";
  return mounts.some(({ propagation }) => propagation === "hostToContainer") ? "rslave" : undefined;
}

/** Converts bounds to OCI, also for `runc update`. */
export function ociResources(
  resources: ResourceConfig,
  { cgroupVersion, swapAccounting }: Pick<MachineFacts, "cgroupVersion" | "swapAccounting">,
): OciResources {
  const { cpuShares, cpuPeriod, cpuQuota, cpusetCpus, cpusetMems, memoryLimitBytes, pidsLimit } = resources;
  const defined = <T extends object>(object: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
    Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as never;
  const cpu = defined({
    shares: cpuShares,
    quota: cpuQuota,
    period: cpuPeriod,
    cpus: cpusetCpus || undefined,
    mems: cpusetMems || undefined,
  });
  return {
    ...(Object.keys(cpu).length > 0 ? { cpu } : {}),
    ...(memoryLimitBytes === undefined || memoryLimitBytes === 0
      ? {}
      : // Without swap: a container that reaches its limit is killed.
        { memory: { limit: memoryLimitBytes, ...(swapAccounting ? { swap: memoryLimitBytes } : {}) } }),
    ...(pidsLimit === undefined ? {} : { pids: { limit: pidsLimit } }),
    // An OOM kill ends the whole container. Upstream: KEP-4216, kubelet on cgroup v2.
    ...(cgroupVersion === 2 && memoryLimitBytes ? { unified: { "memory.oom.group": "1" } } : {}),
  };
}
