import { type KubeObject, StatusError } from "@dray/api";
import { encodeJSON } from "@dray/api/codec";
import type { Status } from "@dray/api/meta/v1";
import { type ApiServer, createServer } from "@dray/apiserver";
import { sleep, systemClock, type Transport } from "@dray/client";
import { memoryStore } from "@dray/store";

/** Response of a server to a new object. */
export interface Answer {
  /** Absent: the object would be accepted. */
  readonly error?: StatusError;
  /** Texts of Warning headers. */
  readonly warnings: readonly string[];
}

export interface ServerRules {
  readonly kubernetesVersion: string;
  readonly featureGates: ReadonlyMap<string, boolean>;
}

/**
 * Admission that depends on data outside of manifests: accounts, quota, webhooks. Policies are off, too:
 * those of the manifests would apply to some manifests only.
 */
const disabledAdmissionPlugins = [
  "NamespaceLifecycle",
  "ServiceAccount",
  "ResourceQuota",
  "RuntimeClass",
  "MutatingAdmissionPolicy",
  "MutatingAdmissionWebhook",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionWebhook",
  "NodeRestriction",
];

const user = { name: "dray-lint", groups: ["system:masters", "system:authenticated"] };

/** An API server in memory that checks whether it accepts objects. Everything stays in this process. */
export class TrialServer {
  readonly #server: ApiServer;
  readonly #transport: Transport;

  constructor(server: ApiServer) {
    this.#server = server;
    this.#transport = server.transport(user);
  }

  static async start({ kubernetesVersion, featureGates }: ServerRules): Promise<TrialServer> {
    const server = await createServer({
      store: memoryStore(systemClock),
      kubernetesVersion,
      featureGates,
      // Another check covers served resources.
      runtimeConfig: { "api/all": true },
      disabledAdmissionPlugins,
    });
    return new TrialServer(server);
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  /** Creates an object; replaces one that every cluster has. `path`: of its collection. */
  async create(path: string, object: object): Promise<Answer> {
    const created = await this.#send("POST", path, object);
    if (created.error?.reason !== "AlreadyExists") return created;
    const { name } = (object as KubeObject).metadata;
    return this.#send("PUT", `${path}/${encodeURIComponent(name)}`, object);
  }

  async #send(method: string, url: string, body: object): Promise<Answer> {
    const response = await this.#transport.request({
      method,
      // The reader of the manifest reports unknown fields with their positions.
      url: `${url}?fieldValidation=Ignore&fieldManager=dray-lint`,
      headers: { accept: "application/json", "content-type": "application/json", "user-agent": "dray-lint" },
      body: new TextEncoder().encode(encodeJSON(body)),
      signal: AbortSignal.timeout(30_000),
    });
    const warnings = [response.headers["warning"] ?? []].flat().map(warningText);
    if (response.status < 400) return { warnings };
    const status = response.type === "body" ? (response.object as Status | undefined) : undefined;
    return { error: new StatusError(status ?? { code: response.status }), warnings };
  }

  /** Waits until a version of custom resources is served; false: not within a few seconds. */
  async serves(group: string, version: string, resource: string): Promise<boolean> {
    for (let attempt = 0; attempt < 100; attempt++) {
      const response = await this.#transport.request({
        method: "GET",
        url: `/apis/${group}/${version}`,
        headers: { accept: "application/json" },
        signal: AbortSignal.timeout(30_000),
      });
      const list = (response.type === "body" ? response.object : undefined) as
        | { readonly resources?: readonly { readonly name: string }[] }
        | undefined;
      if (response.status === 200 && list?.resources?.some(({ name }) => name === resource)) return true;
      await sleep(systemClock, 20);
    }
    return false;
  }
}

/** Parses `299 - "text"`, whose bytes are UTF-8 in the form of Latin-1. */
function warningText(header: string): string {
  const quoted = /^299 \S+ "(.*)"$/s.exec(header)?.[1] ?? header;
  return Buffer.from(quoted.replace(/\\(["\\])/g, "$1"), "latin1").toString("utf8");
}
