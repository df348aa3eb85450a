import { request } from "node:https";
import { apiVersionOf } from "@dray/api";
import type { ComponentStatus } from "@dray/api/core/v1";
import type { ApiResponse } from "@dray/client";
import { accepted } from "../encoding/accepted.ts";
import { listResponse, objectResponse, resourceForms } from "../encoding/representation.ts";
import { notFound } from "../errors/status.ts";
import { listOptions } from "../request/options.ts";
import { type Context, representation } from "./context.ts";
import { selectionOf } from "./select.ts";

/** Ports of the health endpoints on this machine (kube-apiserver's componentstatuses use them too). */
const probed: Readonly<Record<string, number>> = { scheduler: 10_259, "controller-manager": 10_257 };
const storageName = "etcd-0";
const probeMilliseconds = 20_000;

/**
 * Handles GET of `componentstatuses`: the current health of the control plane's components. Nothing of it is
 * stored.
 */
export async function componentStatuses(context: Context): Promise<ApiResponse> {
  const { info, served } = context;
  const name = info.parts[1];
  if (name !== undefined) {
    const encoding = accepted(context, resourceForms);
    if (name !== storageName && !Object.hasOwn(probed, name)) throw notFound(missing, name);
    const status = await statusOf(context, name);
    return objectResponse(200, status, representation(context, encoding));
  }
  const encoding = accepted(context, resourceForms);
  const selection = selectionOf(served, listOptions(info.query, false));
  const names = [...Object.keys(probed), storageName];
  const all = await Promise.all(names.map((each) => statusOf(context, each)));
  const list = {
    kind: "ComponentStatusList",
    apiVersion: apiVersionOf(served),
    metadata: {},
    items: all.filter((status) => selection.matches(status)),
  };
  return listResponse(list, representation(context, encoding));
}

/** Upstream's NotFound has the kind in the singular. */
const missing = { group: "", resource: "componentstatus" };

async function statusOf({ registry }: Context, name: string): Promise<ComponentStatus> {
  const port = probed[name];
  const { healthy, message } =
    port === undefined
      ? { healthy: registry.storage.healthy, message: registry.storage.healthy ? "ok" : "unhealthy" }
      : await probe(port);
  return {
    kind: "ComponentStatus",
    apiVersion: "v1",
    metadata: { name },
    conditions: [{ type: "Healthy", status: healthy ? "True" : "False", message }],
  } as ComponentStatus;
}

/** Requests `/healthz` of a component on this machine, whose certificate is not verified. */
function probe(port: number): Promise<{ readonly healthy: boolean; readonly message: string }> {
  const url = `https://127.0.0.1:${port}/healthz`;
  return new Promise((resolve) => {
    const fail = (reason: string): void => resolve({ healthy: false, message: `Get "${url}": ${reason}` });
    const call = request(url, { rejectUnauthorized: false, timeout: probeMilliseconds });
    call.once("timeout", () => call.destroy(new Error("context deadline exceeded")));
    call.once("error", (error: NodeJS.ErrnoException) => {
      const refused = error.code === "ECONNREFUSED";
      fail(refused ? `dial tcp 127.0.0.1:${port}: connect: connection refused` : error.message);
    });
    call.once("response", async (response) => {
      let text = "";
      try {
        for await (const chunk of response) if (text.length < 10_000) text += String(chunk);
      } catch (error) {
        return fail(error instanceof Error ? error.message : String(error));
      }
      const healthy = response.statusCode === 200;
      resolve({
        healthy,
        message: healthy ? text : `HTTP probe failed with statuscode: ${response.statusCode}`,
      });
    });
    call.end();
  });
}
