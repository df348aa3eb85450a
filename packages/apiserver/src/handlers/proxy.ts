import { isIP } from "node:net";
import { quoted, StatusError } from "@dray/api";
import type { Endpoints, Pod, Service } from "@dray/api/core/v1";
import { isLoopback as isLoopbackAddress, parseAddress, unmapped } from "@dray/api/ip";
import type { ApiResponse } from "@dray/client";
import { forward, kubeletAddress, type Target } from "../kubelet.ts";
import { bodyResponse, notFound } from "../response.ts";
import { objectKey } from "../storage/keys.ts";
import { isUpgrade } from "../upgrade/request.ts";
import { admitConnection } from "./connect.ts";
import { nodeOf } from "./container.ts";
import type { Context } from "./context.ts";

/** All methods on `proxy` of pods, services and nodes: the request goes on to what stands behind the name. */
export async function proxy(context: Context, rest: readonly string[]): Promise<ApiResponse> {
  const { info, served, request } = context;
  const path = info.path.endsWith("/proxy") ? "" : `/${rest.join("/")}`;
  await admitConnection(context, path === "" ? {} : { path });
  const target = await targets[served.resource]!(context, reference(context));
  const mark = request.url.indexOf("?");
  const query = mark < 0 ? "" : request.url.slice(mark);
  if (isUpgrade(request)) {
    // As upstream: a connection that is upgraded goes to the path alone, without the query.
    const { upgradeThrough } = await import("../upgrade/through.ts");
    return upgradeThrough(target, request, encodeURI(path) || "/", context.clock);
  }
  if (path === "" && (request.method === "GET" || request.method === "HEAD")) {
    return bodyResponse(301, { location: `${info.path}/${query}` }, () => "");
  }
  const slash = info.path.endsWith("/") && !path.endsWith("/") ? "/" : "";
  return forward(target, request, `${encodeURI(path)}${slash}${query}`);
}

interface Reference {
  readonly scheme: string;
  readonly name: string;
  readonly port: string;
}

/** `name`, `name:port` or `scheme:name:port`. Throws 400. */
function reference({ info, served }: Context): Reference {
  const parts = info.name.split(":");
  const [scheme, name, port] =
    parts.length === 3 ? parts : ["", parts[0], parts.length === 2 ? parts[1] : ""];
  if (parts.length > 3 || !name || !["", "http", "https"].includes(scheme!)) {
    const what = served.resource.slice(0, -1);
    throw StatusError.of("BadRequest", `invalid ${what} request ${quoted(info.name)}`);
  }
  return { scheme: scheme!, name, port: port! };
}

const targets: Readonly<
  Record<string, (context: Context, reference: Reference) => Target | Promise<Target>>
> = {
  pods(context, { scheme, name, port }) {
    const { info, served, registry } = context;
    const pod = registry.need(served, info.namespace, name).object as Pod;
    const first = pod.spec?.containers.find(({ ports }) => ports?.length)?.ports?.[0]?.containerPort;
    const host = pod.status?.podIPs?.[0]?.ip ?? pod.status?.podIP ?? "";
    checkReachable(host);
    return { scheme, host, port: port || (first === undefined ? "" : String(first)) };
  },
  services: serviceTarget,
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

function serviceTarget(context: Context, { scheme, name, port }: Reference): Target {
  const { info, served, registry } = context;
  const unavailable = (why: string): StatusError => StatusError.of("ServiceUnavailable", why);
  let portName = port;
  if (/^[+-]?\d+$/.test(port)) {
    const service = registry.need(served, info.namespace, name).object as Service;
    const found = service.spec?.ports?.find((each) => each.port === Number(port));
    if (found === undefined) {
      throw unavailable(`no service port ${Number(port)} found for service ${quoted(name)}`);
    }
    portName = found.name ?? "";
  }
  const endpoints = registry.storage.cache("endpoints").get(objectKey("endpoints", info.namespace, name))
    ?.object as Endpoints | undefined;
  if (endpoints === undefined) throw notFound({ group: "", resource: served.resource }, name);
  if (!endpoints.subsets?.length) {
    throw unavailable(`no endpoints available for service ${quoted(name)}`);
  }
  const behind = endpoints.subsets.flatMap(({ addresses = [], ports = [] }) => {
    const chosen = ports.find((each) => (each.name ?? "") === portName);
    const pods = addresses.filter(({ targetRef }) => targetRef?.kind === "Pod");
    return chosen === undefined ? [] : pods.map(({ ip }) => ({ host: ip, port: String(chosen.port) }));
  });
  const one = behind[Math.floor(Math.random() * behind.length)];
  if (one === undefined) throw unavailable(`no endpoints available for service ${quoted(info.name)}`);
  return { scheme, ...one };
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

/** Refuses addresses of this machine, and invalid ones. Throws 400. */
function checkReachable(host: string): void {
  const local =
    /^(0\.0\.0\.0$|127\.|169\.254\.|2(2[4-9]|3\d)\.|255\.255\.255\.255$)|^(::|::1|fe80:.*|ff.*)$/i;
  if (isIP(host) === 0 || local.test(host)) throw StatusError.of("BadRequest", "address not allowed");
}
