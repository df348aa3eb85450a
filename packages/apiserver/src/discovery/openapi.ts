import { createHash } from "node:crypto";
import { kindOf } from "@dray/api/codec";
import type { CustomKind, OpenAPIDocument } from "@dray/api/openapi";
import type { KindRow } from "@dray/api/schema";
import type { ApiRequest, ApiResponse, Clock } from "@dray/client";
import type { RemoteOpenAPI } from "../aggregation/remote-openapi.ts";
import type { Remote } from "../aggregation/remote-services.ts";
import type { Swagger } from "../aggregation/swagger-part.ts";
import { bodyResponse } from "../http/response.ts";
import type { ServedResource } from "../kinds/resources.ts";
import atomicTypes from "../patch/atomic-types.json" with { type: "json" };
import { acceptClauses } from "../request/accept.ts";
import { acceptedType, type Content, contentResponse } from "./content.ts";
import type { Discovery, GroupVersion } from "./documents.ts";

const root = "/openapi/v3";
const json = "application/json";

/**
 * The subject of one document: a group and version, a path outside of the groups, or a version of another
 * server.
 */
type Subject = GroupVersion | string | ConvertedOpenAPI;

type ConvertedOpenAPI = RemoteOpenAPI & Required<Pick<RemoteOpenAPI, "converted">>;

interface Encoded {
  readonly bytes: Buffer;
  readonly hash: string;
  /** Milliseconds since the epoch. */
  readonly modified: number;
}

/**
 * The OpenAPI v3 documents: kubectl validates, applies and explains by them. Each is built on first use, and
 * cached.
 */
export class OpenAPI {
  readonly release: string;
  readonly #discovery: Discovery;
  readonly #clock: Clock;
  /** Cached as long as the version is unchanged. */
  readonly #ofVersions = new WeakMap<GroupVersion, Promise<Encoded>>();
  readonly #ofPaths = new Map<string, Promise<Encoded>>();
  readonly #ofRemotes = new WeakMap<RemoteOpenAPI, Promise<Encoded>>();

  constructor(discovery: Discovery, release: string, clock: Clock) {
    this.#discovery = discovery;
    this.release = release;
    this.#clock = clock;
  }

  /** The described groups; another object after a change. */
  get groups(): ReadonlyMap<string, readonly GroupVersion[]> {
    return this.#discovery.groups;
  }

