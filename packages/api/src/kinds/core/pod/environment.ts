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

function checkFileRef(errors: FieldErrors, file: EnvVarSource["fileKeyRef"] & object): void {
  errors.at("key").checkRequired(isEnvironmentName, file.key);
  errors.at("volumeName").checkRequired(dnsLabel, file.volumeName);
  if (!file.path) errors.at("path").required();
  else checkBackSteps(errors.at("path"), file.path);
}

function checkValueFrom(errors: FieldErrors, variable: EnvVar): void {
  const source = variable.valueFrom;
  if (!source) return;
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  const count = [fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef].filter(
    Boolean,
  ).length;
  if (fieldRef) checkFieldRef(errors.at("fieldRef"), fieldRef, fieldPaths);
  if (resourceFieldRef) checkResourceRef(errors.at("resourceFieldRef"), resourceFieldRef, false);
  for (const [name, reference] of Object.entries({ configMapKeyRef, secretKeyRef })) {
    if (!reference) continue;
    errors
      .at(name)
      .at("name")
      .check(dnsSubdomain, reference.name ?? "");
    errors.at(name).at("key").checkRequired(isConfigMapKey, reference.key);
  }
  if (fileKeyRef) checkFileRef(errors.at("fileKeyRef"), fileKeyRef);
  if (count === 0) {
    const detail =
      "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
    errors.invalid("", detail);
  } else if (variable.value) errors.invalid("", "may not be specified when `value` is not empty");
  else if (count > 1) errors.invalid("", "may not have more than one field specified at a time");
}

function checkSource(errors: FieldErrors, list: FieldErrors, source: EnvFromSource): void {
  if (source.prefix) errors.at("prefix").check(isEnvironmentName, source.prefix);
  const { configMapRef, secretRef } = source;
  for (const [name, reference] of Object.entries({ configMapRef, secretRef })) {
    if (reference) errors.at(name).at("name").checkRequired(dnsSubdomain, reference.name);
  }
  // Upstream's path has no index here.
  if (!configMapRef && !secretRef) list.invalid("", "must specify one of: `configMapRef` or `secretRef`");
  else if (configMapRef && secretRef) {
    list.invalid("", "may not have more than one field specified at a time");
  }
}

/** Variables of a container, one by one and by the set. */
export function checkEnvironment(errors: FieldErrors, container: Container): void {
  (container.env ?? []).forEach((variable, index) => {
    const here = errors.at("env").index(index);
    here.at("name").checkRequired(isEnvironmentName, variable.name);
    checkValueFrom(here.at("valueFrom"), variable);
  });
  (container.envFrom ?? []).forEach((source, index) => {
    const list = errors.at("envFrom");
    checkSource(list.index(index), list, source);
  });
}
