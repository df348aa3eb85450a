import { request } from "node:https";
import type { ConnectionOptions } from "node:tls";
import { StatusError } from "@dray/api";
import type { Node } from "@dray/api/core/v1";
import type { ByteStreamResponse } from "@dray/client";
import { serverError } from "../errors/status.ts";

/**
 * How the API server connects to kubelets. All certificates and keys are PEM.
 *
 * Upstream: pkg/kubelet/client/kubelet_client.go, KubeletClientConfig
 */
export interface KubeletClient {
  /** The client certificate (--kubelet-client-certificate), with `key`; absent: no client certificate. */
  readonly certificate?: string;
  readonly key?: string;
  /**
   * Signs the serving certificates of kubelets (--kubelet-certificate-authority); absent: they are not
   * verified.
   */
  readonly authority?: string;
  /** The order of preference of a node's address types (--kubelet-preferred-address-types). */
  readonly addressTypes?: readonly string[];
  /**
   * True if nodes run on this machine and their kubelets listen on its loopback address: `nodes/proxy` then
   * connects to it, to the port of the kubelet only. kube-apiserver rejects such addresses.
   */
  readonly onLoopback?: boolean;
}

/**
 * Default order of address types. Upstream's begins with Hostname; kubeadm and kind set this one, because the
 * machine of the API server often cannot resolve the names of nodes.
 */
const defaultAddressTypes = ["InternalIP", "ExternalIP", "Hostname", "InternalDNS", "ExternalDNS"];

/** Options of node:tls for a connection to a kubelet. */
export function tlsOf({ certificate, key, authority }: KubeletClient): TLSOptions {
  return {
    ...(certificate === undefined || key === undefined ? {} : { cert: certificate, key }),
    ...(authority === undefined ? { rejectUnauthorized: false } : { ca: authority }),
  };
}

interface TLSOptions {
  readonly cert?: string;
  readonly key?: string;
  readonly ca?: string;
  readonly rejectUnauthorized?: false;
}

/** Port of a kubelet whose node reports none. */
const kubeletPort = 10_250;

/**
 * Returns the address of the kubelet of a node. Throws 500 if the node has no address of the preferred types.
 */
export function kubeletAddress(
  { addressTypes = defaultAddressTypes }: KubeletClient,
  node: Node,
): { readonly host: string; readonly port: number } {
  const addresses = node.status?.addresses ?? [];
  const host = addressTypes
    .map((type) => addresses.find((address) => address.type === type)?.address)
    .find((address) => address !== undefined);
  if (host === undefined) {
    const known = addresses.map(({ type, address }) => `{${type} ${address}}`).join(" ");
    throw serverError(`no preferred addresses found; known addresses: [${known}]`);
  }
  return { host, port: node.status?.daemonEndpoints?.kubeletEndpoint?.Port || kubeletPort };
}

/** The server to which a request is passed on. */
export interface Target {
  /** `https`; anything else is HTTP. */
  readonly scheme: string;
  readonly host: string;
  /** The default port of the scheme if empty. */
  readonly port: string;
  /** Set for a kubelet. Certificates of other servers are not verified, unless `tls` says otherwise. */
  readonly client?: KubeletClient;
  /** Options of node:tls that replace the others. */
  readonly tls?: ConnectionOptions;
}

const causes: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  EHOSTUNREACH: "no route to host",
  ENETUNREACH: "network is unreachable",
  ETIMEDOUT: "connection timed out",
};

/** OpenSSL's error codes for Go's unknown authority. */
const unknownAuthority = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/** Returns Go's message for a failed connection. */
export function dialError({ code = "", message }: NodeJS.ErrnoException, host: string, port: string): string {
  if (unknownAuthority.has(code))
    return "tls: failed to verify certificate: x509: certificate signed by unknown authority";
  const cause = causes[code];
  return cause === undefined ? message : `dial tcp ${host}:${port}: connect: ${cause}`;
}

/** Maximum length of a document of a kubelet, in characters: about 100,000 containers. */
const maxDocumentLength = 64 << 20;

/** Gets a document of a kubelet, such as `/metrics/resource`. Rejects unless the status is 200. */
export function kubeletDocument(
  client: KubeletClient,
  node: Node,
  path: string,
  signal: AbortSignal,
): Promise<string> {
  const { host, port } = kubeletAddress(client, node);
  const url = `https://${host}:${port}${path}`;
  return new Promise((resolve, reject) => {
    const call = request({ host, port, path, ...tlsOf(client), signal });
    call.once("error", (error: NodeJS.ErrnoException) =>
      reject(new Error(`Get "${url}": ${dialError(error, host, String(port))}`)),
    );
    call.once("response", async (response) => {
      try {
        if (response.statusCode !== 200)
          throw new Error(`Get "${url}": request failed, status: "${response.statusCode}"`);
        let text = "";
        for await (const chunk of response.setEncoding("utf8")) {
          text += chunk;
          if (text.length > maxDocumentLength)
            throw new Error(`Get "${url}": the answer has more than ${maxDocumentLength} characters`);
        }
        resolve(text);
      } catch (error) {
        call.destroy();
        reject(error);
      }
    });
    call.end();
  });
}

/** Returns the logs of one container (`namespace/pod/container`), as sent by the kubelet. */
export function containerLogs(
  client: KubeletClient,
  node: Node,
  { container, query }: { readonly container: string; readonly query: URLSearchParams },
  signal: AbortSignal,
): Promise<ByteStreamResponse> {
  const { host, port } = kubeletAddress(client, node);
  const path = container.split("/").map(encodeURIComponent).join("/");
  return new Promise((resolve, reject) => {
    const call = request({
      host,
      port,
      path: `/containerLogs/${path}?${query}`,
      ...tlsOf(client),
      signal,
    });
    call.once("error", (error: NodeJS.ErrnoException) => {
      const cause = dialError(error, host, String(port));
      reject(serverError(`Get "https://${host}:${port}/containerLogs/${path}": ${cause}`));
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

/** Maximum length of an error message that is passed on. */
const maxRefusalLength = 50_000;

/** Converts a textual error response of the kubelet to a Status (pods/log). */
async function refusal(status: number, response: AsyncIterable<Buffer>): Promise<StatusError> {
  let text = "";
  for await (const chunk of response) {
    text += chunk.toString();
    if (text.length > maxRefusalLength) break;
  }
  const message = text.trim() || `the kubelet answered with code ${status}`;
  if (status === 400) return StatusError.of("BadRequest", message);
  if (status === 404) return StatusError.of("NotFound", message);
  if (status === 403) return StatusError.of("Forbidden", message);
  if (status === 429) return StatusError.of("TooManyRequests", message, { retryAfterSeconds: 1 });
  return StatusError.of("InternalError", `Internal error occurred: ${message}`);
}
