import { type KubeObject, StatusError } from "@dray/api";
import type { Node, Pod } from "@dray/api/core/v1";
import type { ApiResponse } from "@dray/client";
import { forbidden } from "../errors/status.ts";
import { kubeletAddress, type Target } from "../proxy/kubelet.ts";
import { queryBoolean } from "../request/info.ts";
import { portsOption } from "../request/values.ts";
import { isUpgrade, isWebSocket, subprotocols } from "../upgrade/request.ts";
import { findContainer, nodeOf } from "./container.ts";
import type { Context } from "./context.ts";
import { writeOf } from "./write.ts";

/** The kind of the options of a connection in admission and discovery (PodExecOptions, ...). */
const optionKinds: Readonly<Record<string, string>> = {
  "pods/attach": "PodAttachOptions",
  "pods/exec": "PodExecOptions",
  "pods/portforward": "PodPortForwardOptions",
  "pods/proxy": "PodProxyOptions",
  "services/proxy": "ServiceProxyOptions",
  "nodes/proxy": "NodeProxyOptions",
};

/**
 * Calls admission for a connection to a subresource. Throws 400 for a dry run, which connections do not have.
 */
export async function admitConnection(context: Context, options: object): Promise<void> {
  const { info, served, registry } = context;
  if (info.query.has("dryRun")) throw StatusError.of("BadRequest", "dryRun is not supported");
  const kind = optionKinds[`${served.resource}/${info.subresource}`]!;
  const object = { kind, apiVersion: "v1", ...options } as KubeObject;
  const write = writeOf(context, {
    dryRun: false,
    fieldManager: "",
    fieldValidation: "Ignore",
    force: false,
  });
  await registry.admit(write, {
    operation: "CONNECT",
    object,
    kind: { group: "", version: "v1", kind },
  });
}

/**
 * Feature of nodes whose kubelet accepts WebSockets of every protocol (KEP-4006): nothing is translated for
 * them.
 */
const kubeletTakesWebSockets = "ExtendWebSocketsToKubelet";

/**
 * Handles GET and POST on `pods/attach`, `exec` and `portforward`: a stream from the kubelet of the pod's
 * node.
 */
export async function streamFromPod(context: Context): Promise<ApiResponse> {
  const { info, served, registry, request } = context;
  const ofContainer = info.subresource !== "portforward";
  const options: StreamOptions = ofContainer ? streamOptions(context) : { ports: ports(context) };
  await admitConnection(context, options);
  checkMayCreate(context);
  const pod = registry.need(served, info.namespace, info.name).object as Pod;
  const container = ofContainer ? findContainer(pod, info.query.get("container") ?? "") : "";
  const nodeName = pod.spec?.nodeName ?? "";
  if (nodeName === "") {
    throw StatusError.of("BadRequest", `pod ${info.name} does not have a host assigned`);
  }
  const node = nodeOf(context, nodeName);
  const target = kubeletTarget(context, node);
  const path = kubeletPath(context, container, options);
  if (isWebSocket(request) && node.status?.declaredFeatures?.includes(kubeletTakesWebSockets) !== true) {
    const offered = subprotocols(request);
    if (ofContainer) {
      const { translated, translatedProtocol } = await import("../upgrade/translate.ts");
      const { stdin = false, stdout = false, stderr = false, tty = false } = options;
      const commandOptions = { stdin, stdout, stderr, tty };
      if (offered.includes(translatedProtocol))
        return translated({ target, path }, request, commandOptions, context);
    } else {
      const { tunnelled, tunnelledProtocols } = await import("../upgrade/tunnel.ts");
      if (tunnelledProtocols(request).length > 0) return tunnelled(target, request, path, context.clock);
    }
  }
  if (!isUpgrade(request)) throw StatusError.of("BadRequest", "Upgrade request required");
  const { upgradeThrough } = await import("../upgrade/through.ts");
  return upgradeThrough(target, request, path, context.clock);
}

function kubeletTarget({ kubelet }: Context, node: Node): Target {
  const { host, port } = kubeletAddress(kubelet, node);
  return { scheme: "https", host, port: String(port), client: kubelet };
}

/** Returns the path on the kubelet, which has its own names of the options. */
function kubeletPath({ info }: Context, container: string, options: StreamOptions): string {
  const { command = [], ports = [] } = options;
  const query = new URLSearchParams(command.map((word): [string, string] => ["command", word]));
  for (const [name, parameter] of Object.entries(kubeletParameters)) {
    if (options[name as keyof typeof kubeletParameters]) query.append(parameter, "1");
  }
  if (ports.length > 0) query.append("port", ports.join(","));
  const kind = info.subresource === "portforward" ? "portForward" : info.subresource;
  const parts = [kind, info.namespace, info.name, ...(container === "" ? [] : [container])];
  return `/${parts.map(encodeURIComponent).join("/")}${query.size > 0 ? `?${query}` : ""}`;
}

const kubeletParameters = { stderr: "error", stdin: "input", stdout: "output", tty: "tty" } as const;

/** PodExecOptions, PodAttachOptions and PodPortForwardOptions combined. */
interface StreamOptions extends Partial<Record<keyof typeof kubeletParameters, true>> {
  readonly container?: string;
  readonly command?: readonly string[];
  readonly ports?: readonly number[];
}

function ports({ info }: Context): number[] {
  return portsOption(info.query, "ports");
}

function streamOptions({ info }: Context): StreamOptions {
  const { query } = info;
  const flags = ["stdin", "stdout", "stderr", "tty"].filter((name) => queryBoolean(query, name));
  const container = query.get("container");
  return {
    ...Object.fromEntries(flags.map((name) => [name, true])),
    ...(container ? { container } : {}),
    ...(info.subresource === "exec" ? { command: query.getAll("command") } : {}),
  };
}

/** A connection to a container can change it: the right to `get` is not enough (since 1.35). */
function checkMayCreate(context: Context): void {
  const { info, served, user } = context;
  if (info.verb === "create") return;
  const { allowed, reason } = context.authorize({
    user,
    verb: "create",
    isResource: true,
    group: info.group,
    version: info.version,
    resource: info.resource,
    subresource: info.subresource,
    namespace: info.namespace,
    name: info.name,
    path: info.path,
  });
  if (!allowed) throw forbidden({ group: served.group, resource: served.resource }, info.name, reason);
}
