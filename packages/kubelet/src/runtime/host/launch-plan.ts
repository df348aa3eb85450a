import { join } from "node:path";
import type { ContainerEdits } from "@dray/cdi";
import type { ContainerConfig, MountConfig } from "../config.ts";
import type { ContainerDevice } from "./access.ts";
import { containerVariable } from "./container.ts";
import { toolEnvironment } from "./environment.ts";
import { containerWords, type ImageMapping, programFolder } from "./images.ts";
import { type MachinePaths, type PathTable, planPaths, tableText } from "./loader/path-table.ts";
import { addLoaderVariables, type LoaderSettings, podVariable } from "./loader/variables.ts";
import { home } from "./places.ts";
import { rewriter } from "./rewrite.ts";

/** Input of a launch plan. */
export interface LaunchInput {
  readonly id: string;
  readonly config: ContainerConfig;
  /** Edits of its CDI devices. */
  readonly edits: ContainerEdits;
  /** Entry of its image, if it has one. */
  readonly image: ImageMapping | undefined;
  readonly podIP: string;
  /** Host name of the pod. */
  readonly hostname: string;
  /** Namespace of the pod, and its name. */
  readonly namespace: string;
  readonly podName: string;
  /** The container has a mount name space. */
  readonly isolated: boolean;
  /** Its user is root of a user name space without other users. */
  readonly isMappedRoot: boolean;
  /** Its resolv.conf; undefined for the machine's. */
  readonly resolvConf: string | undefined;
  /** Resolved path of the machine's resolv.conf. */
  readonly resolvConfPath: string;
  /** Mounts that replace folders of the machine. */
  readonly ownMounts: readonly MountConfig[];
  readonly devices: readonly ContainerDevice[];
  /** The container does not see devices of the machine. */
  readonly devicesHidden: boolean;
  /** Folder of the container in the runtime's. */
  readonly directory: string;
  /** Undefined without a loader library. */
  readonly loader: LoaderSettings | undefined;
  readonly machine: MachinePaths;
}

/** A folder that is made before a launch, for the container's user. */
export interface LaunchFolder {
  readonly path: string;
  readonly mode: number;
}

/** Plan of a launch. */
export interface LaunchPlan {
  readonly env: Readonly<Record<string, string>>;
  /** The program and its arguments. */
  readonly command: readonly string[];
  readonly workingDirectory: string;
  readonly mounts: readonly MountConfig[];
  readonly folders: readonly LaunchFolder[];
  /** Symbolic links that are made before the launch. */
  readonly links: PathTable["links"];
  /** Files that are written before the launch. */
  readonly files: readonly (readonly [path: string, text: string, mode: number])[];
}

/** Run as root, GNU tar gives files to their owners in the archive, and fails: `kubectl cp` runs it. */
const mappedRootEnvironment = { TAR_OPTIONS: "--no-same-owner" };

/** Plans the launch of a container. A pure function of its input. */
export function planLaunch(input: LaunchInput): LaunchPlan {
  const { id, config, edits, image, podIP, isolated, directory } = input;
  const folders: LaunchFolder[] = [];
  const files: [string, string, number][] = [];
  const mounts = containerMounts(input);
  const { resolvConf, resolvConfPath } = input;
  if (isolated && resolvConf !== undefined && !covers(config.mounts, etcResolvConf)) {
    const path = join(directory, "resolv.conf");
    files.push([path, resolvConf, 0o644]);
    // Replaces the machine's file, which a container with its own mounts sees there.
    const at = mounts.findIndex(({ containerPath }) => containerPath === resolvConfPath);
    if (at >= 0) mounts.splice(at, 1);
    mounts.push({ hostPath: path, containerPath: resolvConfPath, readOnly: false });
  }
  const { workingDir } = config;
  if (workingDir !== undefined && needsFolder(workingDir, mounts, input)) {
    const made = join(directory, "work");
    folders.push({ path: made, mode: 0o755 });
    mounts.push({ hostPath: made, containerPath: workingDir, readOnly: false });
  }
  const rewrite = isolated ? (value: string) => value : rewriter(mounts);
  const env: Record<string, string> = {
    ...toolEnvironment,
    ...(input.isMappedRoot && mappedRootEnvironment),
    HOME: home,
    HOSTNAME: input.hostname,
  };
  const programs = programFolder(image);
  if (programs !== undefined) env["PATH"] = `${programs}:${env["PATH"]}`;
  if (config.tty) env["TERM"] = "xterm";
  for (const [name, value] of config.env) env[name] = rewrite(value);
  for (const assignment of edits.env ?? []) {
    const equals = assignment.indexOf("=");
    env[assignment.slice(0, equals)] = rewrite(assignment.slice(equals + 1));
  }
  env["DRAY_POD_IP"] = podIP;
  env[containerVariable] = id;
  env[podVariable] = `${input.namespace}/${input.podName}`;
  if (!isolated) {
    const kubeconfig = serviceAccountKubeconfig(mounts, env, input.namespace);
    if (kubeconfig !== undefined) {
      const path = join(directory, "kubeconfig");
      files.push([path, kubeconfig, 0o600]);
      env["KUBECONFIG"] = path;
    }
  }
  const root = join(directory, "root");
  const paths = isolated ? noPaths : planPaths(mounts, join(directory, "paths"), input.machine);
  if (input.loader !== undefined) addLoaderVariables(env, input.loader, tableText(paths));
  return {
    env,
    command: containerWords(image, config).map(rewrite),
    workingDirectory: isolated ? workingDir || "/" : rewrite(workingDir || root),
    mounts,
    folders,
    links: input.loader === undefined ? [] : paths.links,
    files,
  };
}

