import { apiVersionOf, type KubeObject, StatusError } from "@dray/api";
import type { ListMeta } from "@dray/api/meta/v1";
import type { BodyResponse } from "@dray/client";
import { encodeJSON, encodeProtobuf, encodeYAML } from "./codec.ts";
import type { ServedResource } from "./registry/kinds.ts";
import type { Accepted, Forms } from "./request/accept.ts";
import { bodyResponse } from "./response.ts";
import { type TableOptions, tableOf } from "./table.ts";

/** What single objects and lists of them can be turned into. */
export const objectForms: Forms = new Set([
  "meta.k8s.io/v1/Table",
  "meta.k8s.io/v1beta1/Table",
  "meta.k8s.io/v1/PartialObjectMetadata",
  "meta.k8s.io/v1beta1/PartialObjectMetadata",
]);
export const listForms: Forms = new Set([
  "meta.k8s.io/v1/Table",
  "meta.k8s.io/v1beta1/Table",
  "meta.k8s.io/v1/PartialObjectMetadataList",
  "meta.k8s.io/v1beta1/PartialObjectMetadataList",
]);
export const watchForms: Forms = new Set([...objectForms, ...listForms]);
export const noForms: Forms = new Set();

export interface List {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: ListMeta;
  readonly items: readonly KubeObject[];
}

/** An object in the form that the client accepts. */
export function objectResponse(
  code: number,
  object: object,
  served: ServedResource,
  accepted: Accepted,
  options: TableOptions,
  headers: Record<string, string | readonly string[]> = {},
): BodyResponse {
  const shown = accepted.as ? transformed(object as KubeObject, served, accepted, options) : object;
  return encoded(code, shown, accepted, headers);
}

function transformed(
  object: KubeObject,
  served: ServedResource,
  accepted: Accepted,
  options: TableOptions,
): object {
  if (accepted.as!.kind === "Table") {
    const metadata = { resourceVersion: object.metadata.resourceVersion };
    return tableOf([object], metadata, served, options, tableVersion(accepted));
  }
  return partial(object, version(accepted));
}

/** A list in the form that the client accepts. */
export function listResponse(
  list: List,
  served: ServedResource,
  accepted: Accepted,
  options: TableOptions,
  headers: Record<string, string | readonly string[]> = {},
): BodyResponse {
  if (accepted.as?.kind === "Table") {
    const table = tableOf(list.items, list.metadata, served, options, tableVersion(accepted));
    return encoded(200, table, accepted, headers);
  }
  if (accepted.as) {
    const apiVersion = version(accepted);
    const items = list.items.map((item) => partial(item, apiVersion));
    return encoded(
      200,
      { kind: "PartialObjectMetadataList", apiVersion, metadata: list.metadata, items },
      accepted,
      headers,
    );
  }
  // In process the items stay whole: caches of clients and server share the same objects. On the wire items of a
  // list have neither kind nor apiVersion.
  return encoded(200, list, accepted, headers, () => ({ ...list, items: list.items.map(withoutKind) }));
}

function withoutKind(item: KubeObject): object {
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = item;
  return rest;
}

function version(accepted: Accepted): string {
  return apiVersionOf(accepted.as!);
}

export function tableVersion(accepted: Accepted): "v1" | "v1beta1" {
  return accepted.as?.version === "v1beta1" ? "v1beta1" : "v1";
}

/** Only the metadata of an object. */
export function partial(object: KubeObject, apiVersion = "meta.k8s.io/v1"): object {
  return { kind: "PartialObjectMetadata", apiVersion, metadata: object.metadata };
}

/** Any answer that is an object. `wire` makes what is sent where that differs from what is handed over in process. */
export function encoded(
  code: number,
  object: object,
  accepted: Accepted,
  headers: Record<string, string | readonly string[]> = {},
  wire: () => object = () => object,
): BodyResponse {
  const mediaType =
    accepted.mediaType === "application/vnd.kubernetes.protobuf" && !hasProtobuf(object)
      ? "application/json"
      : accepted.mediaType;
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
          return encodeProtobuf(wire());
        default:
          return accepted.pretty ? `${indented(wire())}\n` : `${encodeJSON(wire())}\n`;
      }
    },
    object,
  );
}

function indented(object: object): string {
  return JSON.stringify(JSON.parse(encodeJSON(object)), null, 2);
}

/** Tables have no protobuf form here: they are answered as JSON, which every client that asks for them reads. */
function hasProtobuf(object: object): boolean {
  const { apiVersion, kind } = object as { apiVersion?: string; kind?: string };
  return kind !== undefined && kind !== "Table" && !apiVersion?.startsWith("meta.k8s.io/");
}

export function notAcceptable(message: string): StatusError {
  return StatusError.of("NotAcceptable", message);
}
