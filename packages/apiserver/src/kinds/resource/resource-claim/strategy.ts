import { type FieldError, quoted } from "@dray/api";
import type { NodeSelector } from "@dray/api/core/v1";
import type { AllocatedDeviceStatus, ResourceClaim } from "@dray/api/resource/v1";
import { dropDeallocatedDevices } from "@dray/api/validation";
import { denialText, resourceAttributes } from "../../../authorization/attributes.ts";
import { serviceAccountPrefix } from "../../../authorization/service-account-name.ts";
import { deepEqual } from "../../../storage/json.ts";
import type { Strategy, StrategyContext } from "../../strategy.ts";

const group = "resource.k8s.io";

export const resourceClaimStrategy: Strategy<ResourceClaim> = {
  prepareForUpdate(object, old, context) {
    if (context.subresource === "status") dropDeallocatedDevices(object, old);
  },

  /**
   * Requires rights beyond `update` of the status: allocation and reservations are the scheduler's, the
   * status of devices is written by each driver on its own node (KEP-4381, granular status authorization).
   */
  authorizeUpdate(claim, before, context) {
    if (context.subresource !== "status") return [];
    if (!context.features.enabled("DRAResourceClaimGranularStatusAuthorization")) return [];
    return [...checkBinding(claim, before, context), ...checkDevices(claim, before, context)];
  },
};

function checkBinding(claim: ResourceClaim, old: ResourceClaim, context: StrategyContext): FieldError[] {
  const same =
    deepEqual(claim.status?.allocation, old.status?.allocation) &&
    deepEqual(claim.status?.reservedFor ?? [], old.status?.reservedFor ?? []);
  if (same) return [];
  const { verb } = context;
  const attributes = resourceAttributes({
    user: context.user,
    verb,
    group,
    resource: "resourceclaims",
    subresource: "binding",
  });
  const decision = context.authorize(attributes);
  if (decision.allowed) return [];
  const detail = `changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="${verb}" permission: resourceclaims.${group} is forbidden: ${denialText(attributes, decision.reason)}`;
  return [{ type: "Forbidden", path: "status.allocation", detail }];
}

function checkDevices(claim: ResourceClaim, old: ResourceClaim, context: StrategyContext): FieldError[] {
  const errors: FieldError[] = [];
  const onOwnNode = isOnNode(claim.status?.allocation?.nodeSelector, nodeOf(context));
  const verbs = [...(onOwnNode ? ["associated-node"] : []), "arbitrary-node"].map(
    (where) => `${where}:${context.verb}`,
  );
  for (const driver of changedDrivers(claim, old)) {
    const questions = verbs.map((verb) =>
      resourceAttributes({
        user: context.user,
        verb,
        group,
        resource: "resourceclaims",
        subresource: "driver",
        namespace: claim.metadata.namespace ?? "",
        name: driver,
      }),
    );
    const decisions = questions.map((question) => context.authorize(question));
    if (decisions.some(({ allowed }) => allowed)) continue;
    const why = denialText(questions[0]!, decisions[0]!.reason);
    const detail = `changing status.devices requires resource="resourceclaims/driver", verb="[${verbs.join(" ")}]" permission: resourceclaims.${group} ${quoted(driver)} is forbidden: ${why}`;
    errors.push({ type: "Forbidden", path: "status.devices", detail });
  }
  return errors;
}

/** Returns the drivers whose entries the write changes, sorted. */
function changedDrivers(claim: ResourceClaim, old: ResourceClaim): string[] {
  const byDriver = ({ status }: ResourceClaim): Map<string, AllocatedDeviceStatus[]> =>
    Map.groupBy(status?.devices ?? [], ({ driver }) => driver);
  const [now, before] = [byDriver(claim), byDriver(old)];
  return [...new Set([...now.keys(), ...before.keys()])]
    .filter((driver) => !deepEqual(now.get(driver), before.get(driver)))
    .sort();
}

/** Returns the node to which a service account's token is bound. */
function nodeOf({ user }: StrategyContext): string | undefined {
  if (!user.name.startsWith(serviceAccountPrefix)) return undefined;
  const names = user.extra?.["authentication.kubernetes.io/node-name"] ?? [];
  return names.length === 1 ? names[0] : undefined;
}

/** Reports whether the selector is for this node only: one term with one field, `metadata.name In [node]`. */
function isOnNode(selector: NodeSelector | undefined, node: string | undefined): boolean {
  const terms = selector?.nodeSelectorTerms ?? [];
  const fields = terms[0]?.matchFields ?? [];
  const [field] = fields;
  return (
    node !== undefined &&
    terms.length === 1 &&
    fields.length === 1 &&
    (terms[0]?.matchExpressions ?? []).length === 0 &&
    field?.key === "metadata.name" &&
    field.operator === "In" &&
    field.values?.length === 1 &&
    field.values[0] === node
  );
}
