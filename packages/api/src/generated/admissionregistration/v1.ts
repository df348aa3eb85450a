// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/admissionregistration/v1.ts";

export type * from "../../schema/generated/admissionregistration/v1.ts";

export interface MutatingAdmissionPolicy extends types.MutatingAdmissionPolicy {}
export const MutatingAdmissionPolicy: Kind<MutatingAdmissionPolicy> = {"group":"admissionregistration.k8s.io","version":"v1","kind":"MutatingAdmissionPolicy","resource":"mutatingadmissionpolicies","namespaced":false};

export interface MutatingAdmissionPolicyBinding extends types.MutatingAdmissionPolicyBinding {}
export const MutatingAdmissionPolicyBinding: Kind<MutatingAdmissionPolicyBinding> = {"group":"admissionregistration.k8s.io","version":"v1","kind":"MutatingAdmissionPolicyBinding","resource":"mutatingadmissionpolicybindings","namespaced":false};

export interface MutatingWebhookConfiguration extends types.MutatingWebhookConfiguration {}
export const MutatingWebhookConfiguration: Kind<MutatingWebhookConfiguration> = {"group":"admissionregistration.k8s.io","version":"v1","kind":"MutatingWebhookConfiguration","resource":"mutatingwebhookconfigurations","namespaced":false};

export interface ValidatingAdmissionPolicy extends types.ValidatingAdmissionPolicy {}
export const ValidatingAdmissionPolicy: Kind<ValidatingAdmissionPolicy> = {"group":"admissionregistration.k8s.io","version":"v1","kind":"ValidatingAdmissionPolicy","resource":"validatingadmissionpolicies","namespaced":false};

export interface ValidatingAdmissionPolicyBinding extends types.ValidatingAdmissionPolicyBinding {}
export const ValidatingAdmissionPolicyBinding: Kind<ValidatingAdmissionPolicyBinding> = {"group":"admissionregistration.k8s.io","version":"v1","kind":"ValidatingAdmissionPolicyBinding","resource":"validatingadmissionpolicybindings","namespaced":false};

export interface ValidatingWebhookConfiguration extends types.ValidatingWebhookConfiguration {}
export const ValidatingWebhookConfiguration: Kind<ValidatingWebhookConfiguration> = {"group":"admissionregistration.k8s.io","version":"v1","kind":"ValidatingWebhookConfiguration","resource":"validatingwebhookconfigurations","namespaced":false};
