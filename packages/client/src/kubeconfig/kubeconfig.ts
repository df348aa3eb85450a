import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { readProblem, writeFileAtomically } from "@dray/files";
import { type Clock, systemClock } from "../base/clock.ts";
import type { ConnectionOptions } from "../transport/connection-options.ts";
import type { KubeconfigEntries } from "./edit-kubeconfig.ts";
import { type ExecPlugin, execSource } from "./exec-plugin.ts";

/** A server and a user, from a kubeconfig or the environment of a pod. */
export interface ConnectionConfig {
  /** Name of the context; "" in a pod. */
  readonly context: string;
  /** Namespace of the context; `default` if it has none. */
  readonly namespace: string;
  /** For `httpsTransport`. */
  readonly connection: ConnectionOptions;
}

export interface KubeconfigOptions {
  /** Folder of the service account in a pod; the standard one if absent. */
  readonly serviceAccountFolder?: string | undefined;
  /** `--kubeconfig`: only this file, which must exist. */
  readonly file?: string;
  /** `--context`: replaces the current context. */
  readonly context?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly clock?: Clock;
}

interface Cluster {
  readonly server?: string;
  readonly "certificate-authority"?: string;
  readonly "certificate-authority-data"?: string;
  readonly "insecure-skip-tls-verify"?: boolean;
  readonly "tls-server-name"?: string;
  readonly "disable-compression"?: boolean;
  readonly "proxy-url"?: string;
  readonly extensions?: readonly { readonly name: string; readonly extension?: unknown }[] | null;
}

interface User {
  readonly "client-certificate"?: string;
  readonly "client-certificate-data"?: string;
  readonly "client-key"?: string;
  readonly "client-key-data"?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly exec?: ExecPlugin;
}

interface Context {
  readonly cluster?: string;
  readonly user?: string;
  readonly namespace?: string;
}

interface KubeconfigFile {
  readonly "current-context"?: string;
  readonly clusters?: readonly { readonly name: string; readonly cluster?: Cluster }[] | null;
  readonly users?: readonly { readonly name: string; readonly user?: User }[] | null;
  readonly contexts?: readonly { readonly name: string; readonly context?: Context }[] | null;
}

/** An entry with the folder of its relative paths. */
type Found<T> = { readonly value: T; readonly folder: string };

const serviceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * Loads the configuration with kubectl's precedence: `file`, or the merged files of `$KUBECONFIG` (the first
 * definition wins), or `~/.kube/config`, or the service account of the pod. Rejects with an error that names
 * the file and what is missing.
 */
export async function loadKubeconfig(options: KubeconfigOptions = {}): Promise<ConnectionConfig> {
  const env = options.env ?? process.env;
  const listed = (env["KUBECONFIG"] ?? "").split(delimiter).filter((name) => name !== "");
  const names = options.file !== undefined ? [options.file] : listed.length > 0 ? listed : defaultFiles(env);

  const clusters = new Map<string, Found<Cluster>>();
  const users = new Map<string, Found<User>>();
  const contexts = new Map<string, Found<Context>>();
  let currentContext = "";
  let found = false;
  for (const name of names) {
    const file = await readKubeconfig(name, options.file !== undefined);
    if (file === undefined) continue;
    found = true;
    const folder = dirname(resolve(name));
    const collect = <T>(into: Map<string, Found<T>>, key: string, value: T | undefined): void => {
      if (value !== undefined && !into.has(key)) into.set(key, { value, folder });
    };
    for (const { name: key, cluster } of file.clusters ?? []) collect(clusters, key, cluster);
    for (const { name: key, user } of file.users ?? []) collect(users, key, user);
    for (const { name: key, context } of file.contexts ?? []) collect(contexts, key, context);
    currentContext ||= file["current-context"] ?? "";
  }
  const where = names.join(", ");
  if (!found) {
    if (options.context === undefined && env["KUBERNETES_SERVICE_HOST"] !== undefined)
      return inClusterConfig(env, options.serviceAccountFolder);
    if (names.length === 0) throw new Error("no kubeconfig: name one with --kubeconfig or $KUBECONFIG");
    throw new Error(`no kubeconfig: ${where} does not exist (name one with --kubeconfig or $KUBECONFIG)`);
  }

  const contextName = options.context ?? currentContext;
  if (contextName === "") throw new Error(`${where}: no current-context is set`);
  const context = findEntry(contexts, contextName, "context", where).value;
  const cluster = findEntry(clusters, context.cluster ?? "", "cluster", where);
  const user = context.user ? findEntry(users, context.user, "user", where) : undefined;
  const { server } = cluster.value;
  if (!server) throw new Error(`${where}: cluster ${context.cluster} has no server`);
  const ca = await pem(cluster, "certificate-authority-data", "certificate-authority");
  const insecure = cluster.value["insecure-skip-tls-verify"];
  const serverName = cluster.value["tls-server-name"];
  return {
    context: contextName,
    namespace: context.namespace || "default",
    connection: {
      server,
      ...(ca === undefined ? {} : { ca }),
      ...(insecure === true ? { insecureSkipTlsVerify: true } : {}),
      ...(serverName === undefined ? {} : { tlsServerName: serverName }),
      ...(cluster.value["disable-compression"] === true ? { disableCompression: true } : {}),
      ...(user === undefined
        ? {}
        : await credentialsOf(user, clusterForPlugins(cluster.value, ca), env, options.clock ?? systemClock)),
    },
  };
}

