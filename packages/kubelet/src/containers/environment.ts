import { Quantity, quoted, StatusError } from "@dray/api";
import {
  ConfigMap,
  type Container,
  type EnvVarSource,
  type FileKeySelector,
  type Node,
  type Pod,
  Secret,
} from "@dray/api/core/v1";
import { hasPodLevelResources } from "@dray/api/pod";
import type { Client } from "@dray/client";
import { RuntimeError } from "../runtime/error.ts";
import type { MountedVolume } from "../types/mounted-volume.ts";
import { envFileValue, maxEnvFileBytes } from "./env-file.ts";
import { openSubPath } from "./sub-path.ts";

export interface EnvironmentContext {
  readonly client: Client;
  readonly node: Pick<Node, "status">;
  readonly podIPs: readonly string[];
  readonly hostIPs: readonly string[];
  /** Value of HOSTNAME; upstream leaves this variable to the runtime. */
  readonly hostname: string;
  /** Variables of Services, which all others override. */
  readonly services: ReadonlyMap<string, string>;
  /** The pod's volumes by name. */
  readonly volumes: ReadonlyMap<string, MountedVolume>;
}

const configError = (message: string): RuntimeError =>
  new RuntimeError("CreateContainerConfigError", message);

/**
 * Returns the environment of a container in order. Rejects with CreateContainerConfigError.
 *
 * Upstream: pkg/kubelet/kubelet_pods.go, makeEnvironmentVariables.
 */
export async function containerEnvironment(
  pod: Pod,
  container: Container,
  context: EnvironmentContext,
): Promise<[string, string][]> {
  const own = new Map<string, string>();
  const sources = new Sources(pod, context.client);
  for (const { prefix = "", configMapRef, secretRef } of container.envFrom ?? []) {
    const data =
      configMapRef !== undefined
        ? await sources.configMap(configMapRef.name ?? "", configMapRef.optional)
        : await sources.secret(secretRef?.name ?? "", secretRef?.optional);
    for (const [key, value] of Object.entries(data ?? {})) own.set(prefix + key, value);
  }
  for (const { name, value, valueFrom } of container.env ?? []) {
    const given =
      value || valueFrom === undefined
        ? expand(value ?? "", (key) => own.get(key) ?? context.services.get(key))
        : await fromSource(valueFrom, container, sources, context);
    if (given !== undefined) own.set(name, given);
  }
  return [...new Map([["HOSTNAME", context.hostname], ...context.services, ...own])];
}

/** Replaces `$(NAME)`; `$$` is a dollar sign, and an unknown name stays as it is (core/v1 EnvVar.value). */
export function expand(text: string, value: (name: string) => string | undefined): string {
  return text.replace(/\$(\$|\(([^)]*)\))/g, (whole, what: string, name: string | undefined) =>
    what === "$" ? "$" : (value(name ?? "") ?? whole),
  );
}

async function fromSource(
  source: EnvVarSource,
  container: Container,
  sources: Sources,
  context: EnvironmentContext,
): Promise<string | undefined> {
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  const { pod } = sources;
  if (fieldRef !== undefined) return fieldValue(pod, fieldRef.fieldPath, context);
  if (resourceFieldRef !== undefined) {
    const { containerName, resource, divisor } = resourceFieldRef;
    const named = containerName ? containerOf(pod, containerName) : container;
    const limits = hasPodLevelResources(pod) ? pod.spec.resources?.limits : undefined;
    return resourceValue(named, resource, divisor, [limits, context.node.status?.allocatable]);
  }
  const key = configMapKeyRef?.key ?? secretKeyRef?.key ?? "";
  if (configMapKeyRef !== undefined) {
    const { name = "", optional } = configMapKeyRef;
    const data = await sources.configMap(name, optional);
    if (data !== undefined && Object.hasOwn(data, key)) return data[key];
    if (optional) return undefined;
    throw configError(`couldn't find key ${key} in ConfigMap ${pod.metadata.namespace}/${name}`);
  }
  if (secretKeyRef !== undefined) {
    const { name = "", optional } = secretKeyRef;
    const data = await sources.secret(name, optional);
    if (data !== undefined && Object.hasOwn(data, key)) return data[key];
    if (optional) return undefined;
    throw configError(`couldn't find key ${key} in Secret ${pod.metadata.namespace}/${name}`);
  }
  if (fileKeyRef !== undefined) return fromFile(fileKeyRef, context.volumes);
  throw configError("env valueFrom names no source that this node knows");
}

/** Reads a variable from a file in a volume (KEP-3721), which the pod may have replaced by anything. */
function fromFile(
  { volumeName, path, key, optional }: FileKeySelector,
  volumes: ReadonlyMap<string, MountedVolume>,
): string | undefined {
  const volume = volumes.get(volumeName);
  if (volume === undefined)
    throw configError(`cannot find the volume ${JSON.stringify(volumeName)} referenced by FileKeyRef`);
  const where = `file ${JSON.stringify(path)} of volume ${JSON.stringify(volumeName)}`;
  let value: string;
  try {
    value = envFileValue(readText(volume.path, path), key);
  } catch (error) {
    throw configError(`couldn't parse env file: ${where}: ${(error as Error).message}`);
  }
  if (value !== "") return value;
  if (optional) return undefined;
  throw configError(`environment variable key ${JSON.stringify(key)} not found in ${where}`);
}

