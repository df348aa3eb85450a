// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Kind } from "../../objects/object.ts";
import type * as types from "../../schema/generated/admissionregistration/v1.ts";

export type * from "../../schema/generated/admissionregistration/v1.ts";

export type MutatingAdmissionPolicy = types.MutatingAdmissionPolicy;
export const MutatingAdmissionPolicy: Kind<MutatingAdmissionPolicy> = {"group":"admissionregistration.k8s.io","version":"v1","kind":"MutatingAdmissionPolicy","resource":"mutatingadmissionpolicies","namespaced":false};

export type MutatingAdmissionPolicyBinding = types.MutatingAdmissionPolicyBinding;
export const MutatingAdmissionPolicyBinding: Kind<MutatingAdmissionPolicyBinding> = {"group":"admissionregistration.k8s.io","version":"v1","kind":"MutatingAdmissionPolicyBinding","resource":"mutatingadmissionpolicybindings","namespaced":false};

export type MutatingWebhookConfiguration = types.MutatingWebhookConfiguration;
export const MutatingWebhookConfiguration: Kind<MutatingWebhookConfiguration> = {"group":"admissionregistration.k8s.io","version":"v1","kind":"MutatingWebhookConfiguration","resource":"mutatingwebhookconfigurations","namespaced":false};

export type ValidatingAdmissionPolicy = types.ValidatingAdmissionPolicy;
export const ValidatingAdmissionPolicy: Kind<ValidatingAdmissionPolicy> = {"group":"admissionregistration.k8s.io","version":"v1","kind":"ValidatingAdmissionPolicy","resource":"validatingadmissionpolicies","namespaced":false};

export type ValidatingAdmissionPolicyBinding = types.ValidatingAdmissionPolicyBinding;
export const ValidatingAdmissionPolicyBinding: Kind<ValidatingAdmissionPolicyBinding> = {"group":"admissionregistration.k8s.io","version":"v1","kind":"ValidatingAdmissionPolicyBinding","resource":"validatingadmissionpolicybindings","namespaced":false};

export type ValidatingWebhookConfiguration = types.ValidatingWebhookConfiguration;
export const ValidatingWebhookConfiguration: Kind<ValidatingWebhookConfiguration> = {"group":"admissionregistration.k8s.io","version":"v1","kind":"ValidatingWebhookConfiguration","resource":"validatingwebhookconfigurations","namespaced":false};
