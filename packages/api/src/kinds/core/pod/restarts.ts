/**
 * When containers are started anew (KEP-5307), and what happens to them when their resources change
 * (KEP-1287).
 */

import type { ValidationContext } from "../../../checks/context.ts";
import type { FieldErrors } from "../../../checks/field.ts";
import type { Container, PodSpec } from "../../../generated/core/v1.ts";

export function checkResizePolicy(
  errors: FieldErrors,
  path: string,
  container: Container,
  spec: PodSpec,
): void {
  const seen = new Set<string>();
  (container.resizePolicy ?? []).forEach(({ resourceName = "", restartPolicy = "" }, index) => {
    if (seen.has(resourceName)) errors.duplicate(`${path}[${index}]`, resourceName);
    seen.add(resourceName);
    // Upstream's paths have no index from here on.
    errors.oneOf(path, resourceName, ["cpu", "memory"]);
    errors.oneOf(path, restartPolicy, ["NotRequired", "RestartContainer"]);
    if (spec.restartPolicy === "Never" && restartPolicy !== "NotRequired") {
      const detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
      errors.invalid(path, restartPolicy, detail);
    }
  });
}

const maxRules = 20;
const maxCodes = 255;

export function checkRestart(
  errors: FieldErrors,
  path: string,
  container: Container,
  context: ValidationContext,
): void {
  const { restartPolicy: policy, restartPolicyRules: rules = [] } = container;
  if (policy === undefined || policy === null) {
    if (rules.length === 0) return;
    errors.required(`${path}.restartPolicy`, "must specify restartPolicy when restart rules are used");
  } else if (!["Always", "Never", "OnFailure"].includes(policy)) {
    errors.notSupported(`${path}.restartPolicy`, policy, ["Always", "Never", "OnFailure"]);
  }
  if (rules.length > maxRules) errors.tooMany(`${path}.restartPolicyRules`, rules.length, maxRules);
  const actions = context.features.version >= "1.36" ? ["Restart", "RestartAllContainers"] : ["Restart"];
  rules.forEach((rule, index) => {
    const at = `${path}.restartPolicyRules[${index}]`;
    if (!actions.includes(rule.action ?? "")) errors.notSupported(`${at}.action`, rule.action ?? "", actions);
    const codes = rule.exitCodes;
    if (!codes) {
      errors.required(`${at}.exitCodes`, "must be specified");
      return;
    }
    const operators = ["In", "NotIn"];
    if (!operators.includes(codes.operator ?? "")) {
      errors.notSupported(`${at}.exitCodes.operator`, codes.operator ?? "", operators);
    }
    const count = (codes.values ?? []).length;
    if (count > maxCodes) errors.tooMany(`${at}.exitCodes.values`, count, maxCodes);
  });
}

export function checkInitRestart(
  errors: FieldErrors,
  path: string,
  container: Container,
  context: ValidationContext,
): void {
  const given = container.restartPolicy !== undefined && container.restartPolicy !== null;
  if (given) checkRestart(errors, path, container, context);
  else if ((container.restartPolicyRules ?? []).length > 0) {
    errors.required(`${path}.restartPolicy`, "must specify restartPolicy when restart rules are used");
  }
}
