import { createHash } from "node:crypto";
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { isIP, type Socket } from "node:net";
import { connect as tlsConnect } from "node:tls";
import type { ImageCredentials, PullOptions } from "../../../images.ts";
import { isLoopback, type RegistryHost, type RegistryHostsOptions } from "../hosts.ts";
import {
  type Descriptor,
  dockerList,
  dockerManifest,
  ManifestError,
  maxDocumentBytes,
  ociIndex,
  ociManifest,
} from "../manifest.ts";
import { formatReference, type Reference } from "../reference.ts";
import type { ContentStore, Lease } from "../store.ts";
import { type BasicCredentials, parseChallenge, readCredentials, tokenOf } from "./credentials.ts";
import { RegistryError } from "./error.ts";
import { errorText, headerText, rangeStart, readAll } from "./response.ts";

export interface RegistryOptions extends RegistryHostsOptions {
  /** Milliseconds without a byte after which a connection is closed; one minute by default. */
  readonly stallTimeout?: number;
  /**
   * Delay in milliseconds before an interrupted download is resumed, doubled each time; one second by
   * default.
   */
  readonly retryDelay?: number;
  /** Maximum size in bytes of one blob; 64 GiB by default. */
  readonly maxBlobBytes?: number;
}

const maxRedirects = 10;

/** Maximum number of attempts to resume a download without progress. */
const maxTries = 4;

/**
 * Maximum number of blobs of an image that are fetched concurrently. Upstream: containerd,
 * max_concurrent_downloads.
 */
const maxDownloads = 3;

const maxErrorBytes = 16 << 10;

const accept = [ociIndex, ociManifest, dockerList, dockerManifest].join(", ");

export interface RegistryAccess extends PullOptions {
  readonly credentials: ImageCredentials | undefined;
  readonly options: RegistryOptions;
}

export interface SessionOptions extends RegistryAccess {
  readonly reference: Reference;
  readonly host: RegistryHost;
}

/** Talks to one host of the registry of one reference, with one set of credentials. */
export class Session {
  readonly host: RegistryHost;
  readonly #reference: Reference;
  readonly #credentials: BasicCredentials | undefined;
  readonly #options: RegistryOptions;
  readonly #signal: AbortSignal | undefined;
  readonly #nodeNetwork: PullOptions["nodeNetwork"];
  readonly #base: URL;
  /** Value of the header, once the registry has requested one. */
  #authorization: string | undefined;

