import { readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { request as httpsRequest, type RequestOptions } from "node:https";
import type { ExtenderConfiguration, TLSPart } from "../config/types.ts";

/**
 * Posts JSON to a verb of an extender, and returns the text of the response. Rejects unless the status is
 * 200.
 */
export type PostToExtender = (verb: string, body: string) => Promise<string>;

/**
 * Upstream: pkg/scheduler/extender.go, makeTransport and send. Throws if a file of the TLS settings cannot be
 * read.
 */
export function httpExtender(configuration: ExtenderConfiguration): PostToExtender {
  const { urlPrefix, httpTimeout } = configuration;
  const tls = tlsOptions(configuration);
  return (verb, body) => {
    const url = new URL(`${urlPrefix.replace(/\/+$/, "")}/${verb}`);
    const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
    const signal = AbortSignal.timeout(httpTimeout);
    const options = { method: "POST", headers, signal };
    return new Promise((resolve, reject) => {
      const failed = (error: Error): void => {
        const reason = signal.aborted ? `no answer within ${httpTimeout / 1000}s` : error.message;
        reject(new Error(`failed ${verb} with extender at URL ${url}: ${reason}`, { cause: error }));
      };
      const request =
        url.protocol === "https:" ? httpsRequest(url, { ...options, ...tls }) : httpRequest(url, options);
      request.on("error", failed);
      request.on("response", (response) => {
        const chunks: Buffer[] = [];
        response.on("error", failed);
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => {
          if (response.statusCode === 200) resolve(Buffer.concat(chunks).toString());
          else reject(new Error(`failed ${verb} with extender at URL ${url}, code ${response.statusCode}`));
        });
      });
      request.end(body);
    });
  };
}

function tlsOptions({ tls, enableHTTPS }: ExtenderConfiguration): RequestOptions {
  const read = (part: TLSPart | undefined): string | undefined =>
    part === undefined ? undefined : "pem" in part ? part.pem : readFileSync(part.file, "utf8");
  const [cert, key, ca] = [read(tls?.cert), read(tls?.key), read(tls?.ca)];
  // Without an authority there is nothing to verify the certificate with, as upstream has it.
  const insecure = tls?.insecure === true || (enableHTTPS && ca === undefined);
  return {
    rejectUnauthorized: !insecure,
    ...(cert && { cert }),
    ...(key && { key }),
    ...(ca && { ca }),
    ...(tls?.serverName && { servername: tls.serverName }),
  };
}
