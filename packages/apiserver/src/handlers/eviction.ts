import { type KubeObject, StatusError, type Wire } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { isPodActive } from "@dray/api/pod";
import { Eviction } from "@dray/api/policy/v1";
import type { ApiResponse } from "@dray/client";
import { accepted } from "../encoding/accepted.ts";
import { objectResponse, resourceForms } from "../encoding/representation.ts";
import { serverError, statusObject } from "../errors/status.ts";
import { withPodCondition } from "../kinds/core/pod/conditions.ts";
import { type DeleteOptions, deleteOptions, writeOptions } from "../request/options.ts";
import { thaw } from "../storage/json.ts";
import { ensureNamespace } from "../write/metadata.ts";
import { checkPreconditions } from "../write/preconditions.ts";
import { bodyOf, readObject } from "./body.ts";
import { type Context, representation } from "./context.ts";
import { takeDisruption } from "./disruption.ts";
import { writeOf } from "./write.ts";

const evictionKind = { group: "policy", version: "v1", kind: "Eviction" };
const oldKind = { ...Eviction, version: "v1beta1" };

/** Handles POST on `pods/eviction`: a DELETE that disruption budgets may reject with 429. */
export async function evictPod(context: Context): Promise<ApiResponse> {
  const { info, served, registry } = context;
  const encoding = accepted(context, resourceForms);
  const options = writeOptions(info.query, "CreateOptions", context.request.headers["user-agent"]);
  const kind = isV1beta1(bodyOf(context)) ? oldKind : Eviction;
  const eviction = await readObject(context, kind, options.fieldValidation);
  const write = writeOf(context, options);
  ensureNamespace(served, info.namespace, eviction);
  await registry.admit(write, {
    operation: "CREATE",
    object: eviction,
    kind: evictionKind,
    validate() {
      if (eviction.metadata.name === info.name) return;
      throw StatusError.of("BadRequest", "name in URL does not match name in Eviction object");
    },
  });
  checkSameDryRun(info.query.getAll("dryRun"), eviction.deleteOptions?.dryRun ?? []);
  const evictionOptions = optionsOf(eviction);
  await evict(context, { ...evictionOptions, dryRun: options.dryRun || evictionOptions.dryRun });
  const answer = statusObject({ status: "Success", code: 201 });
  return objectResponse(201, answer, representation(context, encoding));
}

/** Upstream: pkg/registry/core/pod/storage/eviction.go, propagateDryRun. Throws 500. */
function checkSameDryRun(inQuery: readonly string[], sent: readonly string[]): void {
  if (inQuery.length === 0 || sent.length === 0 || inQuery.join(" ") === sent.join(" ")) return;
  const both = `[${inQuery.join(" ")}] and [${sent.join(" ")}]`;
  throw serverError(`Non-matching dry-run options in request and content: ${both}`);
}

/** Reports whether the body has version `policy/v1beta1`, which upstream still accepts in all media types. */
function isV1beta1(body: Uint8Array | object): boolean {
  if (!(body instanceof Uint8Array))
    return (body as { apiVersion?: unknown }).apiVersion === "policy/v1beta1";
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).includes("policy/v1beta1");
}

/**
 * Options of the deletion. Invalid ones are rejected by the deletion itself, after the pod has been marked.
 */
interface EvictionOptions extends DeleteOptions {
  readonly problem?: unknown;
}

function optionsOf(eviction: Wire<Eviction>): EvictionOptions {
  const bodyOptions = (eviction.deleteOptions ?? {}) as Record<string, unknown>;
  try {
    return deleteOptions(new URLSearchParams(), bodyOptions);
  } catch (problem) {
    const { preconditions, dryRun } = eviction.deleteOptions ?? {};
    const { uid, resourceVersion } = preconditions ?? {};
    return {
      dryRun: (dryRun ?? []).length > 0,
      problem,
      preconditions: {
        ...(uid == null ? {} : { uid }),
        ...(resourceVersion == null ? {} : { resourceVersion }),
      },
    };
  }
}

/** Deletes the pod, if its budget has a disruption left. */
async function evict(context: Context, { problem, ...options }: EvictionOptions): Promise<void> {
  const { info, served, registry } = context;
  const pod = registry.need(served, info.namespace, info.name).object as Pod;
  if (!canIgnorePDB(pod)) await takeDisruption(context, pod, options.dryRun);
  const write = writeOf(context, {
    dryRun: false,
    fieldManager: "",
    fieldValidation: "Ignore",
    force: false,
  });
  let { preconditions } = options;
  if (!options.dryRun) {
    const ofStatus = { ...write, subresource: "status" };
    const marked = await registry.update(ofStatus, {
      unchecked: true,
      ownManagers: true,
      change(current) {
        const { uid, resourceVersion } = options.preconditions ?? {};
        const expected = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
        checkPreconditions(served, { ...options, preconditions: expected }, current as Pod);
        return withDisruptionTarget(current as Pod, registry.now());
      },
    });
    // The own write is not a conflict.
    const resourceVersion = marked.object.metadata.resourceVersion;
    const asRead = preconditions?.resourceVersion === pod.metadata.resourceVersion;
    if (preconditions?.resourceVersion && asRead) preconditions = { ...preconditions, resourceVersion };
  }
  if (problem !== undefined) throw problem;
  const same = preconditions === undefined ? {} : { preconditions };
  await registry.delete({ ...write, admitted: true }, { ...options, ...same });
}

/** Reports whether evicting the pod needs no budget: it is not running, or already being deleted. */
function canIgnorePDB(pod: Pod): boolean {
  return !isPodActive(pod) || pod.status?.phase === "Pending";
}

/** Returns the pod with the condition DisruptionTarget. */
function withDisruptionTarget(current: Pod, now: string): KubeObject {
  const pod = thaw(current) as Pod;
  const detail = { reason: "EvictionByEvictionAPI", message: "Eviction API: evicting" };
  pod.status = withPodCondition(pod.status, { type: "DisruptionTarget", status: "True", ...detail }, now);
  return pod;
}
