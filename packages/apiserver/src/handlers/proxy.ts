import { isIP } from "node:net";
import { posix } from "node:path";
import { quoted, StatusError } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { isLoopback as isLoopbackAddress, parseAddress, unmapped } from "@dray/api/ip";
import type { ApiResponse } from "@dray/client";
import { bodyResponse } from "../http/response.ts";
import { kubeletAddress, type Target } from "../proxy/kubelet.ts";
import { isLoopbackIPv4, type LoopbackPods, podAddress } from "../proxy/loopback-pods.ts";
import { serviceEndpoint } from "../proxy/service-endpoint.ts";
import { isUpgrade } from "../upgrade/request.ts";
import { admitConnection } from "./connect.ts";
import { nodeOf } from "./container.ts";
import type { Context } from "./context.ts";

/**
 * Handles all methods on `proxy` of pods, services and nodes: passes the request on to the named object.
 *
 * Upstream: k8s.io/apimachinery, pkg/util/proxy/upgradeaware.go, ServeHTTP
 */
export async function proxy(context: Context, rest: readonly string[]): Promise<ApiResponse> {
  const { info, served, request } = context;
  const proxyPath = subpath(info.path, rest);
  await admitConnection(context, proxyPath === "" ? {} : { path: proxyPath });
  const target = await targets[served.resource]!(context, reference(context));
  const path = proxyPath === "" ? "" : posix.normalize(proxyPath);
  if (isUpgrade(request)) {
    // As upstream: an upgraded connection gets the path alone, without the query.
    const { upgradeThrough } = await import("../upgrade/through.ts");
    return upgradeThrough(target, request, encodeURI(path) || "/", context.clock);
  }
  const mark = request.url.indexOf("?");
  const query = mark < 0 ? "" : request.url.slice(mark);
  if (path === "" && (request.method === "GET" || request.method === "HEAD")) {
    return bodyResponse(301, { location: `${info.path}/${query}` }, () => "");
  }
  const prefix = info.path.endsWith(path) ? info.path.slice(0, info.path.length - path.length) : info.path;
  const { forward } = await import("../proxy/forward.ts");
  return forward(target, request, { path, query, prefix });
}

/**
 * Returns the part of a path after `proxy`, beginning with a slash; empty if the path ends there.
 *
 * Upstream: k8s.io/apiserver, pkg/endpoints/handlers/get.go, getRequestOptions
 */
function subpath(path: string, rest: readonly string[]): string {
  const joined = rest.join("/");
  const absolute = joined === "" || joined.startsWith("/") ? joined : `/${joined}`;
  return path.endsWith("/") && !absolute.endsWith("/") ? `${absolute}/` : absolute;
}

interface Reference {
  readonly scheme: string;
  readonly name: string;
  readonly port: string;
}

/** `name`, `name:port` or `scheme:name:port`. Throws 400. */
function reference({ info, served }: Context): Reference {
  const parts = info.name.split(":");
  const [scheme = "", name, port = ""] = parts.length < 3 ? ["", ...parts] : parts;
  if (parts.length > 3 || !name || !["", "http", "https"].includes(scheme)) {
    const what = served.resource.slice(0, -1);
    throw StatusError.of("BadRequest", `invalid ${what} request ${quoted(info.name)}`);
  }
  return { scheme, name, port };
}

const targets: Readonly<
  Record<string, (context: Context, reference: Reference) => Target | Promise<Target>>
> = {
  pods(context, { scheme, name, port }) {
    const { info, served, registry } = context;
    const pod = registry.need(served, info.namespace, name).object as Pod;
    const first = pod.spec?.containers.find(({ ports }) => ports?.length)?.ports?.[0]?.containerPort;
    const host = pod.status?.podIPs?.[0]?.ip ?? pod.status?.podIP ?? "";
    const { loopbackPods } = context;
    if (loopbackPods === undefined || !isLoopbackIPv4(host)) checkReachable(host);
    const target = { scheme, host, port: port || (first === undefined ? "" : String(first)) };
    return servedPort(target, loopbackPods);
  },
  services(context, { scheme, name, port }) {
    return servedPort({ scheme, ...serviceEndpoint(context, name, port) }, context.loopbackPods);
  },
  async nodes(context, { scheme, name, port }) {
    const client = context.kubelet;
    const kubelet = kubeletAddress(client, nodeOf(context, name));
    const toKubelet = port === "" || port === String(kubelet.port);
    if (!(toKubelet && client.onLoopback === true && isLoopback(kubelet.host)))
      for (const address of await addressesOf(kubelet.host)) checkReachable(address);
    if (toKubelet) {
      return { scheme: "https", host: kubelet.host, port: String(kubelet.port), client };
    }
    return { scheme, host: kubelet.host, port };
  },
};

/** Replaces the port by the one at which a pod on this machine serves it. */
function servedPort(target: Target, loopbackPods: LoopbackPods | undefined): Target {
  const port = Number(target.port || (target.scheme === "https" ? 443 : 80));
  if (!Number.isInteger(port)) return target;
  return { ...target, port: String(podAddress({ host: target.host, port }, loopbackPods).port) };
}

/**
 * Resolves the name of a node. Throws 400 if it has no address.
 *
 * Upstream: pkg/registry/core/node/strategy.go, isProxyableHostname
 */
async function addressesOf(host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  const { lookup } = await import("node:dns/promises");
  const found = await lookup(host, { all: true }).catch(() => []);
  if (found.length === 0) throw StatusError.of("BadRequest", `lookup ${host}: no such host`);
  return found.map(({ address }) => address);
}

function isLoopback(host: string): boolean {
  const address = parseAddress(host);
  return typeof address !== "string" && isLoopbackAddress(unmapped(address));
}

/** Rejects addresses of this machine, and invalid ones. Throws 400. */
function checkReachable(host: string): void {
  const local =
    /^(0\.0\.0\.0$|127\.|169\.254\.|2(2[4-9]|3\d)\.|255\.255\.255\.255$)|^(::|::1|fe80:.*|ff.*)$/i;
  if (isIP(host) === 0 || local.test(host)) throw StatusError.of("BadRequest", "address not allowed");
}
