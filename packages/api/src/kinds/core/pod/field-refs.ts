/** Checks of references from variables and files to fields and resources of their pod. */

import type { FieldErrors } from "../../../checks/field.ts";
import type { ObjectFieldSelector, ResourceFieldSelector } from "../../../generated/core/v1.ts";
import { qualifiedName } from "../../../values/names.ts";
import { Quantity } from "../../../values/quantity.ts";

/** Field paths of a pod that the downward API supports (ConvertDownwardAPIFieldLabel). */
const podLabels = [
  "metadata.annotations",
  "metadata.labels",
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.restartPolicy",
  "spec.serviceAccountName",
  "spec.schedulerName",
  "status.phase",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
];

/** `supported`: paths without a key in brackets. */
export function checkFieldRef(
  errors: FieldErrors,
  reference: ObjectFieldSelector,
  supported: readonly string[],
): void {
  const { apiVersion, fieldPath } = reference;
  if (!apiVersion) {
    errors.at("apiVersion").required();
    return;
  }
  if (!fieldPath) {
    errors.at("fieldPath").required();
    return;
  }
  const wrong = (detail: string): void =>
    errors.at("fieldPath").invalid(fieldPath, `error converting fieldPath: ${detail}`);
  if (apiVersion !== "v1") {
    wrong(`unsupported pod version: ${apiVersion}`);
    return;
  }
  const [, owner = fieldPath, key] = /^([^[\]]+)\['(.*)'\]$/.exec(fieldPath) ?? [];
  if (key !== undefined) {
    if (owner === "metadata.annotations") errors.check(qualifiedName, key.toLowerCase());
    else if (owner === "metadata.labels") errors.check(qualifiedName, key);
    else wrong(`field label does not support subscript: ${fieldPath}`);
    return;
  }
  if (fieldPath !== "spec.host" && !podLabels.includes(fieldPath)) {
    wrong(`field label not supported: ${fieldPath}`);
    return;
  }
  const known = fieldPath === "spec.host" ? "spec.nodeName" : fieldPath;
  if (!supported.includes(known)) errors.at("fieldPath").notSupported(known, [...supported].sort());
}

const resourcePaths = [
  "limits.cpu",
  "limits.ephemeral-storage",
  "limits.memory",
  "requests.cpu",
  "requests.ephemeral-storage",
  "requests.memory",
];
const hugePages = /^(limits|requests)\.hugepages-/;
const sizes = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

function checkDivisor(errors: FieldErrors, { resource, divisor }: ResourceFieldSelector): void {
  if (divisor === undefined || Quantity.parse(divisor).sign === 0) return;
  const name = resource ?? "";
  const only = (allowed: readonly string[], what: string): void => {
    if (allowed.includes(divisor)) return;
    const list = allowed.length === 2 ? allowed.join(" and ") : allowed.join(", ");
    errors
      .at("divisor")
      .invalid(name, `only divisor's values ${list} are supported with the ${what} resource`);
  };
  if (hugePages.test(name)) only(sizes, "hugepages");
  else if (name.endsWith(".cpu")) only(["1m", "1"], "cpu");
  else if (name.endsWith(".memory")) only(sizes, "memory");
  else if (name.endsWith(".ephemeral-storage")) only(sizes, "local ephemeral storage");
}

/** `named`: which container is meant must be said. */
export function checkResourceRef(
  errors: FieldErrors,
  reference: ResourceFieldSelector,
  named: boolean,
): void {
  const { containerName, resource } = reference;
  if (named && !containerName) errors.at("containerName").required();
  else if (!resource) errors.at("resource").required();
  else if (!resourcePaths.includes(resource) && !hugePages.test(resource)) {
    errors.at("resource").notSupported(resource, resourcePaths);
  }
  checkDivisor(errors, reference);
}
