import type { IncomingMessage } from "node:http";
import { Agent, request as httpsRequest } from "node:https";
import type { ConnectionOptions } from "node:tls";
import type { APIService, ServiceReference } from "@dray/api/apiregistration/v1";
import type { Certificate } from "../certificates/pki.ts";
import { failureText } from "../errors/go-errors.ts";
import { type Address, resolveService, type ServiceSources } from "../proxy/service-address.ts";

/** An APIService whose version another server serves: its back end is a Service. */
export type RemoteService = APIService & { readonly spec: { readonly service: ServiceReference } };

export function isRemoteService(service: APIService): service is RemoteService {
  return Boolean(service.spec?.service);
}

/** A request to a back end. */
export interface BackEndRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: Uint8Array | undefined;
  readonly signal: AbortSignal;
}

/** A complete response of a back end. */
export interface Document {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
}

/** Maximum size of a document, in bytes. */
const maxDocumentLength = 64 * 2 ** 20;

/** The connections to back ends; idle ones are kept alive. */
export class BackEnds {
  readonly #agent = new Agent({ keepAlive: true, scheduling: "lifo", timeout: 60_000 });
  readonly #services: ServiceSources;
  readonly #certificate: Certificate | undefined;

  /** `certificate`: the client certificate of this server as a front proxy. */
  constructor(services: ServiceSources, certificate: Certificate | undefined) {
    this.#services = services;
    this.#certificate = certificate;
  }

  /** Ends idle connections. */
  close(): void {
    this.#agent.destroy();
  }

  /** Returns the address of the Service of an APIService. Throws an Error with Kubernetes' message. */
  address({ spec }: RemoteService): Address {
    const { namespace = "", name = "", port = 443 } = spec.service;
    return resolveService({ namespace, name, port }, this.#services);
  }

  /** Options of node:tls. Upstream: remote_available_controller.go, BuildTransportConfig */
  tls({ spec }: RemoteService): ConnectionOptions {
    const { service, caBundle, insecureSkipTLSVerify } = spec;
    const own = this.#certificate;
    return {
      servername: `${service.name}.${service.namespace}.svc`,
      ...(own === undefined ? {} : { cert: own.certificate, key: own.key }),
      ...(insecureSkipTLSVerify ? { rejectUnauthorized: false } : {}),
      ...(caBundle ? { ca: Buffer.from(caBundle, "base64") } : {}),
    };
  }

  /**
   * Sends a request; resolves when the response begins. Rejects with Node's Error if there is no response.
   */
  send(service: RemoteService, { host, port }: Address, sent: BackEndRequest): Promise<IncomingMessage> {
    const { method, path, headers, body, signal } = sent;
    const options = { agent: this.#agent, host, port, method, path, signal, ...this.tls(service) };
    const sized = body === undefined ? headers : { ...headers, "content-length": String(body.length) };
    return new Promise((resolve, reject) => {
      const call = httpsRequest({ ...options, headers: sized as Record<string, string | string[]> });
      call.on("error", (error: NodeJS.ErrnoException) => {
        // The other end has closed a connection that was kept alive. It may or may not have read the request.
        if (call.reusedSocket && error.code === "ECONNRESET" && !signal.aborted && isSafe(method))
          resolve(this.send(service, { host, port }, sent));
        else reject(error);
      });
      call.once("response", (response) => {
        response.on("error", () => {});
        resolve(response);
      });
      call.end(body);
    });
  }

  /** Reads a whole document. Rejects with Go's error message if this fails. */
  async read(service: RemoteService, address: Address, sent: BackEndRequest): Promise<Document> {
    try {
      const response = await this.send(service, address, sent);
      const chunks: Buffer[] = [];
      let length = 0;
      for await (const chunk of response as AsyncIterable<Buffer>) {
        length += chunk.length;
        if (length > maxDocumentLength)
          throw new Error(`the answer has more than ${maxDocumentLength} bytes`);
        chunks.push(chunk);
      }
      return {
        status: response.statusCode ?? 0,
        headers: response.headers,
        text: Buffer.concat(chunks).toString(),
      };
    } catch (error) {
      const { servername = "" } = this.tls(service);
      const reason = sent.signal.aborted
        ? "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        : failureText(error as Error, servername);
      throw new Error(`Get "${urlOf(address, sent.path)}": ${reason}`);
    }
  }
}

/** Reports whether a request may be sent twice (RFC 9110, 9.2.1). */
const isSafe = (method: string): boolean => method === "GET" || method === "HEAD";

/** Returns `https://10.0.0.1:443/apis/...`, the URL of a document of a back end in messages. */
export function urlOf({ host, port }: Address, path: string): string {
  return `https://${host.includes(":") ? `[${host}]` : host}:${port}${path}`;
}
