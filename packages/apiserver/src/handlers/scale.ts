import { apiVersionOf, invalid, type KubeObject, type Wire } from "@dray/api";
import { Scale } from "@dray/api/autoscaling/v1";
import type { ApiResponse } from "@dray/client";
import { scalePrinter } from "../customresources/columns.ts";
import { accepted } from "../encoding/accepted.ts";
import { decodePatched } from "../encoding/codec.ts";
import { objectResponse, resourceForms } from "../encoding/representation.ts";
import { serverError } from "../errors/status.ts";
import { fieldsIn } from "../json/values.ts";
import { converted } from "../kinds/conversion.ts";
import { builtInModel, printedAs } from "../kinds/models.ts";
import { scaledManagedFields, scaleManagedFields, trackUpdate } from "../patch/index.ts";
import { writeOptions } from "../request/options.ts";
import { versionProblem } from "../request/version.ts";
import { thaw } from "../storage/json.ts";
import { objectType } from "../write/managed-fields.ts";
import { readObject } from "./body.ts";
import { type Context, representation, warn } from "./context.ts";
import { patched, patchKind, patchProblems, readPatch } from "./patch.ts";
import { checkExport } from "./read.ts";
import { ScaledParts } from "./scaled.ts";
import { checkName, writeOf } from "./write.ts";

const scaleKind = { group: "autoscaling", version: "v1", kind: "Scale" };

/**
 * Handles GET, PUT and PATCH of `scale`: the number of replicas, in the same form for all kinds that have
 * one.
 */
export async function scale(context: Context): Promise<ApiResponse> {
  const { info, served, registry } = context;
  const encoding = accepted(context, resourceForms);
  const model =
    served.scalePaths === undefined ? builtInModel(scaleKind) : printedAs(scaleKind, scalePrinter);
  const { schemaless, ...facts } = served.facts;
  // For custom resources upstream has the scale in its public type, for others in its internal one.
  const goType = schemaless ? "v1.Scale" : "autoscaling.Scale";
  const shown = { ...served, facts: { ...facts, goType }, stored: { ...served.stored, ...scaleKind, model } };
  const answer = (object: KubeObject): ApiResponse => {
    const found = scaleOf(context, object);
    // The owner of the field is known from the object; the scale does not contain it.
    delete found.metadata.managedFields;
    return objectResponse(200, found, representation(context, encoding, shown));
  };
  const { method } = context.request;
  const parts = new ScaledParts(served);
  if (method === "GET") {
    checkExport(info);
    const version = info.query.get("resourceVersion") ?? "";
    const problem = versionProblem(version);
    if (problem !== undefined) throw serverError(problem);
    const { object: stored } = registry.need(served, info.namespace, info.name);
    const object = served.model?.conversion ? await converted(stored, served.stored, served.stored) : stored;
    parts.checkSet(object);
    return answer(object);
  }
  const agent = context.request.headers["user-agent"];
  const kind = method === "PATCH" ? patchKind(context) : undefined;
  const options = writeOptions(info.query, kind ? "PatchOptions" : "UpdateOptions", agent, kind === "apply");
  const input = kind
    ? { kind, ...(await readPatch(context, kind)) }
    : { sent: await readObject(context, Scale, options.fieldValidation) };
  if ("sent" in input) checkName(info.name, input.sent);
  const written = await registry.update(writeOf(context, options), {
    ownManagers: true,
    replaces: "sent" in input,
    view: {
      kind: scaleKind,
      show: (object) => scaleOf(context, object),
      take: (object, shown) => parts.setReplicas(object, (shown as Scale).spec?.replicas ?? 0),
    },
    async change(current) {
      const live = scaleOf(context, current);
      let next: Wire<Scale>;
      if ("sent" in input) next = thaw(input.sent);
      else {
        const { kind, body, notes } = input;
        const raw = await patched(context, {
          kind,
          type: objectType(scaleKind),
          live: fieldsIn(live),
          body,
          options,
        });
        const decoding = { ...registry.decoding(options.fieldValidation), notes };
        const decoded = decodePatched(raw, scaleKind, decoding, patchProblems(kind, body, notes));
        warn(context, decoded.warnings);
        next = decoded.object as Scale;
      }
      return withScale(context, current, {
        live,
        next,
        fieldManager: options.fieldManager,
        isApply: kind === "apply",
      });
    },
  });
  return answer(written.object);
}

function scaleOf({ served }: Context, object: KubeObject): Scale {
  const parts = new ScaledParts(served);
  const { name, namespace, uid, resourceVersion, creationTimestamp, managedFields } = object.metadata;
  const selector = parts.selector(object);
  const replicas = parts.replicas(object);
  const own = scaleManagedFields(managedFields, new Set([apiVersionOf(served.stored)]), parts.fields);
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: {
      name,
      // Cluster-scoped custom resources have no namespace, which the type of Scale requires.
      namespace: namespace!,
      uid,
      resourceVersion,
      creationTimestamp,
      // The entries are those of the object, with times as they are stored.
      ...(own === undefined ? {} : { managedFields: [...own] }),
    },
    spec: replicas ? { replicas } : {},
    status: { replicas: parts.statusReplicas(object), ...(selector === "" ? {} : { selector }) },
  };
}

interface ScaleChange {
  readonly live: Scale;
  readonly next: Wire<Scale>;
  readonly fieldManager: string;
  /** Server-side apply: the managedFields of `next` are final. */
  readonly isApply: boolean;
}

function withScale(
  context: Context,
  current: KubeObject,
  { live, next, fieldManager, isApply }: ScaleChange,
): KubeObject {
  const { served, info, registry } = context;
  const replicas = Number(next.spec?.replicas ?? 0);
  // Custom resources validate their replicas themselves.
  if (replicas < 0 && served.scalePaths === undefined) {
    throw invalid(scaleKind, info.name, [
      {
        type: "Invalid",
        path: "spec.replicas",
        value: String(replicas),
        detail: "must be greater than or equal to 0",
      },
    ]);
  }
  const tracked = isApply
    ? next
    : trackUpdate({
        live: fieldsIn(live),
        updated: fieldsIn(next),
        manager: fieldManager,
        type: objectType(scaleKind),
        subresource: "scale",
        now: registry.now(),
      });
  const object = thaw(current);
  const parts = new ScaledParts(served);
  parts.setReplicas(object, replicas);
  const apiVersion = apiVersionOf(served.stored);
  const fields = scaledManagedFields(
    current.metadata.managedFields,
    (tracked as Scale).metadata?.managedFields,
    { apiVersion, apiVersions: new Set([apiVersion]), path: parts.fields },
  );
  if (fields === undefined) delete object.metadata.managedFields;
  // The entries are those of the object, with times as they are stored.
  else object.metadata.managedFields = [...fields];
  const { uid, resourceVersion } = next.metadata ?? {};
  if (uid) object.metadata.uid = uid;
  // A scale without a resourceVersion matches any.
  if (resourceVersion) object.metadata.resourceVersion = resourceVersion;
  return object;
}
