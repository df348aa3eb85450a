import type { IncomingMessage } from "node:http";
import { encodeJSON, StatusError } from "@dray/api";
import { type ApiRequest, type ApiResponse, type Clock, type UserInfo, wireResponse } from "@dray/client";
import { failureText } from "../errors/go-errors.ts";
import { textResponse } from "../http/response.ts";
import type { Address } from "../proxy/service-address.ts";
import type { RequestInfo } from "../request/info.ts";
import { isUpgrade } from "../upgrade/request.ts";
import { type BackEnds, type RemoteService, urlOf } from "./back-end.ts";
import { isAvailable } from "./condition.ts";
import { forwardedHeaders, identityHeaders, passedResponseHeaders, withoutIdentity } from "./headers.ts";

/** Timeout in milliseconds for discovery of a version: clients query every back end for it. */
const discoveryTimeout = 5_000;

const unavailable = (): ApiResponse => textResponse(503, "service unavailable\n");

/** A request to a version of another server, after authentication and authorization. */
export interface ForwardedRequest {
  readonly service: RemoteService;
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly clock: Clock;
}

/**
 * Passes a request on to its back end, and returns the response; 503 if no back end is available. Never
 * rejects.
 *
 * Upstream: staging/src/k8s.io/kube-aggregator/pkg/apiserver/handler_proxy.go
 */
export async function proxyRequest(backEnds: BackEnds, forwarded: ForwardedRequest): Promise<ApiResponse> {
  const { service, request } = forwarded;
  if (!isAvailable(service)) return unavailable();
  let address: Address;
  try {
    address = backEnds.address(service);
  } catch {
    return unavailable();
  }
  try {
    if (isUpgrade(request)) return await upgraded(backEnds, forwarded, address);
    return await answered(backEnds, forwarded, address);
  } catch (error) {
    if (error instanceof StatusError) return textResponse(503, `${error.message}\n`);
    const { servername = "" } = backEnds.tls(service);
    return textResponse(503, `error trying to reach service: ${failureText(error as Error, servername)}\n`);
  }
}

async function upgraded(
  backEnds: BackEnds,
  { service, request, user, clock }: ForwardedRequest,
  { host, port }: Address,
): Promise<ApiResponse> {
  const { upgradeThrough } = await import("../upgrade/through.ts");
  const target = { scheme: "https", host, port: String(port), tls: backEnds.tls(service) };
  return upgradeThrough(target, inNameOf(request, user), request.url, clock);
}

/** Returns the request with the headers in which a front proxy names the user. */
function inNameOf(request: ApiRequest, user: UserInfo): ApiRequest {
  const { method, url, credential, signal } = request;
  const headers: Record<string, string> = {};
  const repeated: Record<string, readonly string[]> = {};
  const all = {
    ...withoutIdentity(request.headers),
    ...withoutIdentity((request.repeated ?? {}) as Record<string, string[]>),
    ...identityHeaders(user),
  };
  for (const [name, value] of Object.entries(all)) {
    const values = [value].flat();
    headers[name] = values[0] ?? "";
    if (values.length > 1) repeated[name] = values;
  }
  return { method, url, headers, repeated, credential, signal };
}

async function answered(
  backEnds: BackEnds,
  { service, request, info, user, clock }: ForwardedRequest,
  address: Address,
): Promise<ApiResponse> {
  const { method, url: path } = request;
  const body = bodyOf(request);
  const headers = {
    ...forwardedHeaders(request, user),
    ...(request.body === undefined || request.body instanceof Uint8Array || request.headers["content-type"]
      ? {}
      : { "content-type": "application/json" }),
    "x-forwarded-uri": path.split("?", 1)[0]!,
    "x-forwarded-host": new URL(urlOf(address, "/")).host,
    "x-forwarded-proto": "https",
  };
  const { signal, done } = limited(request, info, clock);
  const response = await backEnds.send(service, address, { method, path, headers, body, signal });
  response.once("close", done);
  const status = response.statusCode ?? 502;
  if (request.credential.type === "user") return inProcess(request, response, status);
  return {
    type: "bytes",
    status,
    headers: passedResponseHeaders(response.headersDistinct),
    chunks: response,
  };
}

function bodyOf({ body }: ApiRequest): Uint8Array | undefined {
  if (body === undefined) return undefined;
  if (body instanceof Uint8Array) return body.length === 0 ? undefined : body;
  return Buffer.from(encodeJSON(body));
}

/** In process, objects and events are handed over instead of bytes. */
function inProcess(request: ApiRequest, response: IncomingMessage, status: number): Promise<ApiResponse> {
  const headers = passedResponseHeaders(response.headersDistinct);
  const single = Object.entries(headers).map(([name, values]) => [name, values.join(", ")]);
  return wireResponse(request, {
    status,
    headers: Object.fromEntries(single) as Record<string, string>,
    body: response,
    cancel: () => response.destroy(),
  });
}

/** Returns the signal of a request to a back end, and a function to call when its response has ended. */
function limited(
  { signal }: ApiRequest,
  { isResource, path }: RequestInfo,
  clock: Clock,
): { readonly signal: AbortSignal; readonly done: () => void } {
  const isDiscovery = !isResource && path.replace(/^\/+|\/+$/g, "").split("/").length === 3;
  if (!isDiscovery) return { signal, done: () => {} };
  const late = new AbortController();
  const done = clock.after(discoveryTimeout, () => late.abort());
  return { signal: AbortSignal.any([signal, late.signal]), done };
}
