/**
 * When containers are started anew (KEP-5307), and what happens to them when their resources change
 * (KEP-1287).
 */

import type { ValidationContext } from "../../../checks/context.ts";
import type { FieldErrors } from "../../../checks/field.ts";
import type { Container, PodSpec } from "../../../generated/core/v1.ts";

export function checkResizePolicy(errors: FieldErrors, container: Container, spec: PodSpec): void {
  const seen = new Set<string>();
  (container.resizePolicy ?? []).forEach(({ resourceName = "", restartPolicy = "" }, index) => {
    if (seen.has(resourceName)) errors.index(index).duplicate(resourceName);
    seen.add(resourceName);
    // Upstream's paths have no index from here on.
    errors.oneOf(resourceName, ["cpu", "memory"]);
    errors.oneOf(restartPolicy, ["NotRequired", "RestartContainer"]);
    if (spec.restartPolicy === "Never" && restartPolicy !== "NotRequired") {
      const detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
      errors.invalid(restartPolicy, detail);
    }
  });
}

const maxRules = 20;
const maxCodes = 255;

export function checkRestart(errors: FieldErrors, container: Container, context: ValidationContext): void {
  const { restartPolicy: policy, restartPolicyRules: rules = [] } = container;
  if (policy === undefined || policy === null) {
    if (rules.length === 0) return;
    errors.at("restartPolicy").required("must specify restartPolicy when restart rules are used");
  } else if (!["Always", "Never", "OnFailure"].includes(policy)) {
    errors.at("restartPolicy").notSupported(policy, ["Always", "Never", "OnFailure"]);
  }
  if (rules.length > maxRules) errors.at("restartPolicyRules").tooMany(rules.length, maxRules);
  const actions = context.features.version >= "1.36" ? ["Restart", "RestartAllContainers"] : ["Restart"];
  rules.forEach((rule, index) => {
    const here = errors.at("restartPolicyRules").index(index);
    if (!actions.includes(rule.action ?? "")) here.at("action").notSupported(rule.action ?? "", actions);
    const codes = rule.exitCodes;
    if (!codes) {
      here.at("exitCodes").required("must be specified");
      return;
    }
    const operators = ["In", "NotIn"];
    if (!operators.includes(codes.operator ?? "")) {
      here.at("exitCodes.operator").notSupported(codes.operator ?? "", operators);
    }
    const count = (codes.values ?? []).length;
    if (count > maxCodes) here.at("exitCodes.values").tooMany(count, maxCodes);
  });
}

export function checkInitRestart(
  errors: FieldErrors,
  container: Container,
  context: ValidationContext,
): void {
  const given = container.restartPolicy !== undefined && container.restartPolicy !== null;
  if (given) checkRestart(errors, container, context);
  else if ((container.restartPolicyRules ?? []).length > 0) {
    errors.at("restartPolicy").required("must specify restartPolicy when restart rules are used");
  }
}
