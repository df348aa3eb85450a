import { StatusError } from "@dray/api";
import { type Pod, Secret } from "@dray/api/core/v1";
import type { Client } from "@dray/client";
import { RuntimeError } from "../runtime/error.ts";
import type { ImageCredentials } from "../runtime/images.ts";

/** The `imagePullSecrets` of a pod; admission has added those of its service account. */
export interface PullSecrets {
  readonly secrets: readonly Secret[];
  /** Names of secrets that could not be read. */
  readonly missing: readonly string[];
}

/** Upstream: pkg/kubelet/kubelet_pods.go, getPullSecretsForPod. */
export async function pullSecretsOf({ metadata, spec }: Pod, client: Client): Promise<PullSecrets> {
  const secrets: Secret[] = [];
  const missing: string[] = [];
  for (const { name } of spec.imagePullSecrets ?? []) {
    if (!name) continue;
    try {
      secrets.push(await client.resource(Secret).get({ namespace: metadata.namespace, name }));
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      missing.push(name);
    }
  }
  return { secrets, missing };
}

interface Entry {
  readonly host: string;
  readonly path: string;
  readonly credentials: ImageCredentials;
}

/** Registry of images whose name has none. */
const defaultRegistry = "index.docker.io";

/**
 * Returns the credentials for the registry of an image, those with the longest path first. Throws
 * RuntimeError (ErrImagePull) for a secret that is not as its type requires.
 *
 * Upstream: pkg/credentialprovider/keyring.go, BasicDockerKeyring.
 */
export function credentialsFor(image: string, secrets: readonly Secret[]): ImageCredentials[] {
  const entries = secrets.flatMap(entriesOf).sort((a, b) => {
    const [x, y] = [a.host + a.path, b.host + b.path];
    return x === y ? 0 : x < y ? 1 : -1;
  });
  const { host, path, isDefault } = repositoryOf(image);
  const matching = entries.filter((entry) => path.startsWith(entry.path) && matchesHost(entry.host, host));
  const fallback = isDefault ? entries.filter((entry) => entry.host + entry.path === defaultRegistry) : [];
  return (matching.length > 0 ? matching : fallback).map(({ credentials }) => credentials);
}

function entriesOf({ type, data = {}, metadata: { namespace, name } }: Secret): Entry[] {
  const key = {
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
    "kubernetes.io/dockercfg": ".dockercfg",
  }[type ?? ""];
  const encoded = key === undefined ? undefined : data[key];
  if (key === undefined || !encoded) return [];
  const fault = (problem: string): RuntimeError =>
    new RuntimeError("ErrImagePull", `secret ${namespace}/${name}: ${problem}`);
  let config: unknown;
  try {
    config = JSON.parse(Buffer.from(encoded, "base64").toString("utf8"));
  } catch {
    // The parser's error would quote the secret.
    throw fault(`${key} is not valid JSON`);
  }
  const auths = key === ".dockercfg" ? config : fields(config)["auths"];
  return Object.entries(fields(auths)).flatMap(([registry, value]) => {
    const url = URL.parse(
      /^https?:\/\//.test(registry) ? registry : `https://${registry.replaceAll("*", "%2A")}`,
    );
    if (url === null) return [];
    const { username, password, auth } = fields(value);
    let credentials: ImageCredentials = {
      ...(typeof username === "string" && { username }),
      ...(typeof password === "string" && { password }),
    };
    if (typeof auth === "string" && auth !== "") {
      const [user, ...rest] = Buffer.from(auth, "base64").toString("utf8").split(":");
      if (user === undefined || rest.length === 0)
        throw fault(`the auth of ${registry} must be formatted as base64(username:password)`);
      credentials = { username: user, password: rest.join(":") };
    }
    // Both forms are common for the registry as a whole.
    const path = url.pathname.replace(/^\/v[12]\//, "/");
    const host = registry.replace(/^https?:\/\//, "").split("/")[0] ?? "";
    return [{ host, path: path === "/" ? "" : path, credentials }];
  });
}

function fields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

/** Returns the registry and path of an image without tag and digest, completed as `docker pull` does. */
function repositoryOf(image: string): { host: string; path: string; isDefault: boolean } {
  const name = image.replace(/@.*$/s, "").replace(/:[^:/]*$/, "");
  const [first = "", ...rest] = name.split("/");
  const hasHost = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  const host = hasHost ? first.replace(/^index\.docker\.io$/, "docker.io") : "docker.io";
  const within = hasHost ? rest.join("/") : name;
  const isDefault = host === "docker.io";
  return { host, path: `/${isDefault && !within.includes("/") ? "library/" : ""}${within}`, isDefault };
}

/** `*` matches within a label of a name: `*.example.com`. */
function matchesHost(pattern: string, host: string): boolean {
  const [patternName = "", patternPort = ""] = pattern.split(":");
  const [name = "", port = ""] = host.split(":");
  const parts = patternName.split(".");
  const labels = name.split(".");
  return (
    port === patternPort &&
    parts.length === labels.length &&
    parts.every((part, index) => globExpression(part).test(labels[index] ?? ""))
  );
}

function globExpression(glob: string): RegExp {
  const source = glob.replace(/[^a-zA-Z0-9_-]/g, (character) =>
    character === "*" ? ".*" : character === "?" ? "." : `\\${character}`,
  );
  return new RegExp(`^${source}$`, "s");
}
