import { Agent, request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { quoted } from "@dray/api";
import type { WebhookClientConfig } from "@dray/api/admissionregistration/v1";
import type { Clock } from "@dray/client";
import { failureText, statusText } from "../errors/go-errors.ts";
import { type Address, resolveService, type ServiceSources } from "../proxy/service-address.ts";
import { CallFailure } from "./errors.ts";

/** Maximum size of a response, in bytes. */
const maxResponseBytes = 8 * 1024 * 1024;

/** The address of a webhook, and how it is verified. */
interface Target {
  readonly url: URL;
  readonly address: Address;
  /** The name in its certificate. */
  readonly serverName: string;
}

/** Calls webhooks over HTTPS; connections are kept alive. */
export class WebhookClient {
  readonly #agent = new Agent({ keepAlive: true, scheduling: "lifo", timeout: 60_000 });
  readonly #services: ServiceSources;
  readonly #clock: Clock;

  constructor(services: ServiceSources, clock: Clock) {
    this.#services = services;
    this.#clock = clock;
  }

  /** Ends idle connections. */
  close(): void {
    this.#agent.destroy();
  }

  /** Posts a body and returns that of the response. Throws CallFailure. */
  async post(
    config: WebhookClientConfig,
    body: string,
    timeoutSeconds: number,
    signal: AbortSignal | undefined,
  ): Promise<string> {
    const text = urlOf(config, timeoutSeconds);
    const url = new URL(text);
    const late = new AbortController();
    const cancel = this.#clock.after(timeoutSeconds * 1000, () => late.abort());
    const signals = signal === undefined ? [late.signal] : [late.signal, signal];
    try {
      return await this.#send(this.#target(config, url), config.caBundle, body, AbortSignal.any(signals));
    } catch (error) {
      if (error instanceof CallFailure) throw error;
      const reason = late.signal.aborted
        ? "context deadline exceeded"
        : failureText(error as Error, url.hostname);
      throw new CallFailure(`failed to call webhook: Post ${quoted(text)}: ${reason}`);
    } finally {
      cancel();
    }
  }

  #target({ service }: WebhookClientConfig, url: URL): Target {
    if (service !== undefined)
      return { url, address: resolveService(service, this.#services), serverName: url.hostname };
    const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
    return { url, address: { host, port: Number(url.port || 443) }, serverName: host };
  }

  #send(
    { url, address, serverName }: Target,
    caBundle: string | undefined,
    body: string,
    signal: AbortSignal,
  ): Promise<string> {
    return new Promise((resolve, reject) => {
      const sent = httpsRequest(
        {
          agent: this.#agent,
          method: "POST",
          host: address.host,
          port: address.port,
          path: `${url.pathname}${url.search}`,
          servername: isIP(serverName) === 0 ? serverName : "",
          ...(caBundle ? { ca: Buffer.from(caBundle, "base64") } : {}),
          headers: {
            host: url.host,
            accept: "application/json, */*",
            "content-type": "application/json",
            "content-length": Buffer.byteLength(body),
            "user-agent": "kube-apiserver-admission",
          },
          signal,
        },
        (response) => {
          const chunks: Buffer[] = [];
          let size = 0;
          response.on("data", (chunk: Buffer) => {
            size += chunk.length;
            if (size > maxResponseBytes) response.destroy(new Error("the answer is too long"));
            else chunks.push(chunk);
          });
          response.on("error", reject);
          response.on("end", () => {
            const text = Buffer.concat(chunks).toString();
            const code = response.statusCode ?? 0;
            const type = response.headers["content-type"];
            const fail = (reason: string): void =>
              reject(new CallFailure(`failed to call webhook: ${reason}`));
            if (code < 200 || code > 206) fail(statusText(code, text, type));
            else if (text !== "") resolve(text);
            else
              fail(
                `0-length response with status code: ${code} and content type: ${type ?? "application/json"}`,
              );
          });
        },
      );
      sent.on("error", (error: NodeJS.ErrnoException) => {
        // The other end has closed a connection that was kept alive: it has not read the request.
        if (sent.reusedSocket && error.code === "ECONNRESET" && !signal.aborted) {
          resolve(this.#send({ url, address, serverName }, caBundle, body, signal));
        } else reject(error);
      });
      sent.end(body);
    });
  }
}

/** Returns the URL of a webhook, with its timeout as a parameter. Ports stay as written. */
function urlOf({ url, service }: WebhookClientConfig, timeoutSeconds: number): string {
  const port = service?.port ?? 443;
  const base = service
    ? `https://${service.name}.${service.namespace}.svc:${port}/${(service.path ?? "").replace(/^\//, "")}`
    : (url ?? "");
  return `${base}?timeout=${timeoutSeconds}s`;
}
