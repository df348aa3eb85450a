import { type KubeObject, StatusError } from "@dray/api";
import type { ApiResponse } from "@dray/client";
import { accepted } from "../encoding/accepted.ts";
import { objectResponse, resourceForms } from "../encoding/representation.ts";
import { convert } from "../kinds/conversion.ts";
import { admissionOptions, type WriteOptions, writeOptions } from "../request/options.ts";
import { ensureNamespace } from "../write/metadata.ts";
import type { Write } from "../write/registry.ts";
import { readObject } from "./body.ts";
import { type Context, representation } from "./context.ts";

/** Returns the write of a request, as the registry takes it. */
export function writeOf(context: Context, options: WriteOptions): Write {
  const { info, served, user } = context;
  return {
    served,
    subresource: info.subresource,
    namespace: served.namespaced ? info.namespace : "",
    name: info.parts[1] ?? "",
    user,
    verb: info.verb,
    options,
    clientOptions: admissionOptions(info),
    warn: (text) => context.warnings.add(text),
    sent: context.request,
    provenance: context.provenance,
    pause: context.pause,
  };
}

/** Handles POST on a collection. */
export async function createObject(context: Context): Promise<ApiResponse> {
  const { info, served, registry } = context;
  const encoding = accepted(context, resourceForms);
  const options = writeOptions(info.query, "CreateOptions", context.request.headers["user-agent"]);
  const draft = await readObject(context, served, options.fieldValidation);
  ensureNamespace(served, info.namespace, draft);
  const object = await registry.create(writeOf(context, options), draft);
  await context.pause?.();
  return objectResponse(201, object, representation(context, encoding));
}

/** Handles PUT on an object or its status. */
export async function replaceObject(context: Context): Promise<ApiResponse> {
  const { info, served, registry } = context;
  const encoding = accepted(context, resourceForms);
  const options = writeOptions(info.query, "UpdateOptions", context.request.headers["user-agent"]);
  const draft = await readObject(context, served, options.fieldValidation);
  ensureNamespace(served, info.namespace, draft);
  checkName(info.name, draft);
  const { resourceVersion } = draft.metadata;
  let first: KubeObject | undefined = draft;
  // The registry may call this more than once, and changes the result.
  const sent = async (): Promise<KubeObject> => {
    const fresh = first ?? (await readObject(context, served, "Ignore"));
    first = undefined;
    ensureNamespace(served, info.namespace, fresh);
    return convert(fresh, served, served.stored, context.provenance);
  };
  const written = await registry.update(writeOf(context, options), {
    replaces: true,
    ...(resourceVersion && resourceVersion !== "0" ? { expectedVersion: resourceVersion } : {}),
    change: sent,
    ...(served.facts.createOnUpdate === true && info.subresource === "" ? { createMissing: sent } : {}),
  });
  return objectResponse(written.created ? 201 : 200, written.object, representation(context, encoding));
}

/** Validates that the name in the body is the one in the path. Throws 400. */
export function checkName(name: string, object: KubeObject): void {
  const own = object.metadata.name ?? "";
  if (own === name) return;
  if (own === "") {
    throw StatusError.of(
      "BadRequest",
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    );
  }
  throw StatusError.of(
    "BadRequest",
    `the name of the object (${own}) does not match the name on the URL (${name})`,
  );
}
