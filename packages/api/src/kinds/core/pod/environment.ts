import type { FieldErrors } from "../../../checks/field.ts";
import type { Container, EnvFromSource, EnvVar, EnvVarSource } from "../../../generated/core/v1.ts";
import { dnsLabel, dnsSubdomain, isConfigMapKey, isEnvironmentName } from "../../../values/names.ts";
import { checkFieldRef, checkResourceRef } from "./field-refs.ts";
import { checkBackSteps } from "./paths.ts";

const fieldPaths = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
];

function checkFileRef(errors: FieldErrors, path: string, file: EnvVarSource["fileKeyRef"] & object): void {
  errors.checkRequired(isEnvironmentName, `${path}.key`, file.key);
  errors.checkRequired(dnsLabel, `${path}.volumeName`, file.volumeName);
  if (!file.path) errors.required(`${path}.path`);
  else checkBackSteps(errors, `${path}.path`, file.path);
}

function checkValueFrom(errors: FieldErrors, path: string, variable: EnvVar): void {
  const source = variable.valueFrom;
  if (!source) return;
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  const count = [fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef].filter(
    Boolean,
  ).length;
  if (fieldRef) checkFieldRef(errors, `${path}.fieldRef`, fieldRef, fieldPaths);
  if (resourceFieldRef) checkResourceRef(errors, `${path}.resourceFieldRef`, resourceFieldRef, false);
  for (const [name, reference] of Object.entries({ configMapKeyRef, secretKeyRef })) {
    if (!reference) continue;
    errors.check(dnsSubdomain, `${path}.${name}.name`, reference.name ?? "");
    errors.checkRequired(isConfigMapKey, `${path}.${name}.key`, reference.key);
  }
  if (fileKeyRef) checkFileRef(errors, `${path}.fileKeyRef`, fileKeyRef);
  if (count === 0) {
    const detail =
      "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
    errors.invalid(path, "", detail);
  } else if (variable.value) errors.invalid(path, "", "may not be specified when `value` is not empty");
  else if (count > 1) errors.invalid(path, "", "may not have more than one field specified at a time");
}

function checkSource(errors: FieldErrors, path: string, at: string, source: EnvFromSource): void {
  if (source.prefix) errors.check(isEnvironmentName, `${at}.prefix`, source.prefix);
  const { configMapRef, secretRef } = source;
  for (const [name, reference] of Object.entries({ configMapRef, secretRef })) {
    if (reference) errors.checkRequired(dnsSubdomain, `${at}.${name}.name`, reference.name);
  }
  // Upstream's path has no index here.
  if (!configMapRef && !secretRef)
    errors.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`");
  else if (configMapRef && secretRef) {
    errors.invalid(path, "", "may not have more than one field specified at a time");
  }
}

/** Variables of a container, one by one and by the set. */
export function checkEnvironment(errors: FieldErrors, path: string, container: Container): void {
  (container.env ?? []).forEach((variable, index) => {
    const at = `${path}.env[${index}]`;
    errors.checkRequired(isEnvironmentName, `${at}.name`, variable.name);
    checkValueFrom(errors, `${at}.valueFrom`, variable);
  });
  (container.envFrom ?? []).forEach((source, index) => {
    checkSource(errors, `${path}.envFrom`, `${path}.envFrom[${index}]`, source);
  });
}
