import { quoted, StatusError, type Wire } from "@dray/api";
import { Binding, type Pod } from "@dray/api/core/v1";
import type { ApiResponse } from "@dray/client";
import { accepted } from "../encoding/accepted.ts";
import { objectResponse, resourceForms } from "../encoding/representation.ts";
import { conflict, serverError, statusObject } from "../errors/status.ts";
import { withPodCondition } from "../kinds/core/pod/conditions.ts";
import { writeOptions } from "../request/options.ts";
import { thaw } from "../storage/json.ts";
import { ensureNamespace } from "../write/metadata.ts";
import { checkStored } from "../write/preconditions.ts";
import { readObject } from "./body.ts";
import { type Context, representation } from "./context.ts";
import { writeOf } from "./write.ts";

const bindingKind = { group: "", version: "v1", kind: "Binding" };

/** Returns the node that a binding names. Throws 500, as upstream. */
function nodeOf({ target }: Wire<Binding>): string {
  const kind = target?.kind;
  if (kind && kind !== "Node") {
    throw serverError(`target.kind: Unsupported value: ${quoted(kind)}: supported values: "Node", "<empty>"`);
  }
  if (!target?.name) throw serverError("target.name: Required value");
  return target.name;
}

/** Handles POST on `pods/binding`: the scheduler assigns a pod to a node. */
export async function bindPod(context: Context): Promise<ApiResponse> {
  const { info, served, registry } = context;
  const encoding = accepted(context, resourceForms);
  const options = writeOptions(info.query, "CreateOptions", context.request.headers["user-agent"]);
  const binding = await readObject(context, Binding, options.fieldValidation);
  ensureNamespace(served, info.namespace, binding);
  const write = writeOf(context, options);
  const key = registry.key(served, info.namespace, info.name);
  await registry.admit(write, {
    operation: "CREATE",
    object: binding,
    kind: bindingKind,
    validate() {
      if (binding.metadata.name !== info.name)
        throw StatusError.of("BadRequest", "name in URL does not match name in Binding object");
      nodeOf(binding);
    },
  });
  await registry.update(write, {
    unchecked: true,
    change(current) {
      const pod = thaw(current) as Pod;
      const refuse = (reason: string): StatusError =>
        conflict({ group: served.group, resource: "pods/binding" }, info.name, reason);
      checkStored(binding.metadata, pod, { served, key, dryRun: options.dryRun });
      if (pod.metadata.deletionTimestamp)
        throw refuse(`pod ${info.name} is being deleted, cannot be assigned to a host`);
      if (pod.spec?.nodeName)
        throw refuse(`pod ${info.name} is already assigned to node ${quoted(pod.spec.nodeName)}`);
      if (pod.spec?.schedulingGates?.length)
        throw refuse(`pod ${info.name} has non-empty .spec.schedulingGates`);
      pod.spec = { ...pod.spec, nodeName: nodeOf(binding) };
      const { annotations, labels } = binding.metadata;
      if (annotations) pod.metadata.annotations = { ...pod.metadata.annotations, ...annotations };
      if (labels) pod.metadata.labels = { ...pod.metadata.labels, ...labels };
      pod.status = withPodCondition(pod.status, { type: "PodScheduled", status: "True" }, registry.now());
      // ClearingNominatedNodeNameAfterBinding
      if (registry.features.version >= "1.35") delete pod.status.nominatedNodeName;
      return pod;
    },
  });
  const answer = statusObject({ status: "Success", code: 201 });
  return objectResponse(201, answer, representation(context, encoding));
}
