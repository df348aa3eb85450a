import { StatusError, type StatusReason, statusCodes } from "@dray/api";
import { type AdmissionPlugin, type AdmissionRequest, refused } from "../admission.ts";
import type { AdmissionContext } from "../context.ts";
import { objectsIn } from "../versions.ts";
import { type Denial, evaluatePolicy } from "./evaluate.ts";
import { BoundPolicies, findInvocations, type Invocation, isExempt, namespaceObject } from "./invocations.ts";

/** A denial with its policy and binding. */
interface Refusal extends Denial {
  readonly policy: string;
  readonly binding?: string;
}

/** Applies ValidatingAdmissionPolicies (KEP-3488). */
export function validatingAdmissionPolicy(context: AdmissionContext): AdmissionPlugin {
  const policies = new BoundPolicies("validatingadmissionpolicies", context.storage);
  return {
    validate(request) {
      if (policies.isEmpty || isExempt(request)) return;
      // All policies are evaluated, also for their warnings.
      const [first] = [...refusalsOf(policies, request, context)];
      if (first !== undefined) throw denied(request, first);
    },
  };
}

function* refusalsOf(
  policies: BoundPolicies<"validatingadmissionpolicies">,
  request: AdmissionRequest,
  context: AdmissionContext,
): Generator<Refusal> {
  for (const found of findInvocations(policies, request, context)) {
    const { policy, binding } = found;
    const by = {
      policy: policy.metadata.name,
      ...(binding === undefined ? {} : { binding: binding.metadata.name }),
    };
    if (found.problem !== undefined) yield { ...by, message: found.problem };
    else for (const denial of judge(found, request, context)) yield { ...by, ...denial };
  }
}

/** Returns the denials for which the binding has the action Deny, and sends the warnings. */
function judge(
  { policy, binding, matched, params }: Invocation<"validatingadmissionpolicies">,
  request: AdmissionRequest,
  context: AdmissionContext,
): Denial[] {
  const denials = evaluatePolicy(policy, {
    request,
    objects: objectsIn(request, matched),
    matched,
    params,
    namespace: namespaceObject(request, context),
    authorize: context.authorize,
  });
  const by = `ValidatingAdmissionPolicy '${policy.metadata.name}' with binding '${binding.metadata.name}'`;
  return denials.filter((denial) => {
    const actions = denial.always ? ["Deny"] : (binding.spec.validationActions ?? []);
    if (actions.includes("Warn")) request.warn(`Validation failed for ${by}: ${denial.message}`);
    return actions.includes("Deny");
  });
}

/** Returns the error for the first refusal. */
function denied(request: AdmissionRequest, refusal: Refusal): StatusError {
  const { policy, binding, message, reason = "Invalid" } = refusal;
  const by = binding === undefined ? "" : ` with binding '${binding}'`;
  const text = `ValidatingAdmissionPolicy '${policy}'${by} denied request: ${message}`;
  const { status } = refused(request, text);
  return new StatusError({
    ...status,
    reason,
    code: statusCodes[reason as StatusReason],
    details: { ...status.details, causes: [{ message: text }] },
  });
}
