import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { digestOf, type TestImage } from "./image.ts";

/** A fake registry: the pull side of the distribution specification. */
export interface TestRegistry {
  /** `127.0.0.1:PORT` */
  readonly host: string;
  readonly requests: { method: string; url: string; headers: IncomingMessage["headers"]; body: string }[];
  readonly blobs: Map<string, Buffer>;
  /** Documents by tag or digest. */
  readonly manifests: Map<string, { readonly type: string; readonly body: Buffer }>;
  /** Called first for each request; returns true if it has responded. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean;
  push(image: TestImage, tag: string): void;
  pushIndex(entries: readonly { image: TestImage; platform: object }[], tag: string): string;
  close(): Promise<void>;
}

const manifestType = "application/vnd.oci.image.manifest.v1+json";

export async function testRegistry(): Promise<TestRegistry> {
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => {
      body += text;
    });
    request.once("end", () => {
      const { method = "", url = "", headers } = request;
      registry.requests.push({ method, url, headers, body });
      if (!registry.intercept(request, response)) answer(request, response);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const [, kind, key = ""] = /^\/v2\/.+\/(manifests|blobs)\/([^/?]+)(?:\?|$)/.exec(request.url ?? "") ?? [];
    const manifest = kind === "manifests" ? registry.manifests.get(key) : undefined;
    const blob = kind === "blobs" ? registry.blobs.get(key) : undefined;
    if (manifest !== undefined) {
      response.writeHead(200, {
        "content-type": manifest.type,
        "docker-content-digest": digestOf(manifest.body),
      });
      response.end(manifest.body);
    } else if (blob !== undefined) {
      const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
      if (start > 0)
        response.writeHead(206, { "content-range": `bytes ${start}-${blob.length - 1}/${blob.length}` });
      response.end(blob.subarray(start));
    } else {
      response.writeHead(404, { "content-type": "application/json" });
      response.end(JSON.stringify({ errors: [{ code: "MANIFEST_UNKNOWN", message: "manifest unknown" }] }));
    }
  };
  const registry: TestRegistry = {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    blobs: new Map(),
    manifests: new Map(),
    intercept: () => false,
    push(image, tag) {
      for (const [digest, data] of image.blobs) registry.blobs.set(digest, data);
      const document = { type: manifestType, body: Buffer.from(image.manifest) };
      for (const name of [tag, image.digest]) registry.manifests.set(name, document);
    },
    pushIndex(entries, tag) {
      for (const { image } of entries) registry.push(image, image.digest);
      const body = Buffer.from(
        JSON.stringify({
          schemaVersion: 2,
          mediaType: "application/vnd.oci.image.index.v1+json",
          manifests: entries.map(({ image, platform }) => ({
            mediaType: manifestType,
            digest: image.digest,
            size: Buffer.byteLength(image.manifest),
            platform,
          })),
        }),
      );
      for (const name of [tag, digestOf(body)])
        registry.manifests.set(name, { type: "application/vnd.oci.image.index.v1+json", body });
      return digestOf(body);
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return registry;
}
