import { type KubeObject, StatusError } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { ApiResponse } from "@dray/client";
import { dial, kubeletAddress } from "../kubelet.ts";
import { queryBoolean } from "../request/info.ts";
import { portsOption } from "../request/values.ts";
import { forbidden } from "../response.ts";
import { chosenContainer, nodeOf } from "./container.ts";
import type { Context } from "./context.ts";
import { writeOf } from "./write.ts";

/** The kind of the options of a connection, as admission and discovery name it (PodExecOptions, ...). */
const optionKinds: Readonly<Record<string, string>> = {
  "pods/attach": "PodAttachOptions",
  "pods/exec": "PodExecOptions",
  "pods/portforward": "PodPortForwardOptions",
  "pods/proxy": "PodProxyOptions",
  "services/proxy": "ServiceProxyOptions",
  "nodes/proxy": "NodeProxyOptions",
};

/** Asks admission about a connection to what a subresource stands for. Throws 400 for a dry run: there is none. */
export async function admitConnection(context: Context, options: object): Promise<void> {
  const { info, served, registry } = context;
  if (info.query.has("dryRun")) throw StatusError.of("BadRequest", "dryRun is not supported");
  const kind = optionKinds[`${served.resource}/${info.subresource}`]!;
  const object = { kind, apiVersion: "v1", ...options } as unknown as KubeObject;
  const write = writeOf(context, {
    dryRun: false,
    fieldManager: "",
    fieldValidation: "Ignore",
    force: false,
  });
  await registry.admit(write, "CONNECT", object, { group: "", version: "v1", kind });
}

/** GET and POST on `pods/attach`, `exec` and `portforward`: a stream from the kubelet of the pod's node. */
export async function streamFromPod(context: Context): Promise<ApiResponse> {
  const { info, served, registry } = context;
  const ofContainer = info.subresource !== "portforward";
  const container = info.query.get("container") ?? "";
  await admitConnection(context, ofContainer ? streamOptions(context) : { ports: ports(context) });
  checkMayCreate(context);
  const pod = registry.need(served, info.namespace, info.name).object as Pod;
  if (ofContainer) chosenContainer(pod, container);
  const nodeName = pod.spec?.nodeName ?? "";
  if (nodeName === "") {
    throw StatusError.of("BadRequest", `pod ${info.name} does not have a host assigned`);
  }
  const { host, port } = kubeletAddress(nodeOf(context, nodeName));
  const { headers } = context.request;
  if (headers["upgrade"] === undefined) throw StatusError.of("BadRequest", "Upgrade request required");
  await dial(host, port);
  throw StatusError.of("ServiceUnavailable", "this API server does not pass streams on to kubelets");
}

function ports({ info }: Context): number[] {
  return portsOption(info.query, "ports");
}

function streamOptions({ info }: Context): object {
  const { query } = info;
  const flags = ["stdin", "stdout", "stderr", "tty"].filter((name) => queryBoolean(query, name));
  const container = query.get("container");
  return {
    ...Object.fromEntries(flags.map((name) => [name, true])),
    ...(container ? { container } : {}),
    ...(info.subresource === "exec" ? { command: query.getAll("command") } : {}),
  };
}

/** To be in a container is to change it: who may only `get` may not connect (since 1.35). */
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
