/** A container registry that serves the images of an OCI layout under every registry name. */
import { createReadStream, existsSync, readFileSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Descriptor } from "./image-layout.ts";

export interface Registry {
  readonly url: string;
  close(): void;
}

interface Index {
  readonly manifests: readonly (Descriptor & { readonly annotations: Readonly<Record<string, string>> })[];
}

/**
 * Serves the layout for pulls (https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pull). A
 * client that asks in place of another registry says which as `?ns=`, as containerd does.
 */
export async function serveImages(layout: string, address: string): Promise<Registry> {
  const { manifests } = JSON.parse(readFileSync(join(layout, "index.json"), "utf8")) as Index;
  const tagged = new Map(manifests.map((it) => [it.annotations["io.containerd.image.name"]!, it]));
  const byDigest = new Map<string, Descriptor>(manifests.map((it) => [it.digest, it]));
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://registry");
    if (pathname === "/v2/") return void response.end("{}");
    const [, name, kind, reference] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(pathname) ?? [];
    if (kind === "blobs" && /^sha256:[0-9a-f]{64}$/.test(reference!))
      return send(request, response, "application/octet-stream", reference!);
    const image =
      byDigest.get(reference ?? "") ?? tagged.get(`${searchParams.get("ns")}/${name}:${reference}`);
    if (kind === "manifests" && image !== undefined)
      return send(request, response, image.mediaType, image.digest);
    response.writeHead(404, { "content-type": "application/json" });
    response.end('{"errors":[{"code":"NAME_UNKNOWN","message":"repository name not known to registry"}]}');
  });
  const send = (request: IncomingMessage, response: ServerResponse, type: string, digest: string): void => {
    const file = join(layout, "blobs", digest.replace(":", "/"));
    if (!existsSync(file)) return void response.writeHead(404).end();
    response.writeHead(200, {
      "content-type": type,
      "content-length": statSync(file).size,
      "docker-content-digest": digest,
    });
    if (request.method === "HEAD") response.end();
    else
      createReadStream(file)
        .on("error", () => response.destroy())
        .pipe(response);
  };
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, address, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${address}:${port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