/** Reads a file of a volume whose parts containers may exchange. */
function readText(volume: string, path: string): string {
  const entry = openSubPath(volume, path, false);
  try {
    const { size } = entry.stat;
    if (size > maxEnvFileBytes) throw new Error(`it has ${size} bytes, at most ${maxEnvFileBytes} are read`);
    return entry.read(maxEnvFileBytes).toString("utf8");
  } finally {
    entry.close();
  }
}

/** Data of config maps and secrets, each read once for one container. */
class Sources {
  readonly pod: Pod;
  readonly #client: Client;
  readonly #known = new Map<string, Record<string, string> | undefined>();

  constructor(pod: Pod, client: Client) {
    this.pod = pod;
    this.#client = client;
  }

  configMap(name: string, optional = false): Promise<Record<string, string> | undefined> {
    return this.#get(`configmap "${name}" not found`, optional, async (ref) => {
      const { data = {} } = await this.#client.resource(ConfigMap).get({ ...ref, name });
      return data;
    });
  }

  secret(name: string, optional = false): Promise<Record<string, string> | undefined> {
    return this.#get(`secret "${name}" not found`, optional, async (ref) => {
      const { data = {} } = await this.#client.resource(Secret).get({ ...ref, name });
      return Object.fromEntries(
        Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString("utf8")]),
      );
    });
  }

  async #get(
    missing: string,
    optional: boolean,
    get: (ref: { namespace: string }) => Promise<Record<string, string>>,
  ): Promise<Record<string, string> | undefined> {
    if (this.#known.has(missing)) return this.#known.get(missing);
    try {
      const data = await get({ namespace: this.pod.metadata.namespace });
      this.#known.set(missing, data);
      return data;
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      if (error.reason === "NotFound" && optional) this.#known.set(missing, undefined);
      else throw configError(error.reason === "NotFound" ? missing : error.message);
      return undefined;
    }
  }
}

function containerOf(pod: Pod, name: string): Container {
  const found = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find((c) => c.name === name);
  if (found === undefined) throw configError(`container ${name} not found`);
  return found;
}

/** Returns a field of the pod by its path in the downward API. */
export function fieldValue(
  pod: Pod,
  path: string,
  { podIPs, hostIPs }: Pick<EnvironmentContext, "podIPs" | "hostIPs">,
): string {
  const keyed = /^metadata\.(labels|annotations)\['(.*)'\]$/.exec(path);
  if (keyed !== null) return pod.metadata[keyed[1] as "labels" | "annotations"]?.[keyed[2] ?? ""] ?? "";
  switch (path) {
    case "metadata.name":
      return pod.metadata.name;
    case "metadata.namespace":
      return pod.metadata.namespace;
    case "metadata.uid":
      return pod.metadata.uid;
    case "metadata.labels":
      return formatMap(pod.metadata.labels);
    case "metadata.annotations":
      return formatMap(pod.metadata.annotations);
    case "spec.nodeName":
      return pod.spec.nodeName ?? "";
    case "spec.serviceAccountName":
      return pod.spec.serviceAccountName ?? "";
    case "status.podIP":
      return podIPs[0] ?? "";
    case "status.podIPs":
      return podIPs.join();
    case "status.hostIP":
      return hostIPs[0] ?? "";
    case "status.hostIPs":
      return hostIPs.join();
    default:
      throw configError(`unsupported fieldPath: ${path}`);
  }
}

function formatMap(map: Record<string, string> | undefined): string {
  return Object.entries(map ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${quoted(value)}`)
    .join("\n");
}

/**
 * Resources whose limit a container without one inherits. Huge pages are never overcommitted, so they are not
 * inherited.
 */
const inherited: readonly string[] = ["cpu", "memory", "ephemeral-storage"];

/**
 * Returns `limits.cpu` and the like in units of `divisor`, rounded up. A limit that is not set is the first
 * of `fallbacks` that is set: the pod's, or the node's allocatable.
 *
 * Upstream: pkg/api/v1/resource/helpers.go, ExtractContainerResourceValue, MergeContainerResourceLimits.
 */
export function resourceValue(
  container: Container,
  resource: string,
  divisor: string | undefined,
  fallbacks: readonly (Readonly<Record<string, string>> | undefined)[],
): string {
  const [kind, name = ""] = resource.split(/\.(.*)/s);
  if (
    (kind !== "limits" && kind !== "requests") ||
    !(inherited.includes(name) || name.startsWith("hugepages-"))
  )
    throw configError(`unsupported container resource : ${resource}`);
  const lists = kind === "limits" && inherited.includes(name) ? fallbacks : [];
  const value = [container.resources?.[kind], ...lists]
    .map((list) => Quantity.parse(list?.[name] ?? "0"))
    .find((quantity) => quantity.sign !== 0);
  if (value === undefined) return "0";
  const given = Quantity.parse(divisor || "0");
  const unit = given.sign === 0 ? Quantity.of(1) : given;
  const [a, b] = name === "cpu" ? [value.milliValue(), unit.milliValue()] : [value.value(), unit.value()];
  return String((a + b - 1n) / b);
}
