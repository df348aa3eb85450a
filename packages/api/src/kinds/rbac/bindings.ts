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
    if (!name) errors.at("subjects").index(index).at("name").required();
  }
  if (old === undefined && !roleRef?.name) errors.at("roleRef.name").required();
}

function checkRoleKept(
  errors: FieldErrors,
  roleRef: Binding["roleRef"] | undefined,
  old: Binding,
  detail: string,
): void {
  if (sameValue(roleRef, old.roleRef)) return;
  const { apiGroup = "", kind = "", name = "" } = roleRef ?? {};
  errors.at("roleRef").invalid({ APIGroup: apiGroup, Kind: kind, Name: name }, detail);
}

function checkSubjects(errors: FieldErrors, { subjects }: Binding, namespaced: boolean): void {
  (subjects ?? []).forEach((subject, index) => {
    const here = errors.at("subjects").index(index);
    const { kind = "", name, namespace, apiGroup = "" } = subject;
    if (!name && !isDeclared(errors)) here.at("name").required();
    if (kind === "ServiceAccount") {
      if (name) here.at("name").check(dnsSubdomain, name);
      if (apiGroup !== "") here.at("apiGroup").notSupported(apiGroup, [""]);
      if (!namespace && !namespaced) here.at("namespace").required();
    } else if (kind === "User" || kind === "Group") {
      if (apiGroup !== group) here.at("apiGroup").notSupported(apiGroup, [group]);
    } else here.at("kind").notSupported(kind, ["ServiceAccount", "User", "Group"]);
  });
}

function checkRoleRef(
  errors: FieldErrors,
  { roleRef }: Binding,
  namespaced: boolean,
  old: Binding | undefined,
): void {
  const { apiGroup = "", kind = "", name = "" } = roleRef ?? {};
  if (apiGroup !== group) errors.at("roleRef.apiGroup").notSupported(apiGroup, [group]);
  const kinds = namespaced ? ["Role", "ClusterRole"] : ["ClusterRole"];
  if (!kinds.includes(kind)) errors.at("roleRef.kind").notSupported(kind, kinds);
  if (name !== "") errors.at("roleRef.name").check(pathSegment, name);
  // Declarative validation checks fields that are declared immutable no further.
  else if (old !== undefined || !isDeclared(errors)) errors.at("roleRef.name").required();
}

export function checkBinding(namespaced: boolean) {
  const checkAll = (errors: FieldErrors, binding: Binding, old?: Binding): void => {
    checkMetadata(errors.at("metadata"), binding.metadata, pathSegment, namespaced);
    checkFinalizerNames(errors.at("metadata"), binding.metadata);
    checkRoleRef(errors, binding, namespaced, old);
    checkSubjects(errors, binding, namespaced);
    if (old !== undefined) {
      checkMetadataUpdate(errors.at("metadata"), binding.metadata, old.metadata);
      checkFinalizerNames(errors.at("metadata"), binding.metadata);
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
