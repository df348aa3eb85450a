import { getServers } from "node:dns";
import type { TLSSocket } from "node:tls";
import { quoted } from "@dray/api";

interface NodeError extends Error {
  readonly code?: string;
  readonly address?: string;
  readonly port?: number;
  readonly cert?: ReturnType<TLSSocket["getPeerCertificate"]>;
}

const unknownAuthority = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/** Returns the message of Go's HTTP client for a connection error: clients of Kubernetes match on it. */
export function failureText(error: NodeError, host: string): string {
  const { code = "", address, port, cert } = error;
  const certificate = "tls: failed to verify certificate: x509: certificate";
  if (unknownAuthority.has(code)) return `${certificate} signed by unknown authority`;
  switch (code) {
    case "ABORT_ERR":
      return "context canceled";
    case "ECONNREFUSED":
      return `dial tcp ${address?.includes(":") ? `[${address}]` : address}:${port}: connect: connection refused`;
    case "ENOTFOUND":
      return `dial tcp: lookup ${host} on ${getServers()[0] ?? ""}:53: no such host`;
    case "ECONNRESET":
      return "EOF";
    case "EHOSTUNREACH":
      return `dial tcp ${address}:${port}: connect: no route to host`;
    case "ENETUNREACH":
      return `dial tcp ${address}:${port}: connect: network is unreachable`;
    case "ERR_SSL_WRONG_VERSION_NUMBER":
    case "EPROTO":
      return "http: server gave HTTP response to HTTPS client";
    case "CERT_HAS_EXPIRED":
    case "CERT_NOT_YET_VALID":
      return `${certificate} has expired or is not yet valid`;
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return `${certificate} is valid for ${names(cert?.subjectaltname)}, not ${host}`;
    default:
      return error.message;
  }
}

const names = (alternatives: string | undefined): string =>
  (alternatives ?? "").replace(/(?:DNS|IP Address):/g, "");

const texts: Readonly<Record<number, string>> = {
  400: "the server rejected our request for an unknown reason",
  401: "the server has asked for the client to provide credentials",
  404: "the server could not find the requested resource",
  405: "the server does not allow this method on the requested resource",
  409: "the server reported a conflict",
  422: "the server rejected our request due to an error in our request",
  429: "the server has received too many requests and has asked us to try again later",
  503: "the server is currently unable to handle the request",
  504: "the server was unable to return a response in the time allotted, but may still be processing the request",
};

/** Returns the message of the body if it is a Status. */
function statedMessage(body: string): string | undefined {
  try {
    const { kind, message } = JSON.parse(body) as { kind?: unknown; message?: unknown };
    return kind === "Status" && typeof message === "string" ? message : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the message that Kubernetes clients derive from a status code other than 200
 * (NewGenericServerResponse).
 */
export function statusText(code: number, body: string, contentType: string | undefined): string {
  const stated = statedMessage(body);
  if (stated !== undefined) return stated;
  const isText = contentType === undefined || contentType.startsWith("text/");
  const message = isText ? body.slice(0, 2048).trim() : "unknown";
  if (code === 403 || code === 406 || code === 415) return message;
  const text = texts[code];
  if (text !== undefined) return text;
  if (code >= 500)
    return `an error on the server (${quoted(message)}) has prevented the request from succeeding`;
  return `the server responded with the status code ${code} but did not return more information`;
}
