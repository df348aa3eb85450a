import { quoted, StatusError } from "@dray/api";
import type { Binding, Pod } from "@dray/api/core/v1";
import type { ApiResponse } from "@dray/client";
import { ensureNamespace } from "../registry/metadata.ts";
import { objectResponse, resourceForms } from "../representation.ts";
import { writeOptions } from "../request/options.ts";
import { conflict, serverError, statusObject } from "../response.ts";
import { thaw } from "../storage/json.ts";
import { readObject } from "./body.ts";
import { accepted, type Context, headersOf, tableOptions } from "./context.ts";
import { writeOf } from "./write.ts";

const bindingKind = { group: "", version: "v1", kind: "Binding" };

/** A binding names its pod, and a node. Throws 400, and 500 for the node, as upstream. */
function checkBinding({ metadata, target }: Binding, pod: string): void {
  if (metadata.name !== pod)
    throw StatusError.of("BadRequest", "name in URL does not match name in Binding object");
  const kind = target?.kind;
  if (kind && kind !== "Node") {
    throw serverError(`target.kind: Unsupported value: ${quoted(kind)}: supported values: "Node", ""`);
  }
  if (!target?.name) throw serverError("target.name: Required value");
}

/** POST on `pods/binding`: the scheduler says where a pod runs. */
export async function bindPod(context: Context): Promise<ApiResponse> {
  const { info, served, registry } = context;
  const wanted = accepted(context, resourceForms);
  const options = writeOptions(info.query, "CreateOptions", context.request.headers["user-agent"]);
  const binding = (await readObject(context, bindingKind, options.fieldValidation)) as unknown as Binding;
  ensureNamespace(served, info.namespace, binding);
  const write = writeOf(context, options);
  await registry.admit(write, "CREATE", binding, bindingKind, () => checkBinding(binding, info.name));
  await registry.update(write, {
    unchecked: true,
    change(current) {
      const pod = thaw(current) as Pod;
      const refuse = (why: string): StatusError =>
        conflict({ group: served.group, resource: "pods/binding" }, info.name, why);
      const { uid } = binding.metadata;
      if (uid && uid !== pod.metadata.uid) {
        throw refuse(
          `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${pod.metadata.uid}`,
        );
      }
      if (pod.metadata.deletionTimestamp)
        throw refuse(`pod ${info.name} is being deleted, cannot be assigned to a host`);
      if (pod.spec?.nodeName)
        throw refuse(`pod ${info.name} is already assigned to node ${quoted(pod.spec.nodeName)}`);
      if (pod.spec?.schedulingGates?.length)
        throw refuse(`pod ${info.name} has non-empty .spec.schedulingGates`);
      pod.spec = { ...pod.spec!, nodeName: binding.target.name! };
      const { annotations, labels } = binding.metadata;
      if (annotations) pod.metadata.annotations = { ...pod.metadata.annotations, ...annotations };
      if (labels) pod.metadata.labels = { ...pod.metadata.labels, ...labels };
      const others = (pod.status?.conditions ?? []).filter(({ type }) => type !== "PodScheduled");
      const scheduled = {
        type: "PodScheduled",
        status: "True",
        observedGeneration: pod.metadata.generation,
        lastProbeTime: null,
        lastTransitionTime: registry.now(),
      };
      pod.status = { ...pod.status, conditions: [...others, scheduled] } as unknown as NonNullable<
        Pod["status"]
      >;
      return pod;
    },
  });
  const answer = statusObject({ status: "Success", code: 201 });
  return objectResponse(201, answer, served, wanted, tableOptions(context), headersOf(context));
}
