import { apiVersionOf, type KubeObject, StatusError } from "@dray/api";
import type { ApiResponse } from "@dray/client";
import { decode } from "../codec.ts";
import { convert } from "../registry/conversion/index.ts";
import { listForms, listResponse, objectForms, objectResponse } from "../representation.ts";
import { type DeleteOptions, deleteOptions, listOptions, type WriteOptions } from "../request/options.ts";
import { bodyOf, bodyType } from "./body.ts";
import { accepted, type Context, headersOf, tableOptions } from "./context.ts";
import { selectionOf } from "./select.ts";
import { writeOf } from "./write.ts";

const deleteKind = { group: "", version: "v1", kind: "DeleteOptions" };
const noManager: WriteOptions = { dryRun: false, fieldManager: "", fieldValidation: "Ignore", force: false };

/** The options in the body of a DELETE, if it has one. */
async function readOptions(context: Context): Promise<DeleteOptions> {
  const body = bodyOf(context);
  if (body instanceof Uint8Array && body.length === 0) return deleteOptions(context.info.query, undefined);
  const type = bodyType(context);
  const { object } = await decode(body, type, deleteKind, context.registry.decoding("Ignore"));
  return deleteOptions(context.info.query, object as unknown as Record<string, unknown>);
}

/** DELETE of one object. */
export async function deleteObject(context: Context): Promise<ApiResponse> {
  const { served, registry } = context;
  const wanted = accepted(context, objectForms);
  const options = await readOptions(context);
  const deletion = await registry.delete(writeOf(context, noManager), options);
  const answer = deletion.gone ? registry.deletionAnswer(served, deletion.object) : deletion.object;
  return objectResponse(200, answer, served, wanted, tableOptions(context), headersOf(context));
}

/** DELETE of all selected objects of a collection; answers with what they were. */
export async function deleteCollection(context: Context): Promise<ApiResponse> {
  const { info, served, registry } = context;
  const wanted = accepted(context, listForms, { collection: true });
  const selected = listOptions(info.query, false);
  const options = await readOptions(context);
  const selection = selectionOf(served, selected);
  const cache = registry.cache(served);
  const prefix =
    served.namespaced && info.namespace !== "" ? `${cache.prefix}${info.namespace}/` : cache.prefix;
  const found = [...cache.range(prefix)].filter(({ object }) => selection.matches(object));
  const items: KubeObject[] = [];
  for (const { object } of found) {
    const { name, namespace } = object.metadata;
    try {
      await registry.delete({ ...writeOf(context, noManager), namespace: namespace ?? "", name }, options);
    } catch (error) {
      // Gone in the meantime is what was asked for.
      if (!StatusError.is(error, "NotFound")) throw error;
    }
    items.push(convert(object, served.stored, served));
  }
  const list = {
    kind: `${served.kind}List`,
    apiVersion: apiVersionOf(served),
    metadata: { resourceVersion: String(registry.storage.revision) },
    items,
  };
  return listResponse(list, served, wanted, tableOptions(context), headersOf(context));
}