  constructor({ reference, host, credentials, options, signal, nodeNetwork }: SessionOptions) {
    this.host = host;
    this.#reference = reference;
    this.#credentials = credentials === undefined || host.isMirror ? undefined : readCredentials(credentials);
    this.#options = options;
    this.#signal = signal;
    this.#nodeNetwork = nodeNetwork;
    this.#base = new URL(`${reference.path}/`, host.root);
    if (this.#credentials?.registryToken !== undefined)
      this.#authorization = `Bearer ${this.#credentials.registryToken}`;
  }

  /** Fetches a manifest by tag or digest into the store. Returns its digest. */
  async manifest(store: ContentStore, lease: Lease, tagOrDigest: string): Promise<string> {
    const isDigest = tagOrDigest.startsWith("sha256:");
    if (isDigest && store.hold(lease, tagOrDigest)) return tagOrDigest;
    const response = await this.#get(`manifests/${tagOrDigest}`, { accept });
    const body = await readAll(response, maxDocumentBytes, `manifest ${tagOrDigest}`);
    const digest = `sha256:${createHash("sha256").update(body).digest("hex")}`;
    const announced = isDigest ? tagOrDigest : headerText(response, "docker-content-digest");
    if (announced?.startsWith("sha256:") && announced !== digest)
      throw new RegistryError(
        `${this.#name}: the manifest ${announced} came with other content, of digest ${digest}`,
        response.statusCode,
      );
    await store.addDocument(lease, body.toString("utf8"));
    if (!store.hold(lease, digest)) throw new ManifestError(`manifest ${tagOrDigest} is not UTF-8 text`);
    return digest;
  }

  async blobs(store: ContentStore, lease: Lease, blobs: readonly Descriptor[]): Promise<void> {
    const left = [...new Map(blobs.map((blob) => [blob.digest, blob])).values()];
    const limit = this.#options.maxBlobBytes ?? 64 * 2 ** 30;
    for (const { digest, size } of left)
      if (size > limit)
        throw new ManifestError(`blob ${digest} has ${size} bytes; at most ${limit} are fetched`);
    const work = async (): Promise<void> => {
      for (let blob = left.shift(); blob !== undefined; blob = left.shift())
        await this.#blob(store, lease, blob).catch((error) => {
          left.length = 0;
          throw error;
        });
    };
    const results = await Promise.allSettled(Array.from({ length: maxDownloads }, work));
    const failed = results.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  /** Resumes interrupted downloads. */
  async #blob(store: ContentStore, lease: Lease, { digest, size }: Descriptor): Promise<void> {
    let maxReached = -1;
    for (let tries = 0; ; ) {
      let reached = 0;
      try {
        return await store.ingest(
          lease,
          { digest, size },
          async (offset) => {
            reached = offset;
            const response = await this.#get(
              `blobs/${digest}`,
              offset === 0 ? {} : { range: `bytes=${offset}-` },
            );
            const start = response.statusCode === 206 ? rangeStart(response) : 0;
            return {
              offset: start,
              chunks: this.#watched(response, (length) => {
                reached += length;
              }),
            };
          },
          this.#signal,
        );
      } catch (error) {
        this.#signal?.throwIfAborted();
        tries = reached > maxReached ? 0 : tries + 1;
        maxReached = Math.max(maxReached, reached);
        if (!isTransient(error) || tries > maxTries) throw error;
        const delay = (this.#options.retryDelay ?? 1000) * 2 ** tries;
        await new Promise((resolve) => setTimeout(resolve, delay));
      }
    }
  }

  async *#watched(response: IncomingMessage, passed: (length: number) => void): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of response) {
        passed((chunk as Buffer).length);
        yield chunk as Buffer;
      }
    } catch (error) {
      throw new RegistryError(
        `${this.#name}: the connection broke off: ${(error as Error).message}`,
        undefined,
        {
          cause: error,
        },
      );
    } finally {
      response.destroy();
    }
  }

  get #name(): string {
    return formatReference(this.#reference);
  }

  /** Resolves with a successful response; gets a token if the registry requests one. */
  async #get(path: string, headers: Readonly<Record<string, string>>): Promise<IncomingMessage> {
    const url = new URL(path, this.#base);
    if (this.host.isMirror) url.searchParams.set("ns", this.#reference.domain);
    let { response, at } = await this.#follow(url, headers);
    // Another host that was redirected to names no place for the credentials of the registry.
    if (response.statusCode === 401 && this.#isOwn(at)) {
      const challenge = headerText(response, "www-authenticate");
      // Nothing of the body is wanted, which may have no end.
      response.destroy();
      this.#authorization = await this.#authorize(challenge);
      ({ response, at } = await this.#follow(url, headers));
    }
    const status = response.statusCode ?? 0;
    if (status === 200 || (status === 206 && headers["range"] !== undefined)) return response;
    const detail = errorText(
      await readAll(response, maxErrorBytes, "the error").catch(() => Buffer.alloc(0)),
    );
    if (status === 404) throw new RegistryError(`${this.#name}: not found${detail}`, status);
    if (status === 401 || status === 403)
      throw new RegistryError(
        `pull access denied, repository does not exist or may require authorization: ${this.#name}: the registry answered ${status}${detail}`,
        status,
      );
    throw new RegistryError(
      `${this.#name}: unexpected status ${status} from GET ${withoutQuery(url)}${detail}`,
      status,
    );
  }

  /** Follows redirects. Credentials are not sent to other hosts. Resolves with the response and its place. */
  async #follow(
    url: URL,
    headers: Readonly<Record<string, string>>,
  ): Promise<{ response: IncomingMessage; at: URL }> {
    let at = url;
    for (let n = 0; n <= maxRedirects; n++) {
      const own = this.#isOwn(at) ? this.#ownHeaders : {};
      const response = await this.#send(at, { ...headers, ...own });
      const location = response.headers.location;
      if (![301, 302, 303, 307, 308].includes(response.statusCode ?? 0) || location === undefined)
        return { response, at };
      response.destroy();
      const next = URL.canParse(location, at.href) ? new URL(location, at) : undefined;
      if (next === undefined || !["http:", "https:"].includes(next.protocol))
        throw new RegistryError(
          `${this.#name}: redirected to ${JSON.stringify(location)}, which is no web address`,
          undefined,
        );
      if (at.protocol === "https:" && next.protocol === "http:")
        throw new RegistryError(`${this.#name}: redirected from https to ${withoutQuery(next)}`, undefined);
      next.username = "";
      next.password = "";
      at = next;
    }
    throw new RegistryError(`${this.#name}: more than ${maxRedirects} redirects`, undefined);
  }

  #isOwn(url: URL): boolean {
    return url.origin === this.#base.origin;
  }

  get #ownHeaders(): Readonly<Record<string, string>> {
    return {
      ...this.host.headers,
      ...(this.#authorization !== undefined && { authorization: this.#authorization }),
    };
  }

  async #send(url: URL, headers: Readonly<Record<string, string>>, form?: string): Promise<IncomingMessage> {
    const secure = url.protocol === "https:";
    const send = secure ? httpsRequest : httpRequest;
    // A loopback registry is never behind a proxy.
    const proxyEnv = isLoopback(url.host) ? {} : process.env;
    const agent = secure ? new HttpsAgent({ proxyEnv, ...this.host.tls }) : new HttpAgent({ proxyEnv });
    const inNode = await this.#connectInNode(url);
    return new Promise((resolve, reject) => {
      const request = send(url, {
        method: form === undefined ? "GET" : "POST",
        ...(inNode === undefined ? { agent } : { createConnection: () => inNode }),
        headers: {
          "user-agent": "dray",
          ...headers,
          ...(form === undefined ? {} : { "content-type": "application/x-www-form-urlencoded" }),
        },
        timeout: this.#options.stallTimeout ?? 60_000,
        ...(this.#signal === undefined ? {} : { signal: this.#signal }),
      });
      request.once("timeout", () => request.destroy(new Error("timed out")));
      request.once("error", (error) =>
        reject(
          new RegistryError(
            `${this.#name}: failed to do request: GET ${withoutQuery(url)}: ${message(error)}`,
            undefined,
            {
              cause: error,
            },
          ),
        ),
      );
      request.once("response", (response) => {
        // The error of a response without a reader is the request's.
        response.on("error", () => {});
        resolve(response);
      });
      request.end(form);
    });
  }

  /**
   * Connects with a loopback address of the node; undefined if nothing listens there, but maybe on the
   * machine.
   */
  async #connectInNode(url: URL): Promise<Socket | undefined> {
    if (this.#nodeNetwork === undefined || !isLoopback(url.host)) return undefined;
    const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
    const secure = url.protocol === "https:";
    try {
      const socket = await this.#nodeNetwork.connect(host, Number(url.port) || (secure ? 443 : 80));
      const servername = isIP(host) === 0 ? { servername: host } : {};
      return secure ? tlsConnect({ socket, ...servername, ...this.host.tls }) : socket;
    } catch {
      return undefined;
    }
  }

  /** Returns the header for a challenge (RFC 7235; distribution specification, token authentication). */
  async #authorize(challenge: string | undefined): Promise<string> {
    const basic = this.#credentials?.basic;
    const { scheme, parameters } = parseChallenge(challenge ?? "");
    if (scheme === "basic" && basic !== undefined) return `Basic ${basic}`;
    const realm = parameters.get("realm");
    if (scheme !== "bearer" || realm === undefined)
      throw new RegistryError(
        `pull access denied, repository does not exist or may require authorization: ${this.#name}: the registry wants ${scheme || "other"} authentication${scheme === "basic" ? ", and there are no credentials for it" : ""}`,
        401,
      );
    const url = URL.canParse(realm) ? new URL(realm) : undefined;
    if (url === undefined || (url.protocol !== "https:" && this.#base.protocol !== "http:"))
      throw new RegistryError(
        `${this.#name}: the registry wants a token from ${JSON.stringify(realm)}, which is not an https address`,
        401,
      );
    const scope = parameters.get("scope") ?? `repository:${this.#reference.path}:pull`;
    const service = parameters.get("service");
    const identity = this.#credentials?.identityToken;
    let response: IncomingMessage;
    if (identity !== undefined) {
      const form = new URLSearchParams({
        grant_type: "refresh_token",
        client_id: "dray",
        refresh_token: identity,
        scope,
        ...(service === undefined ? {} : { service }),
      });
      response = await this.#send(url, {}, form.toString());
    } else {
      url.searchParams.set("scope", scope);
      if (service !== undefined) url.searchParams.set("service", service);
      response = await this.#send(url, basic === undefined ? {} : { authorization: `Basic ${basic}` });
    }
    const body = await readAll(response, maxDocumentBytes, "the token");
    if (response.statusCode !== 200)
      throw new RegistryError(
        `pull access denied, repository does not exist or may require authorization: ${this.#name}: failed to fetch a token from ${withoutQuery(url)}: status ${response.statusCode}${errorText(body)}`,
        response.statusCode,
      );
    const token = tokenOf(body);
    if (token === undefined)
      throw new RegistryError(
        `${this.#name}: the answer of ${withoutQuery(url)} holds no token`,
        response.statusCode,
      );
    return `Bearer ${token}`;
  }
}

/** Queries of storage services contain signatures. */
function withoutQuery({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}

/** An error for several addresses of a host has no text of its own. */
function message(error: Error): string {
  if (error instanceof AggregateError) return error.errors.map((one: Error) => one.message).join("; ");
  return error.message;
}

/** Errors of the network, and temporary ones of a registry. */
function isTransient(error: unknown): boolean {
  if (error instanceof RegistryError)
    return error.status === undefined || error.status >= 500 || error.status === 429 || error.status === 408;
  return error instanceof Error && error.name === "ContentError" && / ended after /.test(error.message);
}
