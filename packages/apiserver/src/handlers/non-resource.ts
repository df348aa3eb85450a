import { type ApiRequest, type ApiResponse, type Clock, HealthMetrics } from "@dray/client";
import { openIdResponse } from "../authentication/openid.ts";
import type { ServiceAccountTokens } from "../authentication/service-account.ts";
import type { Discovery } from "../discovery/documents.ts";
import { discoveryResponse } from "../discovery/handler.ts";
import { OpenAPI } from "../discovery/openapi.ts";
import { StatusPage } from "../discovery/status-page.ts";
import { Swagger } from "../discovery/swagger.ts";
import { versionInfo } from "../discovery/version.ts";
import { methodNotAllowed, notServed } from "../errors/status.ts";
import { bodyResponse, noPage, textResponse } from "../http/response.ts";
import { type HealthCheck, healthResponse, observeAll } from "../observe/health.ts";
import { checkProduced } from "../request/accept.ts";
import type { RequestInfo } from "../request/info.ts";

export interface NonResourceParts {
  readonly discovery: Discovery;
  /** `1.36` */
  readonly release: string;
  readonly clock: Clock;
  readonly health: readonly HealthCheck[];
  readonly tokens: ServiceAccountTokens;
  /** Metrics in the text format of Prometheus. */
  readonly metrics: () => string;
  /** Returns the page of API Priority and Fairness at a path below `/debug`; undefined for another path. */
  readonly dump: (path: string, query: URLSearchParams) => string | undefined;
  /** Address at which clients reach the server: `host:port`. */
  readonly address: string;
  /** URL of the keys of tokens, if they are not on this server. */
  readonly jwksUri?: string | undefined;
}

const metricsType = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";
/**
 * Services that handle all paths below their own: unknown paths there are Status errors; elsewhere they are
 * plain 404 pages.
 */
const services = ["/version/", "/openid/v1/jwks/", "/.well-known/openid-configuration/"];

/** Handles non-resource paths: discovery, OpenAPI, health, metrics. */
export class NonResourcePaths {
  readonly #parts: NonResourceParts;
  readonly #openAPI: OpenAPI;
  readonly #swagger: Swagger;
  readonly #statusPage: StatusPage;
  readonly #slis = new HealthMetrics();

  constructor(parts: NonResourceParts) {
    this.#parts = parts;
    this.#openAPI = new OpenAPI(parts.discovery, parts.release, parts.clock);
    this.#swagger = new Swagger(this.#openAPI);
    this.#statusPage = new StatusPage(parts.release, parts.clock);
  }

  /** Returns the response to a non-resource request. Throws StatusError. */
  async response(request: ApiRequest, info: RequestInfo): Promise<ApiResponse> {
    const { health, discovery, tokens, address, jwksUri } = this.#parts;
    const healthy = healthResponse(info.path, info.query, health);
    if (healthy) return healthy;
    const fixed = this.#fixed(request, info.path);
    if (fixed) return fixed;
    const dumped = this.#parts.dump(info.path, info.query);
    if (dumped !== undefined) return textResponse(200, dumped);
    const discovered = discoveryResponse(request, info.path, discovery, address);
    if (discovered) return discovered;
    const openAPI =
      (await this.#swagger.response(request, info.path)) ??
      (await this.#openAPI.response(request, info.path));
    if (openAPI) return openAPI;
    const { signer, issuer } = tokens;
    const openId = openIdResponse(request, info.path, { signer, issuer, address, jwksUri });
    if (openId) return openId;
    if (services.some((service) => info.path.startsWith(service))) throw notServed();
    return noPage();
  }

  #fixed(request: ApiRequest, path: string): ApiResponse | undefined {
    switch (path) {
      case "/":
      case "/index.html":
        return rawJSON({ paths: this.#paths() });
      case "/metrics":
        return metrics(this.#parts.metrics());
      case "/metrics/slis":
        observeAll(this.#parts.health, this.#slis);
        return metrics(this.#slis.text());
      case "/statusz":
        return this.#statusPage.response(request);
    }
    if (path.replace(/\/+$/, "") !== "/version") return undefined;
    if (request.method !== "GET") throw methodNotAllowed();
    checkProduced(request, ["application/json"]);
    return rawJSON(versionInfo(this.#parts.release));
  }

  #paths(): string[] {
    const { discovery, health } = this.#parts;
    const checks = ["healthz", "livez", "readyz"].flatMap((root) => [
      `/${root}`,
      ...health
        .filter(({ readiness }) => readiness !== true || root === "readyz")
        .map(({ name }) => `/${root}/${name}`),
    ]);
    return [
      ...discovery.paths,
      ...checks,
      "/.well-known/openid-configuration",
      "/apis",
      "/apis/",
      "/metrics",
      "/metrics/slis",
      "/openapi/v2",
      "/openapi/v3",
      "/openapi/v3/",
      "/openid/v1/jwks",
      "/statusz",
      "/version",
    ].sort();
  }
}

/** Indented JSON, whatever the client accepts. */
function rawJSON(object: object): ApiResponse {
  const headers = { "cache-control": "no-cache, private", "content-type": "application/json" };
  return bodyResponse(200, headers, () => JSON.stringify(object, undefined, 2), object);
}

function metrics(text: string): ApiResponse {
  const headers = { "cache-control": "no-cache, private", "content-type": metricsType };
  return bodyResponse(200, headers, () => text);
}
