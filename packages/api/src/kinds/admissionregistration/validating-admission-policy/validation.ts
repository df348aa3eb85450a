import { checkConditions } from "../../../checks/conditions.ts";
import type { AdmissionExpressions, ValidationContext } from "../../../checks/context.ts";
import type { FieldErrors } from "../../../checks/field.ts";
import type {
  AuditAnnotation,
  ValidatingAdmissionPolicy,
  Validation,
} from "../../../generated/admissionregistration/v1.ts";
import { byteLength, qualifiedName } from "../../../values/names.ts";
import { checkCompiled } from "../matching.ts";
import { checkCommon, checkName, checkPolicyConditions, checkVariables } from "../policy-common.ts";

const reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
const maxAnnotations = 20;
const maxAnnotationLength = 5 * 1024;

function checkPolicyOf(
  errors: FieldErrors,
  policy: ValidatingAdmissionPolicy,
  old: ValidatingAdmissionPolicy | undefined,
  context: ValidationContext,
): void {
  checkName(errors, policy);
  const { spec = {} } = policy;
  checkCommon(errors, policy);
  checkPolicyConditions(errors, policy, old, context);
  const params = spec.paramKind !== undefined;
  const expressions = context.admissionExpressions?.({ composes: (spec.variables ?? []).length > 0 });
  checkVariables(errors, spec.variables, expressions, params);
  const { validations = [], auditAnnotations = [] } = spec;
  if (validations.length === 0 && auditAnnotations.length === 0) {
    const detail = "validations or auditAnnotations must contain at least one item";
    errors.at("spec.validations").required(detail);
    errors.at("spec.auditAnnotations").required(detail);
    return;
  }
  validations.forEach((validation, i) => {
    checkValidation(errors.at("spec.validations").index(i), validation, expressions, params);
  });
  if (auditAnnotations.length > maxAnnotations) {
    const detail = `must not have more than ${maxAnnotations} auditAnnotations`;
    // As upstream, which shows its own names of the fields.
    const shown = auditAnnotations.map(({ key, valueExpression }) => ({
      Key: key,
      ValueExpression: valueExpression,
    }));
    errors.at("spec.auditAnnotations").invalid(shown, detail);
  }
  const keys = new Set<string>();
  auditAnnotations.forEach((annotation, i) => {
    const here = errors.at("spec.auditAnnotations").index(i);
    checkAnnotation(here, annotation, policy.metadata.name, { expressions, params });
    if (keys.has(annotation.key)) here.at("key").duplicate(annotation.key);
    keys.add(annotation.key);
  });
}

function checkValidation(
  errors: FieldErrors,
  { expression = "", message = "", messageExpression = "", reason }: Validation,
  expressions: AdmissionExpressions | undefined,
  params: boolean,
): void {
  if (expression.trim() === "") errors.at("expression").required("expression is not specified");
  else {
    const compiled = expressions?.compile(expression, { result: "bool", params, authorizer: true });
    checkCompiled(errors.at("expression"), expression, compiled);
  }
  const blank = "must be non-empty if specified";
  if (messageExpression !== "" && messageExpression.trim() === "")
    errors.at("messageExpression").invalid(messageExpression, blank);
  else if (messageExpression !== "") {
    const compiled = expressions?.compile(messageExpression, {
      result: "string",
      params,
      authorizer: false,
    });
    checkCompiled(errors.at("messageExpression"), messageExpression, compiled);
  }
  if (message !== "" && message.trim() === "") errors.at("message").invalid(message, blank);
  else if (/[\n\r]/.test(message.trim()))
    errors.at("message").invalid(message, "must not contain line breaks");
  if (reason !== undefined && !reasons.includes(reason)) errors.at("reason").notSupported(reason, reasons);
}

interface ExpressionOptions {
  readonly expressions: AdmissionExpressions | undefined;
  /** Whether there is a variable `params`. */
  readonly params: boolean;
}

function checkAnnotation(
  errors: FieldErrors,
  { key = "", valueExpression = "" }: AuditAnnotation,
  name: string | undefined,
  { expressions, params }: ExpressionOptions,
): void {
  if (name) errors.at("key").check(qualifiedName, `${name}/${key}`);
  else errors.at("key").invalid(key, "requires metadata.name be non-empty");
  const text = valueExpression.trim();
  if (text === "") errors.at("valueExpression").required("valueExpression is not specified");
  else if (byteLength(text) > maxAnnotationLength) {
    const detail = `must not exceed ${maxAnnotationLength} bytes in length`;
    errors.at("valueExpression").required(detail);
  } else {
    const compiled = expressions?.compile(text, { result: "string or null", params, authorizer: true });
    checkCompiled(errors.at("valueExpression"), valueExpression, compiled);
  }
}

function checkPolicyStatus(errors: FieldErrors, { status }: ValidatingAdmissionPolicy): void {
  const here = errors.at("status.typeChecking.expressionWarnings");
  (status?.typeChecking?.expressionWarnings ?? []).forEach(({ warning, fieldRef }, i) => {
    if (!warning) here.index(i).at("warning").required();
    if (!fieldRef?.trim()) here.index(i).at("fieldRef").required();
  });
  checkConditions(errors.at("status.conditions"), status?.conditions);
}

/** ValidatingAdmissionPolicy (KEP-3488). */
export const validatingPolicyValidation = {
  create: (errors: FieldErrors, policy: ValidatingAdmissionPolicy, context: ValidationContext): void =>
    checkPolicyOf(errors, policy, undefined, context),
  update: checkPolicyUpdate,
  status: checkPolicyStatus,
};

function checkPolicyUpdate(
  errors: FieldErrors,
  policy: ValidatingAdmissionPolicy,
  old: ValidatingAdmissionPolicy,
  context: ValidationContext,
): void {
  checkPolicyOf(errors, policy, old, context);
}