/**
 * Returns the configuration of the pod that this process runs in: the server from `KUBERNETES_SERVICE_HOST`
 * and `KUBERNETES_SERVICE_PORT`; token, CA and namespace from `folder`.
 */
export async function inClusterConfig(
  env: NodeJS.ProcessEnv = process.env,
  folder = serviceAccountFolder,
): Promise<ConnectionConfig> {
  const host = env["KUBERNETES_SERVICE_HOST"];
  const port = env["KUBERNETES_SERVICE_PORT"];
  if (!host || !port) {
    throw new Error("not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be set");
  }
  const [ca, namespace] = await Promise.all([
    readFile(join(folder, "ca.crt"), "utf8"),
    readFile(join(folder, "namespace"), "utf8").catch(() => "default"),
  ]);
  const server = `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
  return {
    context: "",
    namespace: namespace.trim() || "default",
    connection: { server, ca, tokenFile: join(folder, "token") },
  };
}

/** The input of `writeKubeconfig`: one context, which is the current one. Certificates and keys are PEM. */
export interface NewKubeconfig {
  /** Name of context, cluster and user. */
  readonly name: string;
  readonly server: string;
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
  readonly token?: string;
  readonly namespace?: string;
}

/** Returns the cluster, context and user of a kubeconfig. */
export function kubeconfigEntries(config: NewKubeconfig): KubeconfigEntries {
  const { name, server, ca, cert, key, token, namespace } = config;
  return {
    clusters: { server, "certificate-authority-data": base64(ca) },
    contexts: { cluster: name, user: name, ...(namespace === undefined ? {} : { namespace }) },
    users: {
      ...(cert === undefined ? {} : { "client-certificate-data": base64(cert) }),
      ...(key === undefined ? {} : { "client-key-data": base64(key) }),
      ...(token === undefined ? {} : { token }),
    },
  };
}

/** Writes a kubeconfig that only its owner can read. */
export async function writeKubeconfig(file: string, config: NewKubeconfig): Promise<void> {
  const { editKubeconfig } = await import("./edit-kubeconfig.ts");
  const { name } = config;
  const text = editKubeconfig("", {
    set: { name, entries: kubeconfigEntries(config) },
    currentContext: name,
  });
  await writeFileAtomically(file, text, { folderMode: 0o777, followLink: true });
}

/** Returns `~/.kube/config`; nothing for a user without a home directory. */
function defaultFiles(env: NodeJS.ProcessEnv): string[] {
  try {
    return [join(env["HOME"] || homedir(), ".kube", "config")];
  } catch {
    return [];
  }
}

async function readKubeconfig(name: string, required: boolean): Promise<KubeconfigFile | undefined> {
  let text: string;
  try {
    text = await readFile(name, "utf8");
  } catch (error) {
    if (!required && (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new Error(`kubeconfig ${name}: ${readProblem(error)}`, { cause: error });
  }
  try {
    const value: unknown = text.trimStart().startsWith("{")
      ? JSON.parse(text)
      : (await import("yaml")).parse(text);
    return typeof value === "object" && value !== null ? (value as KubeconfigFile) : {};
  } catch (error) {
    throw new Error(`kubeconfig ${name} is malformed: ${(error as Error).message}`, { cause: error });
  }
}

function findEntry<T>(
  map: ReadonlyMap<string, Found<T>>,
  name: string,
  what: string,
  where: string,
): Found<T> {
  const found = map.get(name);
  if (found !== undefined) return found;
  const known = [...map.keys()].join(", ") || "none";
  throw new Error(`${where}: no ${what} "${name}" (there is: ${known})`);
}

async function credentialsOf(
  user: Found<User>,
  cluster: object,
  env: NodeJS.ProcessEnv,
  clock: Clock,
): Promise<Partial<ConnectionOptions>> {
  const { value, folder } = user;
  const cert = await pem(user, "client-certificate-data", "client-certificate");
  const key = await pem(user, "client-key-data", "client-key");
  const { exec } = value;
  return {
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    // As in client-go, a token file takes precedence over a token.
    ...(value.tokenFile
      ? { tokenFile: path(value.tokenFile, folder) }
      : value.token
        ? { token: value.token }
        : {}),
    ...(exec === undefined
      ? {}
      : {
          credentials: execSource(
            { ...exec, command: /[\\/]/.test(exec.command) ? path(exec.command, folder) : exec.command },
            { cluster, env, clock },
          ),
        }),
  };
}

/**
 * Returns the cluster that an exec plugin with `provideClusterInfo` receives (`spec.cluster` of
 * ExecCredential): with the authority as data, and with the extension for plugins as `config`.
 */
function clusterForPlugins(cluster: Cluster, ca: string | undefined): object {
  const { "certificate-authority": _, extensions, ...rest } = cluster;
  const config = extensions?.find(({ name }) => name === "client.authentication.k8s.io/exec")?.extension;
  return {
    ...rest,
    ...(ca === undefined ? {} : { "certificate-authority-data": base64(ca) }),
    ...(config === undefined ? {} : { config }),
  };
}

/** Data in the kubeconfig takes precedence over a file. */
async function pem<T extends object>(
  { value, folder }: Found<T>,
  data: keyof T,
  file: keyof T,
): Promise<string | undefined> {
  if (value[data]) return Buffer.from(String(value[data]), "base64").toString("utf8");
  return value[file] ? readFile(path(String(value[file]), folder), "utf8") : undefined;
}

function path(name: string, folder: string): string {
  return isAbsolute(name) ? name : join(folder, name);
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}
