import type { NodeAffinity, NodeSelectorTerm, TopologySpreadConstraint } from "@dray/api/core/v1";
import { checkNodeSelector, checkNodeSelectorTerm } from "@dray/api/validation";
import type { Fields } from "./fields.ts";

/** The affinity that NodeAffinityArgs add to that of every pod. */
export function readNodeAffinity(fields: Fields): NodeAffinity {
  const required = fields.object("requiredDuringSchedulingIgnoredDuringExecution");
  const preferred = fields.objects("preferredDuringSchedulingIgnoredDuringExecution");
  fields.end();
  const selector = required && {
    nodeSelectorTerms: (required.objects("nodeSelectorTerms") ?? []).map(readTerm),
  };
  required?.end();
  if (required && selector) checkNodeSelector(required.errors, selector);
  const preferences = preferred?.map((each) => {
    const weight = each.integer("weight") ?? 0;
    const preference = readTerm(each.object("preference"));
    each.end();
    if (weight < 1 || weight > 100) each.errors.at("weight").invalid(weight, "must be in the range 1-100");
    checkNodeSelectorTerm(each.errors.at("preference"), preference);
    return { weight, preference };
  });
  return {
    ...(selector && { requiredDuringSchedulingIgnoredDuringExecution: selector }),
    ...(preferences && { preferredDuringSchedulingIgnoredDuringExecution: preferences }),
  };
}

function readTerm(fields: Fields | undefined): NodeSelectorTerm {
  const requirements = (name: string) =>
    fields?.objects(name)?.map((requirement) => {
      const values = requirement.strings("values");
      const read = {
        key: requirement.string("key") ?? "",
        operator: requirement.string("operator") ?? "",
        ...(values && { values: [...values] }),
      };
      requirement.end();
      return read;
    });
  const [matchExpressions, matchFields] = [requirements("matchExpressions"), requirements("matchFields")];
  fields?.end();
  return { ...(matchExpressions && { matchExpressions }), ...(matchFields && { matchFields }) };
}

/** Upstream: apis/config/validation/validation_pluginargs.go, ValidatePodTopologySpreadArgs. */
export function readConstraint(fields: Fields): TopologySpreadConstraint {
  const { errors } = fields;
  const maxSkew = fields.integer("maxSkew") ?? 0;
  const topologyKey = fields.string("topologyKey") ?? "";
  const given = fields.has("whenUnsatisfiable");
  const whenUnsatisfiable = fields.choice("whenUnsatisfiable", ["DoNotSchedule", "ScheduleAnyway"]);
  const minDomains = fields.integer("minDomains");
  const policies = ["Honor", "Ignore"] as const;
  const nodeAffinityPolicy = fields.choice("nodeAffinityPolicy", policies);
  const nodeTaintsPolicy = fields.choice("nodeTaintsPolicy", policies);
  const matchLabelKeys = fields.strings("matchLabelKeys");
  if (maxSkew <= 0) errors.at("maxSkew").invalid(maxSkew, "not in valid range (0, inf)");
  if (topologyKey === "") errors.at("topologyKey").required("can not be empty");
  if (!given) errors.at("whenUnsatisfiable").required("can not be empty");
  if (fields.object("labelSelector") !== undefined)
    fields.errors
      .at("labelSelector")
      .forbidden("constraint must not define a selector, as they deduced for each pod");
  fields.end();
  return {
    maxSkew,
    topologyKey,
    whenUnsatisfiable: whenUnsatisfiable ?? "",
    ...(minDomains !== undefined && { minDomains }),
    ...(nodeAffinityPolicy && { nodeAffinityPolicy }),
    ...(nodeTaintsPolicy && { nodeTaintsPolicy }),
    ...(matchLabelKeys && { matchLabelKeys: [...matchLabelKeys] }),
  };
}
