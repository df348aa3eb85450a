import { PodSandboxConfig } from "@dray/rpc/cri/v1";
import type { ContainerConfig, ContainerIdentity, SandboxConfig, SandboxIdentity } from "../config.ts";

/**
 * Labels and annotations in which the runtime keeps the agent's data, from which a restarted agent restores
 * its state.
 *
 * Upstream: staging/src/k8s.io/kubelet/pkg/types/labels.go, pkg/kubelet/kuberuntime/labels.go.
 */
const podName = "io.kubernetes.pod.name";
const podNamespace = "io.kubernetes.pod.namespace";
const podUid = "io.kubernetes.pod.uid";
const containerName = "io.kubernetes.container.name";
const containerHash = "io.kubernetes.container.hash";
const containerRestartCount = "io.kubernetes.container.restartCount";

/** Ours: the node of a sandbox or container. Several agents may share one runtime. */
const nodeLabel = "dray.dev/node";
/** Ours: the configuration of a sandbox, as protobuf in base64, which CreateContainer needs again. */
const sandboxAnnotation = "dray.dev/sandbox";
/** Ours: data of a container that CRI does not return, as JSON. */
const containerAnnotation = "dray.dev/container";

type Texts = Readonly<Record<string, string>>;

/** Data of a container that is not in `ContainerStatus`. */
export interface ContainerExtra {
  readonly logPath: string;
  readonly terminationLog: string;
  readonly stdin: boolean;
  readonly stdinOnce: boolean;
  readonly tty: boolean;
}

/** Selects all objects of a node, or of one of its pods. */
export function selectorOf(node: string, uid: string | undefined): Record<string, string> {
  return uid === undefined ? { [nodeLabel]: node } : { [nodeLabel]: node, [podUid]: uid };
}

function podLabels(node: string, { name, namespace, uid }: SandboxIdentity): Record<string, string> {
  return { [podName]: name, [podNamespace]: namespace, [podUid]: uid, [nodeLabel]: node };
}

/** Labels of a sandbox: those of the pod, and its identity. */
export function sandboxLabels(node: string, config: SandboxConfig): Record<string, string> {
  return { ...config.labels, ...podLabels(node, config) };
}

/** Labels of a container. */
export function containerLabels(
  node: string,
  sandbox: SandboxIdentity,
  name: string,
): Record<string, string> {
  return { ...podLabels(node, sandbox), [containerName]: name };
}

/** Annotations of a container: those of device plugins and runtimes, and its identity. */
export function containerAnnotations(config: ContainerConfig): Record<string, string> {
  const { logPath, terminationLog, stdin, stdinOnce, tty } = config;
  const extra: ContainerExtra = { logPath, terminationLog, stdin, stdinOnce, tty };
  return {
    ...config.annotations,
    [containerHash]: config.hash,
    [containerRestartCount]: String(config.attempt),
    [containerAnnotation]: JSON.stringify(extra),
  };
}

/** Returns true if the sandbox or container with these labels belongs to the node. */
export function isOfNode(labels: Texts, node: string): boolean {
  return labels[nodeLabel] === node;
}

/** UID of the pod of an object with these labels. */
export function podUidOf(labels: Texts): string {
  return labels[podUid] ?? "";
}

/** Restores the identity of a sandbox. */
export function sandboxIdentity(labels: Texts, attempt: number): SandboxIdentity {
  return {
    namespace: labels[podNamespace] ?? "",
    name: labels[podName] ?? "",
    uid: podUidOf(labels),
    attempt,
  };
}

/** Restores the data that the agent wrote when it created a container. */
export function containerExtra(annotations: Texts): ContainerExtra {
  const text = annotations[containerAnnotation];
  const empty = { logPath: "", terminationLog: "", stdin: false, stdinOnce: false, tty: false };
  // Written by this program.
  return text === undefined ? empty : { ...empty, ...(JSON.parse(text) as Partial<ContainerExtra>) };
}

/** Restores the identity of a container. */
export function containerIdentity(labels: Texts, annotations: Texts): ContainerIdentity {
  const { logPath, terminationLog } = containerExtra(annotations);
  return {
    name: labels[containerName] ?? "",
    attempt: Number(annotations[containerRestartCount] ?? 0),
    hash: annotations[containerHash] ?? "",
    logPath,
    terminationLog,
  };
}

/** Adds the configuration of a sandbox to its annotations. */
export function keepSandboxConfig(config: PodSandboxConfig): PodSandboxConfig {
  const text = Buffer.from(PodSandboxConfig.encode(config).finish()).toString("base64");
  return { ...config, annotations: { ...config.annotations, [sandboxAnnotation]: text } };
}

/**
 * Restores the configuration that `keepSandboxConfig` wrote; undefined for annotations of other sandboxes.
 */
export function keptSandboxConfig(annotations: Texts): PodSandboxConfig | undefined {
  const text = annotations[sandboxAnnotation];
  if (text === undefined) return undefined;
  const config = PodSandboxConfig.decode(Buffer.from(text, "base64"));
  return { ...config, annotations: { ...config.annotations, [sandboxAnnotation]: text } };
}
