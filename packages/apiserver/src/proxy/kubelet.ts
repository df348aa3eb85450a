import { request } from "node:https";
import { connect } from "node:net";
import type { ConnectionOptions } from "node:tls";
import { StatusError } from "@dray/api";
import type { Node } from "@dray/api/core/v1";
import type { ByteStreamResponse } from "@dray/client";
import { serverError } from "../errors/status.ts";

/**
 * How the API server connects to kubelets. PEM texts.
 *
 * Upstream: pkg/kubelet/client/kubelet_client.go, KubeletClientConfig
 */
export interface KubeletClient {
  /** The client certificate (--kubelet-client-certificate), with `key`; without it the server presents none. */
  readonly certificate?: string;
  readonly key?: string;
  /** Signs the serving certificates of kubelets (--kubelet-certificate-authority); without it they are not verified. */
  readonly authority?: string;
  /** Which of a node's addresses is used: the first type that it has (--kubelet-preferred-address-types). */
  readonly addressTypes?: readonly string[];
  /**
   * True where nodes run on this machine and their kubelets listen on its loopback address: `nodes/proxy` then leads
   * there, to the port of the kubelet only. kube-apiserver refuses such addresses.
   */
  readonly onLoopback?: boolean;
}

/**
 * Default order of address types. Upstream's begins with Hostname; kubeadm and kind set this one, since the machine of
 * the API server often cannot resolve the names of nodes.
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

/** Returns where the kubelet of a node listens. Throws 500 if the node has no address of the preferred types. */
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

/** Where a request is passed on to. */
export interface Target {
  /** `https`, else it is HTTP. */
  readonly scheme: string;
  readonly host: string;
  /** That of the scheme if empty. */
  readonly port: string;
  /** Set for a kubelet. Certificates of other servers are not verified, unless `tls` says otherwise. */
  readonly client?: KubeletClient;
  /** Options of node:tls that take the place of the others. */
  readonly tls?: ConnectionOptions;
}

/** Whether something listens there. Rejects with 500 if not. */
export function dial(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, host);
    socket.once("connect", () => {
      socket.destroy();
      resolve();
    });
    socket.once("error", (error: NodeJS.ErrnoException) => {
      reject(serverError(`error dialing backend: ${dialError(error, host, String(port))}`));
    });
  });
}

const causes: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  EHOSTUNREACH: "no route to host",
  ENETUNREACH: "network is unreachable",
  ETIMEDOUT: "connection timed out",
};

/** OpenSSL's names of what Go calls an unknown authority. */
const unknownAuthority = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/** Returns Go's text for a connection that failed. */
export function dialError({ code = "", message }: NodeJS.ErrnoException, host: string, port: string): string {
  if (unknownAuthority.has(code))
    return "tls: failed to verify certificate: x509: certificate signed by unknown authority";
  const cause = causes[code];
  return cause === undefined ? message : `dial tcp ${host}:${port}: connect: ${cause}`;
}

/** Maximum length of a document of a kubelet, in characters: about 100,000 containers. */
const maxDocumentLength = 64 << 20;

/** GET of a document of a kubelet, such as `/metrics/resource`. Rejects unless it answers 200. */
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

/** The logs of one container (`namespace/pod/container`), as the kubelet sends them. */
export function containerLogs(
  client: KubeletClient,
  node: Node,
  container: string,
  query: URLSearchParams,
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

/** Maximum length of the text of a refusal that is passed on. */
const maxRefusalLength = 50_000;

/** What the kubelet refuses with a text becomes a Status (pods/log). */
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
  return StatusError.of("InternalError", `Internal error occurred: ${message}`);
}