const noPaths: PathTable = { entries: [], links: [] };

/** Path at which programs read their name servers. */
export const etcResolvConf = "/etc/resolv.conf";

/** A working directory that exists neither on the machine nor in a volume is made for the container. */
function needsFolder(path: string, mounts: readonly MountConfig[], input: LaunchInput): boolean {
  const { ownMounts, machine } = input;
  const ofPod = mounts.filter((mount) => !ownMounts.includes(mount));
  if (covers(ofPod, path)) return false;
  if (covers(ownMounts, path)) return !ownMounts.some(({ containerPath }) => containerPath === path);
  return !machine.exists(path);
}

/** Mounts of the runtime, the pod and CDI, each of which replaces earlier ones at its path. */
function containerMounts(input: LaunchInput): MountConfig[] {
  const { config, edits, ownMounts, devices, devicesHidden } = input;
  // If devices of the machine are visible, only those with another path in the container are mounted.
  const nodes = devices
    .filter(({ exists }) => exists || !devicesHidden)
    .filter(({ hostPath, containerPath }) => devicesHidden || hostPath !== containerPath)
    .map(({ hostPath, containerPath }) => ({ hostPath, containerPath, readOnly: false }));
  const bound = (edits.mounts ?? []).map((mount) => ({
    hostPath: mount.hostPath,
    containerPath: mount.containerPath,
    readOnly: mount.options?.includes("ro") ?? false,
  }));
  const mounts = new Map<string, MountConfig>();
  for (const mount of [...ownMounts, ...config.mounts, ...nodes, ...bound]) {
    mounts.delete(mount.containerPath);
    mounts.set(mount.containerPath, mount);
  }
  return [...mounts.values()];
}

function covers(mounts: readonly MountConfig[], path: string): boolean {
  return mounts.some(({ containerPath }) => path === containerPath || path.startsWith(`${containerPath}/`));
}

const serviceAccountDirectory = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * Without a mount name space the token of the service account is not at its usual path: a kubeconfig, which
 * most programs of Kubernetes read from `$KUBECONFIG`, names it. The pod's own `KUBECONFIG` has precedence.
 */
function serviceAccountKubeconfig(
  mounts: readonly MountConfig[],
  env: Readonly<Record<string, string>>,
  namespace: string,
): string | undefined {
  const account = mounts.find(({ containerPath }) => containerPath === serviceAccountDirectory)?.hostPath;
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port, KUBECONFIG } = env;
  if (account === undefined || !host || !port || KUBECONFIG !== undefined) return undefined;
  const server = `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
  return `${JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "pod", cluster: { server, "certificate-authority": join(account, "ca.crt") } }],
    users: [{ name: "pod", user: { tokenFile: join(account, "token") } }],
    contexts: [{ name: "pod", context: { cluster: "pod", user: "pod", namespace } }],
    "current-context": "pod",
  })}\n`;
}
