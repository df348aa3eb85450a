import { type FieldErrors, sameValue } from "../../checks/field.ts";
import { checkFinalizerNames, checkMetadata, checkMetadataUpdate } from "../../checks/metadata.ts";
import type { ClusterRoleBinding, RoleBinding } from "../../generated/rbac/v1.ts";
import { dnsSubdomain, pathSegment } from "../../values/names.ts";

const group = "rbac.authorization.k8s.io";

/** Since 1.37 bindings have declared rules. Their errors come after all others. */
const isDeclared = (errors: FieldErrors): boolean => errors.release >= "1.37";

type Binding = RoleBinding | ClusterRoleBinding;

function checkDeclared(errors: FieldErrors, { subjects, roleRef }: Binding, old: Binding | undefined): void {
  if (old !== undefined) checkRoleKept(errors, roleRef, old, "field is immutable");
  for (const [index, { name }] of (subjects ?? []).entries()) {
    if (!name) errors.required(`subjects[${index}].name`);
  }
  if (old === undefined && !roleRef?.name) errors.required("roleRef.name");
}

function checkRoleKept(
  errors: FieldErrors,
  roleRef: Binding["roleRef"] | undefined,
  old: Binding,
  detail: string,
): void {
  if (sameValue(roleRef, old.roleRef)) return;
  const { apiGroup = "", kind = "", name = "" } = roleRef ?? {};
  errors.invalid("roleRef", { APIGroup: apiGroup, Kind: kind, Name: name }, detail);
}

function checkSubjects(errors: FieldErrors, { subjects }: Binding, namespaced: boolean): void {
  (subjects ?? []).forEach((subject, index) => {
    const path = `subjects[${index}]`;
    const { kind = "", name, namespace, apiGroup = "" } = subject;
    if (!name && !isDeclared(errors)) errors.required(`${path}.name`);
    if (kind === "ServiceAccount") {
      if (name) errors.check(dnsSubdomain, `${path}.name`, name);
      if (apiGroup !== "") errors.notSupported(`${path}.apiGroup`, apiGroup, [""]);
      if (!namespace && !namespaced) errors.required(`${path}.namespace`);
    } else if (kind === "User" || kind === "Group") {
      if (apiGroup !== group) errors.notSupported(`${path}.apiGroup`, apiGroup, [group]);
    } else errors.notSupported(`${path}.kind`, kind, ["ServiceAccount", "User", "Group"]);
  });
}

function checkRoleRef(
  errors: FieldErrors,
  { roleRef }: Binding,
  namespaced: boolean,
  old: Binding | undefined,
): void {
  const { apiGroup = "", kind = "", name = "" } = roleRef ?? {};
  if (apiGroup !== group) errors.notSupported("roleRef.apiGroup", apiGroup, [group]);
  const kinds = namespaced ? ["Role", "ClusterRole"] : ["ClusterRole"];
  if (!kinds.includes(kind)) errors.notSupported("roleRef.kind", kind, kinds);
  if (name !== "") errors.check(pathSegment, "roleRef.name", name);
  // Declarative validation checks fields that are declared immutable no further.
  else if (old !== undefined || !isDeclared(errors)) errors.required("roleRef.name");
}

export function checkBinding(namespaced: boolean) {
  const checkAll = (errors: FieldErrors, binding: Binding, old?: Binding): void => {
    checkMetadata(errors, "metadata", binding.metadata, pathSegment, namespaced);
    checkFinalizerNames(errors, "metadata", binding.metadata);
    checkRoleRef(errors, binding, namespaced, old);
    checkSubjects(errors, binding, namespaced);
    if (old !== undefined) {
      checkMetadataUpdate(errors, "metadata", binding.metadata, old.metadata);
      checkFinalizerNames(errors, "metadata", binding.metadata);
    }
    if (isDeclared(errors)) checkDeclared(errors, binding, old);
    else if (old !== undefined) checkRoleKept(errors, binding.roleRef, old, "cannot change roleRef");
  };
  return {
    create(errors: FieldErrors, binding: Binding): void {
      checkAll(errors, binding);
    },
    update(errors: FieldErrors, binding: Binding, old: Binding): void {
      checkAll(errors, binding, old);
    },
  };
}

/** Bindings name roles, users and groups of the RBAC group; a service account is of the core group. */
export function defaultRoleBinding(binding: RoleBinding | ClusterRoleBinding): void {
  binding.roleRef ??= { apiGroup: group, kind: "", name: "" };
  binding.roleRef.apiGroup ||= group;
  for (const subject of binding.subjects ?? []) {
    if (subject.kind === "User" || subject.kind === "Group") subject.apiGroup ||= group;
  }
}
