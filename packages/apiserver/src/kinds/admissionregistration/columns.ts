import type {
  MutatingAdmissionPolicy,
  MutatingWebhookConfiguration,
  ParamKind,
  ParamRef,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhookConfiguration,
} from "@dray/api/admissionregistration/v1";
import type { LabelSelector } from "@dray/api/meta/v1";
import { ageText } from "../../tables/age.ts";
import { column, columns, counts, type Printer } from "../../tables/column.ts";

const kindText = (kind: ParamKind | undefined): string =>
  kind ? `${kind.apiVersion}/${kind.kind}` : "<unset>";

export const validatingPolicies: Printer<ValidatingAdmissionPolicy> = {
  columns: [column("Name"), ...counts("Validations"), ...columns("ParamKind", "Age")],
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    (spec?.validations ?? []).length,
    kindText(spec?.paramKind),
    ageText(metadata.creationTimestamp, now),
  ],
};

export const mutatingPolicies: Printer<MutatingAdmissionPolicy> = {
  columns: [column("Name"), ...counts("Mutations"), ...columns("ParamKind", "Age")],
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    (spec?.mutations ?? []).length,
    kindText(spec?.paramKind),
    ageText(metadata.creationTimestamp, now),
  ],
};

/** Returns a selector as Go prints its struct. */
function selectorText({ matchLabels, matchExpressions }: LabelSelector): string {
  const labels = Object.entries(matchLabels ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}: ${value},`);
  const expressions = (matchExpressions ?? []).map(
    ({ key, operator, values }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${(values ?? []).join(" ")}],},`,
  );
  return (
    `&LabelSelector{MatchLabels:map[string]string{${labels.join("")}},` +
    `MatchExpressions:[]LabelSelectorRequirement{${expressions.join("")}},}`
  );
}

function parameterText(ref: ParamRef | undefined): string {
  if (ref?.name) return `${ref.namespace || "*"}/${ref.name}`;
  return ref?.selector ? selectorText(ref.selector) : "<unset>";
}

/** Bindings of both sorts of policies. */
export const policyBindings: Printer<ValidatingAdmissionPolicyBinding> = {
  columns: columns("Name", "PolicyName", "ParamRef", "Age"),
  cells: ({ metadata, spec }, now) => [
    metadata.name,
    spec?.policyName ?? "",
    parameterText(spec?.paramRef),
    ageText(metadata.creationTimestamp, now),
  ],
};

/** Configurations of both sorts of webhooks. */
export const webhooks: Printer<MutatingWebhookConfiguration | ValidatingWebhookConfiguration> = {
  columns: [column("Name"), ...counts("Webhooks"), column("Age")],
  cells: ({ metadata, webhooks }, now) => [
    metadata.name,
    (webhooks ?? []).length,
    ageText(metadata.creationTimestamp, now),
  ],
};
