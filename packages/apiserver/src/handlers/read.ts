import { StatusError } from "@dray/api";
import type { ApiResponse } from "@dray/client";
import { accepted } from "../encoding/accepted.ts";
import { objectResponse, resourceForms } from "../encoding/representation.ts";
import { serverError } from "../errors/status.ts";
import { converted } from "../kinds/conversion.ts";
import { queryBoolean, type RequestInfo } from "../request/info.ts";
import { versionProblem } from "../request/version.ts";
import { type Context, representation } from "./context.ts";
import { waitForRevision } from "./freshness.ts";

/** The obsolete `export` parameter of older clients. Throws 400. */
export function checkExport({ query }: Pick<RequestInfo, "query">): void {
  if (!query.has("export") || !queryBoolean(query, "export")) return;
  const message = "the export parameter, deprecated since v1.14, is no longer supported";
  throw StatusError.of("BadRequest", message);
}

/** Handles GET of one object, or of its status. */
export async function getObject(context: Context): Promise<ApiResponse> {
  const { info, served, registry } = context;
  const encoding = accepted(context, resourceForms);
  checkExport(info);
  const version = info.query.get("resourceVersion") ?? "";
  const problem = versionProblem(version);
  if (problem !== undefined) throw serverError(problem);
  await (version === "" ? registry.storage.current() : waitForRevision(context, Number(version)));
  const stored = registry.need(served, info.namespace, info.name);
  const object = await converted(stored.object, served.stored, served);
  return objectResponse(200, object, representation(context, encoding));
}