  /** Parts of the OpenAPI v2 documents of other servers, in the order of their priorities. */
  get remoteParts(): Swagger[] {
    const priority = ({ service }: Remote): number => service.spec.groupPriorityMinimum;
    return [...this.#discovery.remote]
      .sort((a, b) => priority(b) - priority(a))
      .flatMap(({ openAPI }) => openAPI?.swagger ?? []);
  }

  now(): number {
    return this.#clock.now();
  }

  /** Builds all documents of this server itself. */
  async documents(): Promise<OpenAPIDocument[]> {
    const documents: OpenAPIDocument[] = [];
    for (const subject of (await this.#subjects()).values()) {
      if (isRemote(subject)) continue;
      documents.push(await this.#make(subject));
      // Yields to other requests between two documents.
      await new Promise((resolve) => setImmediate(resolve));
    }
    return documents;
  }

  /** Returns the described custom resources. */
  customKinds(): CustomKind[] {
    const resources = [...this.groups.values()].flat().flatMap((version) => version.resources);
    return resources.flatMap((row) =>
      row.model?.openAPI === undefined ? [] : [{ row, custom: row.model.openAPI }],
    );
  }

  /** Responds to `/openapi/v3` and the paths below it; undefined for other paths. */
  async response(request: ApiRequest, path: string): Promise<ApiResponse | undefined> {
    if (path === root) return contentResponse(request, await this.#index(), {});
    if (!path.startsWith(`${root}/`)) return undefined;
    const headers = { "cache-control": "no-cache, private", vary: "Accept" };
    // Without a readable Accept header the response is empty.
    if (acceptClauses(request.headers["accept"]).length === 0) {
      return bodyResponse(200, { "cache-control": headers["cache-control"] }, () => "");
    }
    if (acceptedType(request, [json]) === undefined) return bodyResponse(406, headers, () => "");
    const name = path.slice(root.length + 1);
    const found = (await this.#subjects()).get(name);
    if (found === undefined) return bodyResponse(404, { "cache-control": "no-cache, private" }, () => "");
    const document = await this.#document(found);
    const requestedHash = new URL(request.url, "https://localhost").searchParams.get("hash");
    if (requestedHash && requestedHash !== document.hash) {
      return bodyResponse(301, { ...headers, location: documentURL(name, document.hash) }, () => "");
    }
    // A document at a hash never changes, so clients may cache it.
    const caching = requestedHash ? { "cache-control": "public, immutable" } : {};
    return contentResponse(request, { ...document, mediaType: json }, { vary: "Accept", ...caching });
  }

  async #index(): Promise<Content> {
    const paths: Record<string, { serverRelativeURL: string }> = {};
    let modified = 0;
    for (const [name, subject] of await this.#subjects()) {
      const document = await this.#document(subject);
      paths[name] = { serverRelativeURL: documentURL(name, document.hash) };
      modified = Math.max(modified, document.modified);
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (const { openAPI } of this.#discovery.remote)
      for (const [name, item] of Object.entries(openAPI?.paths ?? {})) paths[name] ??= item;
    const bytes = Buffer.from(JSON.stringify({ paths }));
    return {
      bytes,
      // Upstream does not mark this as JSON.
      mediaType: "text/plain; charset=utf-8",
      // Upstream's list has no ETag: a client that read it in the second of a change would never see the
      // change.
      hash: createHash("sha512").update(bytes).digest("hex").toUpperCase(),
      modified,
    };
  }

  /** Returns the subjects of all documents, by path below `/openapi/v3`. */
  async #subjects(): Promise<Map<string, Subject>> {
    const { fixedDocuments } = await import("@dray/api/openapi");
    const subjects = new Map<string, Subject>(fixedDocuments.map((name) => [name, name]));
    for (const [group, versions] of this.groups) {
      const builtIn = versions.some(({ resources }) => resources.some(({ model }) => model === undefined));
      if (group !== "" && builtIn) subjects.set(`apis/${group}`, `apis/${group}`);
      for (const version of versions) subjects.set(pathOf(version), version);
    }
    for (const { service, openAPI } of this.#discovery.remote)
      if (openAPI !== undefined && isConverted(openAPI))
        subjects.set(`apis/${service.spec.group}/${service.spec.version}`, openAPI);
    return subjects;
  }

  #document(subject: Subject): Promise<Encoded> {
    if (typeof subject === "string") return this.#cached(this.#ofPaths, subject, subject);
    if (isRemote(subject))
      return cached(this.#ofRemotes, subject, async () => this.#encoded(subject.converted));
    return this.#cached(this.#ofVersions, subject, subject);
  }

  #cached<Key>(documents: DocumentCache<Key>, key: Key, subject: GroupVersion | string): Promise<Encoded> {
    return cached(documents, key, async () =>
      this.#encoded(Buffer.from(JSON.stringify(await this.#make(subject)))),
    );
  }

  #encoded(bytes: Buffer): Encoded {
    const hash = createHash("sha512").update(bytes).digest("hex").toUpperCase();
    return { bytes, hash, modified: this.now() };
  }

  async #make(version: GroupVersion | string): Promise<OpenAPIDocument> {
    const { openAPIDocument, rootDocument } = await import("@dray/api/openapi");
    if (typeof version === "string") return rootDocument(version, this.release);
    return openAPIDocument({
      group: version.group,
      version: version.version,
      kubernetesVersion: this.release,
      atomicTypes: new Set(atomicTypes),
      resources: version.resources.map((resource) => ({
        row: resource,
        verbs: resource.verbs,
        ...(resource.model?.openAPI === undefined ? {} : { custom: resource.model.openAPI }),
        subresources: [...resource.subresources].map(([name, { verbs, ...sub }]) => ({
          name,
          verbs,
          row: schemaKind(resource, sub),
        })),
      })),
    });
  }
}

interface DocumentCache<Key> {
  get(key: Key): Promise<Encoded> | undefined;
  set(key: Key, document: Promise<Encoded>): unknown;
}

function cached<Key>(
  documents: DocumentCache<Key>,
  key: Key,
  make: () => Promise<Encoded>,
): Promise<Encoded> {
  const known = documents.get(key);
  if (known !== undefined) return known;
  const document = make();
  documents.set(key, document);
  return document;
}

function isRemote(subject: Subject): subject is ConvertedOpenAPI {
  return typeof subject === "object" && "paths" in subject;
}

function isConverted(openAPI: RemoteOpenAPI): openAPI is ConvertedOpenAPI {
  return openAPI.converted !== undefined;
}

function documentURL(name: string, hash: string): string {
  return `${root}/${name}?hash=${hash}`;
}

function pathOf({ group, version }: GroupVersion): string {
  return group === "" ? `api/${version}` : `apis/${group}/${version}`;
}

/** Returns the kind of a subresource; one that proxies other servers has the kind of its options. */
function schemaKind(
  resource: ServedResource,
  {
    group = resource.group,
    version = resource.version,
    kind,
  }: { group?: string; version?: string; kind: string },
): KindRow | { options: string } {
  return kind === resource.kind ? resource : (kindOf(group, version, kind) ?? { options: kind });
}
