import type { NodeSelectorTerm } from "../../generated/core/v1.ts";
import { isLabelValue } from "../../values/names.ts";

/** Labels of nodes that Kubernetes has given up, with what to use instead. */
const deprecated: Readonly<Record<string, string>> = {
  "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
  "failure-domain.beta.kubernetes.io/region":
    'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  "failure-domain.beta.kubernetes.io/zone":
    'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  "beta.kubernetes.io/instance-type":
    'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  "app.kubernetes.io/created-by": "deprecated since v1.9",
  "scheduler.alpha.kubernetes.io/preferAvoidPods":
    "deprecated since v1.22; use Taints and Tolerations instead",
  "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
};

/** Why the label should not be used any more; undefined where it may be. */
export function labelDeprecation(label: string | undefined): string | undefined {
  return label !== undefined && Object.hasOwn(deprecated, label) ? deprecated[label] : undefined;
}

/** With `values`, also warns about values that are not label values. */
export function termWarnings(path: string, term: NodeSelectorTerm | undefined, values: boolean): string[] {
  return (term?.matchExpressions ?? []).flatMap((expression, index) => {
    const at = `${path}.matchExpressions[${index}]`;
    const why = labelDeprecation(expression.key);
    const bad = values ? (expression.values ?? []) : [];
    return [
      ...(why === undefined ? [] : [`${at}.key: ${expression.key} is ${why}`]),
      ...bad.flatMap((value, place) =>
        isLabelValue(value).map((problem) => `${at}.values[${place}]: ${value} is invalid, ${problem}`),
      ),
    ];
  });
}
