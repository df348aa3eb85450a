import { request } from "node:https";
import { StatusError } from "@dray/api";
import type { Node } from "@dray/api/core/v1";
import type { ApiResponse } from "@dray/client";

/** How the API server shows itself to kubelets, and by which authority it knows them. All PEM. */
export interface KubeletClient {
  readonly certificate: string;
  readonly key: string;
  readonly authority: string;
}

/** Kinds of addresses in the order in which they are tried (--kubelet-preferred-address-types). */
const addressTypes = ["Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"];

/** Where the kubelet of a node listens. Throws 503 for a node that does not say. */
export function kubeletAddress(node: Node): { readonly host: string; readonly port: number } {
  const addresses = node.status?.addresses ?? [];
  // An address is reachable as it stands; a name may not be known on this machine.
  const preferred = ["InternalIP", "ExternalIP", ...addressTypes];
  const host = preferred
    .map((type) => addresses.find((address) => address.type === type)?.address)
    .find((address) => address !== undefined);
  const port = node.status?.daemonEndpoints?.kubeletEndpoint?.Port;
  if (host === undefined || !port) {
    throw StatusError.of(
      "ServiceUnavailable",
      `node ${node.metadata.name} has not said where its kubelet listens`,
    );
  }
  return { host, port };
}

/** The logs of one container (`namespace/pod/container`), as the kubelet sends them. */
export function containerLogs(
  client: KubeletClient,
  node: Node,
  container: string,
  query: URLSearchParams,
  signal: AbortSignal,
): Promise<ApiResponse> {
  const { host, port } = kubeletAddress(node);
  const path = container.split("/").map(encodeURIComponent).join("/");
  return new Promise((resolve, reject) => {
    const call = request({
      host,
      port,
      path: `/containerLogs/${path}?${query}`,
      cert: client.certificate,
      key: client.key,
      ca: client.authority,
      signal,
    });
    call.once("error", (error: Error) => {
      reject(
        StatusError.of(
          "InternalError",
          `Get "https://${host}:${port}/containerLogs/${path}": ${error.message}`,
        ),
      );
    });
    call.once("response", (response) => {
      const status = response.statusCode ?? 500;
      response.on("error", () => {});
      if (status < 200 || status > 206) {
        refusal(status, response).then(reject, reject);
        return;
      }
      resolve({
        type: "bytes",
        status,
        headers: {
          "content-type": response.headers["content-type"] ?? "text/plain",
          "cache-control": "no-cache, private",
        },
        chunks: response,
      });
    });
    call.end();
  });
}

/** Longest text of a refusal that is passed on. */
const longestRefusal = 50_000;

/** What the kubelet refuses with a text becomes a Status (pods/log). */
async function refusal(status: number, response: AsyncIterable<Buffer>): Promise<StatusError> {
  let text = "";
  for await (const chunk of response) {
    text += chunk.toString();
    if (text.length > longestRefusal) break;
  }
  const message = text.trim() || `the kubelet answered with code ${status}`;
  if (status === 400) return StatusError.of("BadRequest", message);
  if (status === 404) return StatusError.of("NotFound", message);
  if (status === 403) return StatusError.of("Forbidden", message);
  return StatusError.of("InternalError", `Internal error occurred: ${message}`);
}
