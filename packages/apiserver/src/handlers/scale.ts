import { apiVersionOf, invalid, type KubeObject, labelSelectorOf } from "@dray/api";
import type { Scale } from "@dray/api/autoscaling/v1";
import type { ApiResponse } from "@dray/client";
import { decodePatched } from "../codec.ts";
import { scaledManagedFields, scaleManagedFields, trackUpdate } from "../patch/index.ts";
import { objectType } from "../registry/managed-fields.ts";
import { objectForms, objectResponse } from "../representation.ts";
import { type WriteOptions, writeOptions } from "../request/options.ts";
import { thaw } from "../storage/json.ts";
import { readObject } from "./body.ts";
import { accepted, type Context, headersOf, tableOptions } from "./context.ts";
import { type Plain, patched, patchKind, readPatch } from "./patch.ts";
import { checkName, writeOf } from "./write.ts";

const scaleKind = { group: "autoscaling", version: "v1", kind: "Scale" };

interface Scaled extends KubeObject {
  spec?: { replicas?: number; selector?: unknown };
  status?: { replicas?: number };
}

/** GET, PUT and PATCH of `scale`: the number of replicas, the same for all kinds that have one. */
export async function scale(context: Context): Promise<ApiResponse> {
  const { info, served, registry } = context;
  const wanted = accepted(context, objectForms);
  const answer = (object: KubeObject): ApiResponse =>
    objectResponse(
      200,
      scaleOf(context, object as Scaled),
      served,
      wanted,
      tableOptions(context),
      headersOf(context),
    );
  const { method } = context.request;
  if (method === "GET") return answer(registry.need(served, info.namespace, info.name).object);
  const agent = context.request.headers["user-agent"];
  const kind = method === "PATCH" ? patchKind(context) : undefined;
  const options = writeOptions(info.query, kind ? "PatchOptions" : "UpdateOptions", agent, kind === "apply");
  const body = kind ? await readPatch(context, kind) : undefined;
  const sent = kind
    ? undefined
    : ((await readObject(context, scaleKind, options.fieldValidation)) as unknown as Scale);
  if (sent) checkName(info.name, sent);
  const written = await registry.update(writeOf(context, options), {
    ownManagers: true,
    replaces: sent !== undefined,
    async change(current) {
      const live = scaleOf(context, current as Scaled);
      let next: Scale;
      if (kind) {
        const raw = patched(context, kind, objectType(scaleKind), live as unknown as Plain, body, options);
        const decoded = decodePatched(raw, scaleKind, registry.decoding(options.fieldValidation));
        next = decoded.object as unknown as Scale;
      } else next = thaw(sent!);
      return withScale(context, current as Scaled, live, next, options, kind === "apply");
    },
  });
  return answer(written.object);
}

function scaleOf({ served }: Context, object: Scaled): Scale {
  const { name, namespace, uid, resourceVersion, creationTimestamp, managedFields } = object.metadata;
  const selector = selectorText(object.spec?.selector);
  const own = scaleManagedFields(managedFields, new Set([apiVersionOf(served.stored)]));
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: {
      name,
      namespace: namespace!,
      uid,
      resourceVersion,
      creationTimestamp,
      ...(own === undefined ? {} : { managedFields: own as unknown as NonNullable<typeof managedFields> }),
    },
    spec: object.spec?.replicas ? { replicas: object.spec.replicas } : {},
    status: { replicas: object.status?.replicas ?? 0, ...(selector === "" ? {} : { selector }) },
  };
}

/** A selector in the form of the query parameter. */
function selectorText(selector: unknown): string {
  if (typeof selector !== "object" || selector === null) return "";
  const labels = selector as { matchLabels?: object; matchExpressions?: unknown };
  const structured = "matchLabels" in labels || "matchExpressions" in labels;
  return structured
    ? labelSelectorOf(selector as Parameters<typeof labelSelectorOf>[0]).toString()
    : Object.entries(selector)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, value]) => `${key}=${value}`)
        .join(",");
}

function withScale(
  context: Context,
  current: Scaled,
  live: Scale,
  next: Scale,
  options: WriteOptions,
  applied: boolean,
): KubeObject {
  const { served, info, registry } = context;
  const replicas = Number(next.spec?.replicas ?? 0);
  if (replicas < 0) {
    throw invalid(scaleKind, info.name, [
      {
        type: "Invalid",
        path: "spec.replicas",
        value: String(replicas),
        detail: "must be greater than or equal to 0",
      },
    ]);
  }
  const tracked = applied
    ? next
    : trackUpdate({
        live: live as unknown as Plain,
        updated: next as unknown as Plain,
        manager: options.fieldManager,
        type: objectType(scaleKind),
        subresource: "scale",
        now: registry.now(),
      });
  const object = thaw(current);
  object.spec = { ...object.spec, replicas };
  const fields = scaledManagedFields(
    current.metadata.managedFields,
    (tracked as unknown as Scale).metadata?.managedFields,
    apiVersionOf(served.stored),
    new Set([apiVersionOf(served.stored)]),
  );
  if (fields === undefined) delete object.metadata.managedFields;
  else object.metadata.managedFields = fields as unknown as NonNullable<typeof object.metadata.managedFields>;
  const { uid, resourceVersion } = next.metadata ?? {};
  if (uid) object.metadata.uid = uid;
  object.metadata.resourceVersion = resourceVersion ?? "";
  return object;
}
