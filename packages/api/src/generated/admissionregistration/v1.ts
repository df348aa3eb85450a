// Generated from src/schema/table by scripts/generate.ts: do not edit.
import type { Int64, Kind, StoredMeta } from "../../objects/object.ts";
import type { Condition, LabelSelector, ListMeta } from "../meta/v1.ts";

export interface ApplyConfiguration {
  expression?: string;
}

export interface AuditAnnotation {
  key: string;
  valueExpression: string;
}

export interface ExpressionWarning {
  fieldRef: string;
  warning: string;
}

export interface JSONPatch {
  expression?: string;
}

export interface MatchCondition {
  name: string;
  expression: string;
}

export interface MatchResources {
  namespaceSelector?: LabelSelector;
  objectSelector?: LabelSelector;
  resourceRules?: NamedRuleWithOperations[];
  excludeResourceRules?: NamedRuleWithOperations[];
  matchPolicy?: string;
}

export interface MutatingAdmissionPolicy {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  spec: MutatingAdmissionPolicySpec;
}

export const MutatingAdmissionPolicy: Kind<MutatingAdmissionPolicy> = {"group":"admissionregistration.k8s.io","version":"v1","kind":"MutatingAdmissionPolicy","resource":"mutatingadmissionpolicies","namespaced":false};

export interface MutatingAdmissionPolicyBinding {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  spec: MutatingAdmissionPolicyBindingSpec;
}

export const MutatingAdmissionPolicyBinding: Kind<MutatingAdmissionPolicyBinding> = {"group":"admissionregistration.k8s.io","version":"v1","kind":"MutatingAdmissionPolicyBinding","resource":"mutatingadmissionpolicybindings","namespaced":false};

export interface MutatingAdmissionPolicyBindingList {
  metadata?: ListMeta;
  items: MutatingAdmissionPolicyBinding[];
}

export interface MutatingAdmissionPolicyBindingSpec {
  policyName?: string;
  paramRef?: ParamRef;
  matchResources?: MatchResources;
}

export interface MutatingAdmissionPolicyList {
  metadata?: ListMeta;
  items: MutatingAdmissionPolicy[];
}

export interface MutatingAdmissionPolicySpec {
  paramKind?: ParamKind;
  matchConstraints?: MatchResources;
  variables?: Variable[];
  mutations?: Mutation[];
  failurePolicy?: string;
  matchConditions?: MatchCondition[];
  reinvocationPolicy?: string;
}

export interface MutatingWebhook {
  name: string;
  clientConfig: WebhookClientConfig;
  rules?: RuleWithOperations[];
  failurePolicy?: string;
  matchPolicy?: string;
  namespaceSelector?: LabelSelector;
  objectSelector?: LabelSelector;
  sideEffects?: string;
  timeoutSeconds?: number;
  admissionReviewVersions: string[];
  reinvocationPolicy?: string;
  matchConditions?: MatchCondition[];
}

export interface MutatingWebhookConfiguration {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  webhooks?: MutatingWebhook[];
}

export const MutatingWebhookConfiguration: Kind<MutatingWebhookConfiguration> = {"group":"admissionregistration.k8s.io","version":"v1","kind":"MutatingWebhookConfiguration","resource":"mutatingwebhookconfigurations","namespaced":false};

export interface MutatingWebhookConfigurationList {
  metadata?: ListMeta;
  items: MutatingWebhookConfiguration[];
}

export interface Mutation {
  patchType: string;
  applyConfiguration?: ApplyConfiguration;
  jsonPatch?: JSONPatch;
}

export interface NamedRuleWithOperations extends RuleWithOperations {
  resourceNames?: string[];
}

export interface ParamKind {
  apiVersion?: string;
  kind?: string;
}

export interface ParamRef {
  name?: string;
  namespace?: string;
  selector?: LabelSelector;
  parameterNotFoundAction?: string;
}

export interface Rule {
  apiGroups?: string[];
  apiVersions?: string[];
  resources?: string[];
  scope?: string;
}

export interface RuleWithOperations extends Rule {
  operations?: string[];
}

export interface ServiceReference {
  namespace: string;
  name: string;
  path?: string;
  port?: number;
}

export interface TypeChecking {
  expressionWarnings?: ExpressionWarning[];
}

export interface ValidatingAdmissionPolicy {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  spec: ValidatingAdmissionPolicySpec;
  status?: ValidatingAdmissionPolicyStatus;
}

export const ValidatingAdmissionPolicy: Kind<ValidatingAdmissionPolicy> = {"group":"admissionregistration.k8s.io","version":"v1","kind":"ValidatingAdmissionPolicy","resource":"validatingadmissionpolicies","namespaced":false};

export interface ValidatingAdmissionPolicyBinding {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  spec: ValidatingAdmissionPolicyBindingSpec;
}

export const ValidatingAdmissionPolicyBinding: Kind<ValidatingAdmissionPolicyBinding> = {"group":"admissionregistration.k8s.io","version":"v1","kind":"ValidatingAdmissionPolicyBinding","resource":"validatingadmissionpolicybindings","namespaced":false};

export interface ValidatingAdmissionPolicyBindingList {
  metadata?: ListMeta;
  items: ValidatingAdmissionPolicyBinding[];
}

export interface ValidatingAdmissionPolicyBindingSpec {
  policyName?: string;
  paramRef?: ParamRef;
  matchResources?: MatchResources;
  validationActions?: string[];
}

export interface ValidatingAdmissionPolicyList {
  metadata?: ListMeta;
  items: ValidatingAdmissionPolicy[];
}

export interface ValidatingAdmissionPolicySpec {
  paramKind?: ParamKind;
  matchConstraints?: MatchResources;
  validations?: Validation[];
  failurePolicy?: string;
  auditAnnotations?: AuditAnnotation[];
  matchConditions?: MatchCondition[];
  variables?: Variable[];
}

export interface ValidatingAdmissionPolicyStatus {
  observedGeneration?: Int64;
  typeChecking?: TypeChecking;
  conditions?: Condition[];
}

export interface ValidatingWebhook {
  name: string;
  clientConfig: WebhookClientConfig;
  rules?: RuleWithOperations[];
  failurePolicy?: string;
  matchPolicy?: string;
  namespaceSelector?: LabelSelector;
  objectSelector?: LabelSelector;
  sideEffects?: string;
  timeoutSeconds?: number;
  admissionReviewVersions: string[];
  matchConditions?: MatchCondition[];
}

export interface ValidatingWebhookConfiguration {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
  webhooks?: ValidatingWebhook[];
}

export const ValidatingWebhookConfiguration: Kind<ValidatingWebhookConfiguration> = {"group":"admissionregistration.k8s.io","version":"v1","kind":"ValidatingWebhookConfiguration","resource":"validatingwebhookconfigurations","namespaced":false};

export interface ValidatingWebhookConfigurationList {
  metadata?: ListMeta;
  items: ValidatingWebhookConfiguration[];
}

export interface Validation {
  expression: string;
  message?: string;
  reason?: string;
  messageExpression?: string;
}

export interface Variable {
  name: string;
  expression: string;
}

export interface WebhookClientConfig {
  url?: string;
  service?: ServiceReference;
  caBundle?: string;
}
