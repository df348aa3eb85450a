import { createHash } from "node:crypto";
import { kindOf } from "@dray/api/codec";
import type { KindRow } from "@dray/api/schema";
import type { ApiRequest, ApiResponse } from "@dray/client";
import atomicTypes from "../patch/atomic-types.json" with { type: "json" };
import type { ServedResource } from "../registry/kinds.ts";
import { acceptClauses } from "../request/accept.ts";
import { bodyResponse, methodNotAllowed, textResponse } from "../response.ts";
import type { Discovery, GroupVersion } from "./documents.ts";

const root = "/openapi/v3";

/**
 * The OpenAPI v3 documents: kubectl validates, applies and explains by them. Each is made when it is first asked for,
 * and kept.
 */
export class OpenAPI {
  readonly #discovery: Discovery;
  readonly #release: string;
  /** Kept as long as what they describe. */
  readonly #documents = new WeakMap<GroupVersion, Promise<Encoded>>();

  constructor(discovery: Discovery, release: string) {
    this.#discovery = discovery;
    this.#release = release;
  }

  /** Answers `/openapi/v3` and what is below; undefined for other paths. */
  async response(request: ApiRequest, path: string): Promise<ApiResponse | undefined> {
    if (path !== root && !path.startsWith(`${root}/`)) return undefined;
    if (request.method !== "GET") throw methodNotAllowed();
    const found = path === root ? undefined : this.#find(path.slice(root.length + 1));
    if (path !== root && found === undefined) return bodyResponse(404, {}, () => "");
    if (!acceptsJSON(request.headers["accept"])) {
      return textResponse(406, "406 not acceptable: OpenAPI documents are answered as application/json\n");
    }
    if (found === undefined) return answer(request, await this.#index(), {});
    const document = await this.#document(found);
    const asked = new URL(request.url, "https://localhost").searchParams.get("hash");
    if (asked !== null && asked !== document.hash) {
      return bodyResponse(301, { location: documentURL(found, document.hash) }, () => "");
    }
    // What the hash names never changes, so it need not be asked for again.
    const caching = asked === null ? "no-cache, private" : "public, immutable";
    return answer(request, document, { "cache-control": caching });
  }

  async #index(): Promise<Encoded> {
    const paths: Record<string, { serverRelativeURL: string }> = {};
    for (const version of [...this.#discovery.groups.values()].flat()) {
      const { hash } = await this.#document(version);
      paths[pathOf(version)] = { serverRelativeURL: documentURL(version, hash) };
      // Other requests are served between two documents.
      await new Promise((resolve) => setImmediate(resolve));
    }
    return encode({ paths });
  }

  #find(path: string): GroupVersion | undefined {
    return [...this.#discovery.groups.values()].flat().find((version) => pathOf(version) === path);
  }

  #document(version: GroupVersion): Promise<Encoded> {
    let document = this.#documents.get(version);
    if (document === undefined) {
      document = this.#make(version);
      this.#documents.set(version, document);
    }
    return document;
  }

  async #make(version: GroupVersion): Promise<Encoded> {
    const { openAPIDocument } = await import("@dray/api/openapi");
    const document = openAPIDocument({
      group: version.group,
      version: version.version,
      kubernetesVersion: this.#release,
      atomicTypes: new Set(atomicTypes),
      resources: version.resources.map((resource) => ({
        row: resource,
        verbs: resource.verbs,
        ...(resource.model?.openAPI === undefined ? {} : { custom: resource.model.openAPI }),
        subresources: [...resource.subresources].map(([name, { verbs, ...sub }]) => ({
          name,
          verbs,
          row: spokenKind(resource, sub),
        })),
      })),
    });
    return encode(document);
  }
}

interface Encoded {
  readonly bytes: Buffer;
  readonly hash: string;
}

function encode(document: object): Encoded {
  const bytes = Buffer.from(JSON.stringify(document));
  return { bytes, hash: createHash("sha256").update(bytes).digest("hex").toUpperCase() };
}

function answer(
  request: ApiRequest,
  { bytes, hash }: Encoded,
  more: Readonly<Record<string, string>>,
): ApiResponse {
  const headers = { ...more, etag: `"${hash}"`, vary: "Accept" };
  if (request.headers["if-none-match"] === headers.etag) return bodyResponse(304, headers, () => "");
  return bodyResponse(200, { ...headers, "content-type": "application/json" }, () => bytes);
}

/** The binary form is not made here; who asks for it alone is told so, who takes JSON too gets that. */
function acceptsJSON(header: string | undefined): boolean {
  const accepted = ["application/json", "application/*", "*/*"];
  return acceptClauses(header?.trim() || undefined).some(
    ({ type, quality }) => quality > 0 && accepted.includes(type),
  );
}

function documentURL(version: GroupVersion, hash: string): string {
  return `${root}/${pathOf(version)}?hash=${hash}`;
}

function pathOf({ group, version }: GroupVersion): string {
  return group === "" ? `api/${version}` : `apis/${group}/${version}`;
}

/** Subresources that only pass on what others say speak no kind of the schema: theirs is that of the options. */
function spokenKind(
  resource: ServedResource,
  {
    group = resource.group,
    version = resource.version,
    kind,
  }: { group?: string; version?: string; kind: string },
): KindRow | { options: string } {
  return kind === resource.kind ? resource : (kindOf(group, version, kind) ?? { options: kind });
}
