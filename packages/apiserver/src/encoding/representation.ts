import { apiVersionOf, type KubeObject, StatusError } from "@dray/api";
import type { ListMeta } from "@dray/api/meta/v1";
import type { BodyResponse } from "@dray/client";
import { serverError } from "../errors/status.ts";
import { bodyResponse } from "../http/response.ts";
import { indentedJSON } from "../json/indent.ts";
import { modelOf } from "../kinds/models.ts";
import type { ServedResource } from "../kinds/resources.ts";
import type { Accepted, Forms } from "../request/accept.ts";
import { shownMetadata } from "../tables/index.ts";
import { encodeYAML } from "../yaml/emit.ts";
import { encodeObject, encodeProtobuf } from "./codec.ts";
import { type TableOptions, tableOf } from "./table.ts";

/** Kinds to which responses of resources can be converted; whether one fits is decided with the response. */
export const resourceForms: Forms = new Set(
  ["v1", "v1beta1"].flatMap((version) =>
    ["Table", "PartialObjectMetadata", "PartialObjectMetadataList"].map(
      (kind) => `meta.k8s.io/${version}/${kind}`,
    ),
  ),
);
/** The same without Tables. */
export const metadataForms: Forms = new Set([...resourceForms].filter((form) => !form.endsWith("/Table")));

export interface List {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: ListMeta;
  readonly items: readonly KubeObject[];
}

type Headers = Record<string, string | readonly string[]>;

/** How the response of a resource is represented. */
export interface Representation {
  readonly served: ServedResource;
  readonly accepted: Accepted;
  readonly table: TableOptions;
  readonly headers: Headers;
}

/** Returns the response with an object in the encoding that the client accepts. */
export function objectResponse(code: number, object: object, representation: Representation): BodyResponse {
  const { accepted, headers } = representation;
  // A Status is never converted.
  const as = (object as { kind?: string }).kind === "Status" ? undefined : accepted.as;
  const shown = as === undefined ? object : transformed(object as KubeObject, as, representation);
  return encoded(code, shown, accepted, { headers });
}

function transformed(
  object: KubeObject,
  as: NonNullable<Accepted["as"]>,
  { served, accepted, table }: Representation,
): object {
  if (as.kind === "Table") {
    const metadata = { resourceVersion: object.metadata.resourceVersion };
    return tableOf({ metadata, items: [object] }, served, table, tableVersion(accepted));
  }
  if (as.kind === "PartialObjectMetadataList") {
    // Upstream detects late that an object without a Go type is not a list.
    if (served.facts.schemaless) throw serverError("content is not a list");
    throw notAcceptable(
      `you requested PartialObjectMetadataList, but the requested object is not a list (*${internalType(served)})`,
    );
  }
  return partial(object, served, apiVersionOf(as));
}

/** Returns the Go type of a kind, which some messages contain: `core.Pod`. */
function internalType({ group, kind, facts }: ServedResource): string {
  if (facts.goType !== undefined) return facts.goType;
  if (facts.schemaless) return "unstructured.Unstructured";
  const name = group === "" || group === "events.k8s.io" ? "core" : group.split(".")[0];
  return `${name}.${kind}`;
}

/** Returns the response with a list in the encoding that the client accepts. */
export function listResponse(list: List, { served, accepted, table, headers }: Representation): BodyResponse {
  if (accepted.as?.kind === "Table") {
    return encoded(200, tableOf(list, served, table, tableVersion(accepted)), accepted, { headers });
  }
  if (accepted.as?.kind === "PartialObjectMetadata") {
    throw notAcceptable(
      `you requested PartialObjectMetadata, but the requested object is a list (*${internalType(served)}List)`,
    );
  }
  if (accepted.as) {
    const apiVersion = apiVersionOf(accepted.as);
    const items = list.items.map((item) => partial(item, served, apiVersion));
    const object = { kind: "PartialObjectMetadataList", apiVersion, metadata: list.metadata, items };
    // Upstream appends the items one by one, so an empty list has no `items`.
    const wire = (): object => ({ ...list, kind: "PartialObjectMetadataList", apiVersion, items: null });
    return encoded(200, object, accepted, items.length > 0 ? { headers } : { headers, wire });
  }
  // In process the items are handed over complete: caches of clients and server share the same objects. On
  // the wire, items of a list have neither kind nor apiVersion.
  const wire = (): object => {
    // Objects without a built-in schema are encoded unchanged.
    if (served.facts.schemaless) return { ...list, metadata: { continue: "", ...list.metadata } };
    return { ...list, items: list.items.map(withoutKind) };
  };
  return encoded(200, list, accepted, { headers, wire });
}

function withoutKind(item: KubeObject): object {
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = item;
  return rest;
}

export function tableVersion(accepted: Accepted): "v1" | "v1beta1" {
  return accepted.as?.version === "v1beta1" ? "v1beta1" : "v1";
}

/** Returns only the metadata of an object. */
export function partial(object: KubeObject, { stored }: ServedResource, apiVersion: string): object {
  return {
    kind: "PartialObjectMetadata",
    apiVersion,
    metadata: shownMetadata(modelOf(stored).printer, object),
  };
}

/**
 * Returns the response with any object. `wire` returns the object to encode as JSON and YAML if it differs
 * from the one that is handed over in process.
 */
export function encoded(
  code: number,
  object: object,
  accepted: Accepted,
  { headers = {}, wire = () => object }: { readonly headers?: Headers; readonly wire?: () => object } = {},
): BodyResponse {
  const { mediaType } = accepted;
  const all = {
    "cache-control": "no-cache, private",
    "content-type": mediaType,
    ...headers,
  };
  return bodyResponse(
    code,
    all,
    () => {
      switch (mediaType) {
        case "application/yaml":
          return encodeYAML(wire());
        case "application/vnd.kubernetes.protobuf":
          // The protobuf of items contains neither kind nor apiVersion.
          return encodeProtobuf(object);
        default:
          return accepted.pretty ? indentedJSON(encodeObject(wire())) : `${encodeObject(wire())}\n`;
      }
    },
    object,
  );
}

export function notAcceptable(message: string): StatusError {
  return StatusError.of("NotAcceptable", message);
}
