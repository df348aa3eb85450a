import type { ApiResponse } from "@dray/client";
import { convert } from "../registry/conversion/index.ts";
import { objectResponse, resourceForms } from "../representation.ts";
import { versionProblem } from "../request/version.ts";
import { serverError } from "../response.ts";
import { accepted, type Context, headersOf, tableOptions } from "./context.ts";
import { reach } from "./freshness.ts";

/** GET of one object, or of its status. */
export async function getObject(context: Context): Promise<ApiResponse> {
  const { info, served, registry } = context;
  const wanted = accepted(context, resourceForms);
  const version = info.query.get("resourceVersion") ?? "";
  const problem = versionProblem(version);
  if (problem !== undefined) throw serverError(problem);
  await (version === "" ? registry.storage.current() : reach(context, Number(version)));
  const stored = registry.need(served, info.namespace, info.name);
  const object = convert(stored.object, served.stored, served);
  return objectResponse(200, object, served, wanted, tableOptions(context), headersOf(context));
}
