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
    errors.required("spec.validations", detail);
    errors.required("spec.auditAnnotations", detail);
    return;
  }
  validations.forEach((validation, i) => {
    checkValidation(errors, `spec.validations[${i}]`, validation, expressions, params);
  });
  if (auditAnnotations.length > maxAnnotations) {
    const detail = `must not have more than ${maxAnnotations} auditAnnotations`;
    // As upstream, which shows its own names of the fields.
    const shown = auditAnnotations.map(({ key, valueExpression }) => ({
      Key: key,
      ValueExpression: valueExpression,
    }));
    errors.invalid("spec.auditAnnotations", shown, detail);
  }
  const keys = new Set<string>();
  auditAnnotations.forEach((annotation, i) => {
    const path = `spec.auditAnnotations[${i}]`;
    checkAnnotation(errors, path, annotation, policy.metadata.name, expressions, params);
    if (keys.has(annotation.key)) errors.duplicate(`${path}.key`, annotation.key);
    keys.add(annotation.key);
  });
}

function checkValidation(
  errors: FieldErrors,
  path: string,
  { expression = "", message = "", messageExpression = "", reason }: Validation,
  expressions: AdmissionExpressions | undefined,
  params: boolean,
): void {
  if (expression.trim() === "") errors.required(`${path}.expression`, "expression is not specified");
  else {
    const compiled = expressions?.compile(expression, { result: "bool", params, authorizer: true });
    checkCompiled(errors, `${path}.expression`, expression, compiled);
  }
  const blank = "must be non-empty if specified";
  if (messageExpression !== "" && messageExpression.trim() === "")
    errors.invalid(`${path}.messageExpression`, messageExpression, blank);
  else if (messageExpression !== "") {
    const compiled = expressions?.compile(messageExpression, {
      result: "string",
      params,
      authorizer: false,
    });
    checkCompiled(errors, `${path}.messageExpression`, messageExpression, compiled);
  }
  if (message !== "" && message.trim() === "") errors.invalid(`${path}.message`, message, blank);
  else if (/[\n\r]/.test(message.trim()))
    errors.invalid(`${path}.message`, message, "must not contain line breaks");
  if (reason !== undefined && !reasons.includes(reason))
    errors.notSupported(`${path}.reason`, reason, reasons);
}

function checkAnnotation(
  errors: FieldErrors,
  path: string,
  { key = "", valueExpression = "" }: AuditAnnotation,
  name: string | undefined,
  expressions: AdmissionExpressions | undefined,
  params: boolean,
): void {
  if (name) errors.check(qualifiedName, `${path}.key`, `${name}/${key}`);
  else errors.invalid(`${path}.key`, key, "requires metadata.name be non-empty");
  const text = valueExpression.trim();
  if (text === "") errors.required(`${path}.valueExpression`, "valueExpression is not specified");
  else if (byteLength(text) > maxAnnotationLength) {
    const detail = `must not exceed ${maxAnnotationLength} bytes in length`;
    errors.required(`${path}.valueExpression`, detail);
  } else {
    const compiled = expressions?.compile(text, { result: "string or null", params, authorizer: true });
    checkCompiled(errors, `${path}.valueExpression`, valueExpression, compiled);
  }
}

function checkPolicyStatus(errors: FieldErrors, { status }: ValidatingAdmissionPolicy): void {
  const path = "status.typeChecking.expressionWarnings";
  (status?.typeChecking?.expressionWarnings ?? []).forEach(({ warning, fieldRef }, i) => {
    if (!warning) errors.required(`${path}[${i}].warning`);
    if (!fieldRef?.trim()) errors.required(`${path}[${i}].fieldRef`);
  });
  checkConditions(errors, "status.conditions", status?.conditions);
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
