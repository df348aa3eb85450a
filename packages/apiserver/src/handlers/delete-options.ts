import { decodeBody } from "@dray/api/codec";
import { readBytes } from "../encoding/read-bytes.ts";
import { type DeleteOptions, deleteOptions } from "../request/options.ts";
import { bodyOf, bodyType } from "./body.ts";
import type { Context } from "./context.ts";

/** DeleteOptions exist in every group; the server decodes them in its own version. */
const row = {
  group: "meta.k8s.io",
  version: "v1",
  kind: "DeleteOptions",
  type: "meta/v1.DeleteOptions",
  resource: "",
  namespaced: false,
};
const apiVersion = "meta.k8s.io/v1";

/**
 * Returns the options of a DELETE: from its body if it has one, otherwise from the query. Throws 400, 413,
 * 415 and 422.
 */
export async function readDeleteOptions(context: Context): Promise<DeleteOptions> {
  const { query } = context.info;
  const body = bodyOf(context);
  if (body instanceof Uint8Array && body.length === 0) return deleteOptions(query, undefined);
  const type = bodyType(context);
  const { version } = context.registry.features;
  const raw =
    body instanceof Uint8Array
      ? await readBytes(body, type, { kind: row.kind, version, apiVersion }, context.pause)
      : { tree: body, duplicates: [], typed: false };
  const { object } = decodeBody({ ...raw, tree: inOwnVersion(raw.tree) }, row, version);
  return deleteOptions(query, object);
}

/** Options are sent in the version of the deleted resource. */
function inOwnVersion(tree: unknown): unknown {
  if (typeof tree !== "object" || tree === null || Array.isArray(tree)) return tree;
  const { kind, apiVersion: sent } = tree as { kind?: unknown; apiVersion?: unknown };
  const own = (kind === undefined || kind === "" || kind === row.kind) && typeof sent === "string";
  return own ? { ...tree, apiVersion } : tree;
}
