import { type FieldError, invalid, StatusError } from "@dray/api";
import type { Node, Pod } from "@dray/api/core/v1";
import type { ApiResponse } from "@dray/client";
import { containerLogs } from "../kubelet.ts";
import { integerOption } from "../request/options.ts";
import { bodyResponse } from "../response.ts";
import { objectKey } from "../storage/keys.ts";
import type { Context } from "./context.ts";

/** Options of the query that the kubelet understands; the container is part of its path. */
const passed = [
  "follow",
  "previous",
  "sinceSeconds",
  "sinceTime",
  "timestamps",
  "tailLines",
  "limitBytes",
  "stream",
];

/** GET on `pods/log`: bytes from the kubelet of the pod's node. */
export async function podLog(context: Context): Promise<ApiResponse> {
  const { info, served, registry, kubelet } = context;
  checkNumbers(info);
  const pod = registry.need(served, info.namespace, info.name).object as Pod;
  const container = chosenContainer(pod, info.query.get("container") ?? "");
  const nodeName = pod.spec?.nodeName ?? "";
  // Nothing has run yet: there is no log, and that is no error.
  if (nodeName === "") return bodyResponse(204, {}, () => "");
  const node = registry.storage.cache("nodes").get(objectKey("nodes", "", nodeName))?.object as
    | Node
    | undefined;
  if (node === undefined)
    throw StatusError.of("NotFound", `nodes ${JSON.stringify(nodeName)} not found`, {
      name: nodeName,
      kind: "nodes",
    });
  if (kubelet === undefined) {
    throw StatusError.of(
      "ServiceUnavailable",
      "this API server has no client certificate for kubelets: logs cannot be read",
    );
  }
  const query = new URLSearchParams();
  for (const name of passed) {
    const value = info.query.get(name);
    if (value !== null && value !== "") query.set(name, value);
  }
  return containerLogs(
    kubelet,
    node,
    `${info.namespace}/${info.name}/${container}`,
    query,
    context.request.signal,
  );
}

/** Throws 400 for what is no number, 422 for one that makes no sense. */
function checkNumbers({ query, name }: Context["info"]): void {
  const errors: FieldError[] = [];
  const check = (path: string, low: number): void => {
    const value = integerOption(query, path);
    if (value === undefined || value >= low) return;
    errors.push({
      type: "Invalid",
      path,
      value: String(value),
      detail: low === 0 ? "must be greater than or equal to 0" : "must be greater than 0",
    });
  };
  check("tailLines", 0);
  check("limitBytes", 1);
  check("sinceSeconds", 1);
  if (errors.length > 0) throw invalid({ group: "", kind: "PodLogOptions" }, name, errors);
}

/** The container named, or the only one. Throws 400. */
function chosenContainer(pod: Pod, wanted: string): string {
  const { name } = pod.metadata;
  const { containers = [], initContainers = [], ephemeralContainers = [] } = pod.spec ?? {};
  const names = [...containers, ...initContainers, ...ephemeralContainers].map((container) => container.name);
  if (wanted === "") {
    if (containers.length === 1) return containers[0]!.name;
    const annotated = pod.metadata.annotations?.["kubectl.kubernetes.io/default-container"];
    if (annotated && names.includes(annotated)) return annotated;
    const list = `[${containers.map((container) => container.name).join(" ")}]`;
    const inits =
      initContainers.length === 0
        ? ""
        : ` or one of the init containers: [${initContainers.map((container) => container.name).join(" ")}]`;
    throw StatusError.of(
      "BadRequest",
      `a container name must be specified for pod ${name}, choose one of: ${list}${inits}`,
    );
  }
  if (!names.includes(wanted))
    throw StatusError.of("BadRequest", `container ${wanted} is not valid for pod ${name}`);
  return wanted;
}
