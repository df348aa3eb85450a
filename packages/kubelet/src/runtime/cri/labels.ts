import { PodSandboxConfig } from "@dray/rpc/cri/v1";
import type { ContainerConfig, ContainerIdentity, SandboxConfig, SandboxIdentity } from "../config.ts";

/**
 * What the runtime keeps for the agent, in labels and annotations: an agent that comes back knows everything from them.
 *
 * Upstream: staging/src/k8s.io/kubelet/pkg/types/labels.go, pkg/kubelet/kuberuntime/labels.go.
 */
const podName = "io.kubernetes.pod.name";
const podNamespace = "io.kubernetes.pod.namespace";
const podUid = "io.kubernetes.pod.uid";
const containerName = "io.kubernetes.container.name";
const containerHash = "io.kubernetes.container.hash";
const containerRestartCount = "io.kubernetes.container.restartCount";

/** Ours: the node that a sandbox or container belongs to. Several agents may share one runtime. */
const nodeLabel = "dray.dev/node";
/** Ours: the sandbox's whole configuration, as protobuf in base64; CreateContainer wants it again. */
const sandboxAnnotation = "dray.dev/sandbox";
/** Ours: what the agent knows of a container and CRI does not tell, as JSON. */
const containerAnnotation = "dray.dev/container";

type Texts = Readonly<Record<string, string>>;

/** What `ContainerStatus` does not say about a container. */
export interface ContainerExtra {
  readonly logPath: string;
  readonly terminationLog: string;
  readonly stdin: boolean;
  readonly stdinOnce: boolean;
  readonly tty: boolean;
}

/** The selector of everything of one node, or of one of its pods. */
export function selectorOf(node: string, uid: string | undefined): Record<string, string> {
  return uid === undefined ? { [nodeLabel]: node } : { [nodeLabel]: node, [podUid]: uid };
}

function podLabels(node: string, { name, namespace, uid }: SandboxIdentity): Record<string, string> {
  return { [podName]: name, [podNamespace]: namespace, [podUid]: uid, [nodeLabel]: node };
}

/** Labels of a sandbox: the pod's own, and who it is for. */
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

/** Annotations of a container: those of device plugins and runtimes, and what identifies it. */
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

/** True if the sandbox or container with these labels is the node's. */
export function isOfNode(labels: Texts, node: string): boolean {
  return labels[nodeLabel] === node;
}

/** The UID of the pod that something with these labels belongs to. */
export function podUidOf(labels: Texts): string {
  return labels[podUid] ?? "";
}

/** Who a sandbox is for. */
export function sandboxIdentity(labels: Texts, attempt: number): SandboxIdentity {
  const [namespace, name, uid] = [podNamespace, podName, podUid].map((key) => labels[key] ?? "");
  return { namespace: namespace!, name: name!, uid: uid!, attempt };
}

/** What the agent wrote about a container when it was created. */
export function containerExtra(annotations: Texts): ContainerExtra {
  const text = annotations[containerAnnotation];
  const empty = { logPath: "", terminationLog: "", stdin: false, stdinOnce: false, tty: false };
  return text === undefined ? empty : { ...empty, ...(JSON.parse(text) as Partial<ContainerExtra>) };
}

/** Which container it is. */
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

/** Writes the configuration of a sandbox into its annotations. */
export function keepSandboxConfig(config: PodSandboxConfig): PodSandboxConfig {
  const text = Buffer.from(PodSandboxConfig.encode(config).finish()).toString("base64");
  return { ...config, annotations: { ...config.annotations, [sandboxAnnotation]: text } };
}

/** The configuration as `keepSandboxConfig` returned it; undefined for annotations of other sandboxes. */
export function keptSandboxConfig(annotations: Texts): PodSandboxConfig | undefined {
  const text = annotations[sandboxAnnotation];
  if (text === undefined) return undefined;
  const config = PodSandboxConfig.decode(Buffer.from(text, "base64"));
  return { ...config, annotations: { ...config.annotations, [sandboxAnnotation]: text } };
}
