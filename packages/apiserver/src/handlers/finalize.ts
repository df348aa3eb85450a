import type { Namespace } from "@dray/api/core/v1";
import type { ApiResponse } from "@dray/client";
import { accepted } from "../encoding/accepted.ts";
import { objectResponse, resourceForms } from "../encoding/representation.ts";
import { writeOptions } from "../request/options.ts";
import { thaw } from "../storage/json.ts";
import { readObject } from "./body.ts";
import { type Context, representation } from "./context.ts";
import { checkName, writeOf } from "./write.ts";

/**
 * Handles PUT on `namespaces/finalize`: sets spec.finalizers; a terminating namespace without finalizers is
 * removed.
 */
export async function finalizeNamespace(context: Context): Promise<ApiResponse> {
  const { info, served, registry } = context;
  const encoding = accepted(context, resourceForms);
  const options = writeOptions(info.query, "UpdateOptions", context.request.headers["user-agent"]);
  const draft = await readObject(context, served, options.fieldValidation);
  checkName(info.name, draft);
  const written = await registry.update(writeOf(context, options), {
    replaces: true,
    change: () => thaw(draft, context.provenance) as Namespace,
  });
  return objectResponse(200, written.object, representation(context, encoding));
}
