import type { FieldError, KubeObject } from "@dray/api";
import type {
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from "@dray/api/admissionregistration/v1";
import { kindRows } from "@dray/api/schema";
import type { UserInfo } from "@dray/client";
import { resourceAttributes } from "../../authorization/attributes.ts";
import { deepEqual } from "../../storage/json.ts";
import { objectKey } from "../../storage/keys.ts";
import type { Strategy, StrategyContext } from "../strategy.ts";

type ParamKind = ValidatingAdmissionPolicy["spec"]["paramKind"];

/**
 * Writing a policy with parameters takes the right to read them, since its messages can reveal their
 * contents.
 */
function paramResource(kind: ParamKind): { group: string; version: string; resource: string } {
  const apiVersion = kind?.apiVersion ?? "";
  const slash = apiVersion.indexOf("/");
  const group = slash < 0 ? "" : apiVersion.slice(0, slash);
  const version = apiVersion.slice(slash + 1);
  const row = kindRows.find(
    (candidate) =>
      candidate.group === group && candidate.version === version && candidate.kind === kind?.kind,
  );
  return { group, version, resource: row?.resource ?? "*" };
}

/** Returns the text that Go prints. */
function shownUser({ name, uid, groups, extra }: UserInfo): string {
  const entries = Object.entries(extra ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, values]) => `${key}:[${values.join(" ")}]`);
  return `&{${name} ${uid ?? ""} [${groups.join(" ")}] map[${entries.join(" ")}]}`;
}

const mayAll = ({ user }: StrategyContext): boolean => user.groups.includes("system:masters");

function checkPolicy(
  policy: ValidatingAdmissionPolicy,
  old: ValidatingAdmissionPolicy | undefined,
  context: StrategyContext,
): FieldError[] {
  const { paramKind } = policy.spec ?? {};
  if (paramKind === undefined || mayAll(context) || deepEqual(paramKind, old?.spec?.paramKind)) return [];
  const question = {
    ...paramResource(paramKind),
    user: context.user,
    verb: "get",
    name: "*",
    namespace: "*",
  };
  if (context.authorize(resourceAttributes(question)).allowed) return [];
  const { kind = "", apiVersion = "" } = paramKind;
  const what = `all objects of the referenced paramKind (kind=${kind}, apiVersion=${apiVersion})`;
  const detail = `user ${shownUser(context.user)} must have "get" permission on ${what}`;
  return [{ type: "Forbidden", path: "spec.paramKind", detail }];
}

function checkBinding(
  binding: ValidatingAdmissionPolicyBinding,
  old: ValidatingAdmissionPolicyBinding | undefined,
  context: StrategyContext,
  resource: string,
): FieldError[] {
  const { paramRef, policyName = "" } = binding.spec ?? {};
  if (paramRef === undefined || mayAll(context)) return [];
  if (deepEqual(paramRef, old?.spec?.paramRef) && policyName === old?.spec?.policyName) return [];
  const policy = context.storage.cache(resource).get(objectKey(resource, "", policyName))?.object as
    | ValidatingAdmissionPolicy
    | undefined;
  const kind = policy?.spec?.paramKind;
  const wanted = kind === undefined ? { group: "*", version: "*", resource: "*" } : paramResource(kind);
  const verb = paramRef.name ? "get" : "list";
  const { name = "", namespace = "" } = paramRef;
  const { allowed } = context.authorize(
    resourceAttributes({ ...wanted, user: context.user, verb, name, namespace }),
  );
  if (allowed) return [];
  const who = `user ${shownUser(context.user)} does not have "${verb}" permission`;
  const everything = "for all groups, versions and resources";
  const unknown = (what: string): string =>
    `unable to ${what} to determine minimum required permissions and ${who} ${everything}`;
  const detail =
    policy === undefined
      ? unknown(`get policy ${policyName}`)
      : wanted.resource === "*" && kind !== undefined
        ? unknown(`resolve paramKind &ParamKind{APIVersion:${kind.apiVersion},Kind:${kind.kind},}`)
        : `${who} on the object referenced by paramRef`;
  return [{ type: "Forbidden", path: "spec.paramRef", detail }];
}

type Check = (object: never, old: never, context: StrategyContext) => FieldError[];

const strategyOf = (check: Check): Strategy => ({
  validateCreate: (object, context) => check(object as never, undefined as never, context),
  validateUpdate: (object: KubeObject, old: KubeObject, context) =>
    context.subresource === "" ? check(object as never, old as never, context) : [],
});

/** ValidatingAdmissionPolicy and MutatingAdmissionPolicy. */
export const admissionPolicies: Strategy = strategyOf(checkPolicy as Check);

/** ValidatingAdmissionPolicyBinding. */
export const validatingAdmissionPolicyBindings: Strategy = strategyOf(((binding, old, context) =>
  checkBinding(binding, old, context, "validatingadmissionpolicies")) as Check);

/** MutatingAdmissionPolicyBinding. */
export const mutatingAdmissionPolicyBindings: Strategy = strategyOf(((binding, old, context) =>
  checkBinding(binding, old, context, "mutatingadmissionpolicies")) as Check);
