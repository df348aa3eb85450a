/** For tests: a webhook server that answers as it is told. */
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { createAuthority, issueCertificate } from "../../certificates/pki.ts";

export interface Review {
  readonly apiVersion: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it.
  readonly request: any;
}

/** What the webhook server answers: the response of a review, or something else altogether. */
export type Reply = (review: Review) => object | string | number | undefined | Promise<object>;

/** A webhook server over HTTPS: what it was asked, and what it answers by path. */
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

  /** A webhook on configmaps that answers so. */
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
}
