import type { ApiResponse } from "@dray/client";
import { convert } from "../registry/conversion/index.ts";
import { objectForms, objectResponse } from "../representation.ts";
import { serverError } from "../response.ts";
import { accepted, type Context, headersOf, tableOptions } from "./context.ts";
import { reach } from "./freshness.ts";

/** GET of one object, or of its status. */
export async function getObject(context: Context): Promise<ApiResponse> {
  const { info, served, registry } = context;
  const wanted = accepted(context, objectForms);
  const version = info.query.get("resourceVersion") ?? "";
  if (version !== "" && !/^\d+$/.test(version)) {
    throw serverError(
      `resourceVersion: Invalid value: ${JSON.stringify(version)}: strconv.ParseUint: parsing ${JSON.stringify(version)}: invalid syntax`,
    );
  }
  if (version !== "") await reach(context, Number(version));
  const stored = registry.need(served, info.namespace, info.name);
  const object = convert(stored.object, served.stored, served);
  return objectResponse(200, object, served, wanted, tableOptions(context), headersOf(context));
}
