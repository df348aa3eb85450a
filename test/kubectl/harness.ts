/** One API server in this process, the real kubectl in others, and what went over the wire between them. */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAuthority, createServer, issueCertificate, type ServerOptions } from "@dray/apiserver";
import { type ApiRequest, type Client, createClient, systemClock, writeKubeconfig } from "@dray/client";
import { memoryStore } from "@dray/store";
import type { Output } from "../harness.ts";

export interface ShellOptions {
  readonly input?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Called for each request before it is answered. */
  readonly onRequest?: (line: string) => void;
  readonly until?: (stdout: string) => boolean;
}

export interface KubectlServer {
  /** As the administrator, in process: these requests are not recorded. */
  readonly admin: Client;
  /** Runs a shell line with kubectl in it, to its end or until its output satisfies `until`. */
  shell(line: string, options?: ShellOptions): Promise<Output & { readonly requests: readonly string[] }>;
  close(): Promise<void>;
}

/** Kubernetes with all its API versions, without what only works beside controllers. */
export async function startKubectlServer({
  kubernetesVersion = "1.36",
  disabledAdmissionPlugins = ["ServiceAccount"],
}: Pick<ServerOptions, "kubernetesVersion" | "disabledAdmissionPlugins"> = {}): Promise<KubectlServer> {
  const folder = mkdtempSync(join(tmpdir(), "dray-kubectl-"));
  const kubeconfig = join(folder, "kubeconfig");
  const now = systemClock.now();
  const authority = await createAuthority("ca", now);
  const serving = await issueCertificate(
    authority,
    { commonName: "kube-apiserver", ipAddresses: ["127.0.0.1"], usages: ["server"] },
    now,
  );
  const user = await issueCertificate(
    authority,
    { commonName: "admin", organizations: ["system:masters"], usages: ["client"] },
    now,
  );
  const store = memoryStore(systemClock);
  const server = await createServer({
    store,
    kubernetesVersion,
    runtimeConfig: { "api/all": true },
    newId: randomUUID,
    serving: { ...serving, clientAuthority: authority.certificate },
    disabledAdmissionPlugins,
  });
  const handle = server.handle.bind(server);
  let requests: string[] = [];
  let onRequest: ((line: string) => void) | undefined;
  server.handle = async (request) => {
    if (request.credential.type !== "certificate") return handle(request);
    const line = describe(request);
    if (line !== undefined && line !== requests.at(-1)) requests.push(line);
    if (line !== undefined) onRequest?.(line);
    return handle(request);
  };
  const listener = await server.listen();
  await writeKubeconfig(kubeconfig, {
    name: "test",
    server: listener.url,
    ca: authority.certificate,
    cert: user.certificate,
    key: user.key,
  });
  const admin = createClient({
    transport: server.transport({ name: "setup", groups: ["system:masters", "system:authenticated"] }),
    userAgent: "setup",
  });
  return {
    admin,
    async shell(line, options = {}) {
      requests = [];
      onRequest = options.onRequest;
      const env = { ...process.env, KUBECONFIG: kubeconfig, HOME: folder, ...options.env };
      const output = await run(line, env, options);
      return { ...output, requests };
    },
    async close() {
      await server.close();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function run(line: string, env: NodeJS.ProcessEnv, options: ShellOptions): Promise<Output> {
  const child = spawn("sh", ["-c", line], { env, detached: true });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
    if (options.until?.(stdout) === true) process.kill(-child.pid!, "SIGTERM");
  });
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdin.end(options.input ?? "");
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { code, stdout, stderr };
}

const accepts: readonly (readonly [start: string, name: string])[] = [
  ["application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1", "T"],
  ["application/vnd.kubernetes.protobuf,application/json", "P"],
  ["application/json", "J"],
];

const bodies: Readonly<Record<string, string>> = {
  "application/vnd.kubernetes.protobuf": "protobuf",
  "application/json": "json",
  "application/json-patch+json": "json-patch",
  "application/merge-patch+json": "merge-patch",
  "application/strategic-merge-patch+json": "strategic-patch",
  "application/apply-patch+yaml": "apply-patch",
};

/**
 * `GET T /api/v1/pods?limit=500`, `POST json /api/v1/..`: the method, then what kind of answer a read asks
 * for (T a table, P protobuf, J JSON) or what kind of body a write has, then path and query, unescaped. `OA`
 * stands for the OpenAPI v3 documents. Nothing for the discovery that kubectl keeps in its cache.
 */
function describe({ method, url, headers }: ApiRequest): string | undefined {
  if (/^\/(api|apis)(\?|$)/.test(url)) return undefined;
  // Distributions of kubectl that choose their version by the server's ask for it in front of the command.
  if (url.startsWith("/version") && headers["kubectl-command"] === undefined) return undefined;
  if (url.startsWith("/openapi/v3")) return "OA";
  const accept = headers["accept"] ?? "";
  const form =
    method === "GET"
      ? (accepts.find(([start]) => accept.startsWith(start))?.[1] ?? accept)
      : (bodies[headers["content-type"] ?? ""] ?? headers["content-type"] ?? "-");
  // The order of a field selector is that of Go's maps: another one each time.
  const path = decodeURIComponent(url.replaceAll("+", " ")).replace(
    /fieldSelector=([^&]*)/,
    (_, selector: string) => `fieldSelector=${selector.split(",").sort().join(",")}`,
  );
  return `${method} ${form} ${path}`;
}
