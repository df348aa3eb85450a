import { type FieldError, invalid } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import type { ApiResponse } from "@dray/client";
import { accepted } from "../encoding/accepted.ts";
import { resourceForms } from "../encoding/representation.ts";
import { bodyResponse } from "../http/response.ts";
import { containerLogs } from "../proxy/kubelet.ts";
import { queryBoolean } from "../request/info.ts";
import { integerOption, timeOption } from "../request/values.ts";
import { isWebSocket } from "../upgrade/request.ts";
import { findContainer, nodeOf } from "./container.ts";
import type { Context } from "./context.ts";

/** Handles GET on `pods/log`: bytes from the kubelet of the pod's node, over WebSocket on request. */
export async function podLog(context: Context): Promise<ApiResponse> {
  const { info, served, registry, kubelet } = context;
  // Upstream negotiates the encoding before it knows that it is not used.
  accepted(context, resourceForms);
  const query = checkedOptions(info);
  const pod = registry.need(served, info.namespace, info.name).object as Pod;
  const container = findContainer(pod, info.query.get("container") ?? "");
  const nodeName = pod.spec?.nodeName ?? "";
  // The pod is not scheduled: there is no log, which is not an error.
  if (nodeName === "") return bodyResponse(204, {}, () => "");
  const node = nodeOf(context, nodeName);
  const { authority: _, ...unverified } = kubelet;
  const logs = await containerLogs(
    queryBoolean(info.query, "insecureSkipTLSVerifyBackend") ? unverified : kubelet,
    node,
    { container: `${info.namespace}/${info.name}/${container}`, query },
    context.request.signal,
  );
  if (!isWebSocket(context.request)) return logs;
  const { bytesOverWebSocket } = await import("../upgrade/bytes.ts");
  return bytesOverWebSocket(context.request, logs, context.log);
}

/**
 * Returns the query for the kubelet (PodLogOptions). Throws 400 for malformed options, 422 for invalid ones.
 */
function checkedOptions({ query, name }: Context["info"]): URLSearchParams {
  const errors: FieldError[] = [];
  const passed = new URLSearchParams();
  for (const flag of ["follow", "previous", "timestamps"]) {
    if (queryBoolean(query, flag)) passed.set(flag, "true");
  }
  const number = (path: string, low: number): void => {
    const value = integerOption(query, path);
    if (value === undefined) return;
    passed.set(path, String(value));
    if (value >= low) return;
    const detail = low === 0 ? "must be greater than or equal to 0" : "must be greater than 0";
    errors.push({ type: "Invalid", path, value: String(value), detail });
  };
  const since = timeOption(query, "sinceTime");
  if (since !== undefined) passed.set("sinceTime", since);
  number("tailLines", 0);
  number("limitBytes", 1);
  if (since !== undefined && query.has("sinceSeconds")) {
    const detail = "at most one of `sinceTime` or `sinceSeconds` may be specified";
    errors.push({ type: "Forbidden", path: "[]", detail });
  } else number("sinceSeconds", 1);
  if (query.has("stream")) errors.push({ type: "Forbidden", path: "stream", detail: "may not be specified" });
  if (errors.length > 0) throw invalid({ group: "", kind: "PodLogOptions" }, name, errors);
  return passed;
}
