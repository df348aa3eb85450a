import type { FieldErrors } from "../../checks/field.ts";
import { checkLabelSelector } from "../../checks/nodeselector.ts";
import type { ParamKind, ParamRef } from "../../generated/admissionregistration/v1.ts";
import { dns1035Label, dnsSubdomain, type NameRule, pathSegment } from "../../values/names.ts";

/** Validates the kind of the parameters of a policy. */
export function checkParamKind(errors: FieldErrors, kind: ParamKind | undefined): void {
  if (kind === undefined) return;
  checkApiVersion(errors.at("apiVersion"), kind.apiVersion ?? "");
  if (!kind.kind) errors.at("kind").required();
  else {
    const problems = dns1035Label(kind.kind.toLowerCase()).join(",");
    const detail = `may have mixed case, but should otherwise match: ${problems}`;
    if (problems !== "") errors.at("kind").invalid(kind.kind, detail);
  }
}

function checkApiVersion(errors: FieldErrors, apiVersion: string): void {
  if (apiVersion === "") {
    errors.required();
    return;
  }
  const parts = apiVersion === "/" ? [""] : apiVersion.split("/");
  if (parts.length > 2) {
    errors.invalid(apiVersion, `unexpected GroupVersion string: ${apiVersion}`);
    return;
  }
  const [group, version] = parts.length === 1 ? ["", parts[0]!] : (parts as [string, string]);
  const joined = (rule: NameRule, value: string): void => {
    const problems = rule(value);
    if (problems.length > 0) errors.invalid(value, problems.join(","));
  };
  if (group !== "") joined(dnsSubdomain, group);
  if (version === "") errors.invalid(apiVersion, "version must be specified");
  else joined(dns1035Label, version);
}

/** Which parameters a binding brings. */
export function checkParamRef(errors: FieldErrors, ref: ParamRef | undefined): void {
  if (ref === undefined) return;
  const exclusive = "name and selector are mutually exclusive";
  if (ref.name) {
    errors.at("name").check(pathSegment, ref.name);
    if (ref.selector) errors.at("name").forbidden(exclusive);
  }
  if (ref.selector) {
    checkLabelSelector(errors.at("selector"), ref.selector);
    if (ref.name) errors.at("selector").forbidden(exclusive);
  }
  if (!ref.name && !ref.selector) errors.required("one of name or selector must be specified");
  errors.at("parameterNotFoundAction").oneOf(ref.parameterNotFoundAction, ["Deny", "Allow"]);
}
