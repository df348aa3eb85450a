/** For tests: a webhook server with configured responses. */
import assert from "node:assert/strict";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import type { Clock } from "@dray/client";
import { createAuthority, issueCertificate } from "../../certificates/pki.ts";
import { type Answer, type TestServer, testServer } from "../../testing/server.ts";

export interface Review {
  readonly apiVersion: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it.
  readonly request: any;
}

/**
 * Response of the webhook server: that of a review, a raw body, a status code, or no response (undefined).
 */
export type Reply = (review: Review) => object | string | number | undefined | Promise<object>;

/** A webhook server over HTTPS: the received reviews, and the replies by path. */
export class Hooks {
  readonly asked: { readonly path: string; readonly review: Review; readonly port: number | undefined }[] =
    [];
  readonly replies = new Map<string, Reply>();
  #server: Server | undefined;
  #authority = "";

  async start(): Promise<void> {
    const now = Date.now();
    const authority = await createAuthority("webhooks", now);
    const names = {
      commonName: "webhooks",
      dnsNames: ["hook.n.svc"],
      ipAddresses: ["127.0.0.1"],
      usages: ["server" as const],
      validity: 1,
    };
    const { certificate: cert, key } = await issueCertificate(authority, names, now);
    this.#authority = Buffer.from(authority.certificate).toString("base64");
    this.#server = createServer({ cert, key }, (request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", async () => {
        const review = JSON.parse(Buffer.concat(chunks).toString()) as Review;
        const url = request.url ?? "";
        this.asked.push({ path: url, review, port: request.socket.remotePort });
        const reply = await this.replies.get(url.split("?")[0]!.slice(1))?.(review);
        if (reply === undefined) return;
        if (typeof reply === "number") response.writeHead(reply).end();
        else if (typeof reply === "string") response.end(reply);
        else {
          const { apiVersion, request: asked } = review;
          const answer = { uid: asked.uid, allowed: true, ...reply };
          response.end(JSON.stringify({ kind: "AdmissionReview", apiVersion, response: answer }));
        }
      });
    });
    await new Promise<void>((resolve) => {
      this.#server!.listen(0, "0.0.0.0", resolve);
    });
  }

  get port(): number {
    return (this.#server!.address() as AddressInfo).port;
  }

  get caBundle(): string {
    return this.#authority;
  }

  stop(): void {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }

  /** Returns a webhook for ConfigMaps with this reply. */
  hook(name: string, reply: Reply, more: object = {}): object {
    this.replies.set(name, reply);
    return {
      name: `${name}.webhooks.example.com`,
      clientConfig: { url: `https://127.0.0.1:${this.port}/${name}`, caBundle: this.caBundle },
      rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["configmaps"] }],
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
      ...more,
    };
  }

  /** Starts a server with these webhooks and the namespace `n`. */
  async serverWith(configured: Partial<Record<Kind, object[]>>, clock?: Clock): Promise<TestServer> {
    const tested = await testServer({ kubernetesVersion: "1.36", ...(clock ? { clock } : {}) });
    await tested.namespace("n");
    for (const [kind, webhooks] of Object.entries(configured)) {
      const configuration = { metadata: { name: "hooks" }, webhooks };
      const created = await tested.call("POST", `${configurations}/${kind}webhookconfigurations`, {
        body: configuration,
      });
      assert.equal(created.status, 201, created.body.message);
    }
    this.asked.length = 0;
    return tested;
  }
}

type Kind = "validating" | "mutating";

/** Root of the objects that configure webhooks. */
export const configurations = "/apis/admissionregistration.k8s.io/v1";

/** Creates a ConfigMap. */
export function create(tested: TestServer, name = "c", query = ""): Promise<Answer> {
  return tested.call("POST", `/api/v1/namespaces/n/configmaps${query}`, { body: { metadata: { name } } });
}

/** Returns a reply with a JSON patch. */
export const patch = (operations: readonly object[]): object => ({
  patchType: "JSONPatch",
  patch: Buffer.from(JSON.stringify(operations)).toString("base64"),
});
/** Returns a reply with a patch that adds a label. */
export const label = (key: string): object =>
  patch([{ op: "add", path: "/metadata/labels", value: { [key]: "yes" } }]);
