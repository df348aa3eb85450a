import { dnsLabel, dnsSubdomain } from "@dray/api";
import { boolType, type CelType, stringType, structType } from "../values/types.ts";
import { CelError, LibraryValue, type Value } from "../values/value.ts";
import * as charges from "./costs/charges.ts";
import type { Cost } from "./costs/cost.ts";
import * as estimates from "./costs/estimates.ts";
import { plus, scaled } from "./costs/size-estimate.ts";
import { declare, type FunctionDeclaration, method, priced } from "./declarations.ts";

/** An authorization check that an expression makes. */
export interface AuthorizationCheck {
  readonly verb: string;
  /** The path of a non-resource request; then the following fields are empty. */
  readonly path?: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly fieldSelector: string;
  readonly labelSelector: string;
  /** Set by `serviceAccount()`: the check is for this account, not for the user of the request. */
  readonly serviceAccount?: { readonly namespace: string; readonly name: string };
}

/** `error` is set if the check failed. */
export interface AuthorizationDecision {
  readonly allowed: boolean;
  readonly reason: string;
  readonly error?: string;
}

/** Synchronous, as evaluations are. */
export type CheckAuthorization = (check: AuthorizationCheck) => AuthorizationDecision;

abstract class AuthorizationValue extends LibraryValue {
  override equals(other: this): boolean {
    return other === this;
  }
}

/** The value of the variable `authorizer`. */
export class AuthorizerValue extends AuthorizationValue {
  override readonly typeName = "kubernetes.authorization.Authorizer";
  readonly check: CheckAuthorization;
  readonly serviceAccount: AuthorizationCheck["serviceAccount"];
  constructor(check: CheckAuthorization, serviceAccount?: AuthorizationCheck["serviceAccount"]) {
    super();
    this.check = check;
    this.serviceAccount = serviceAccount;
  }
}

class PathCheckValue extends AuthorizationValue {
  override readonly typeName = "kubernetes.authorization.PathCheck";
  readonly authorizer: AuthorizerValue;
  readonly path: string;
  constructor(authorizer: AuthorizerValue, path: string) {
    super();
    this.authorizer = authorizer;
    this.path = path;
  }
}

class GroupCheckValue extends AuthorizationValue {
  override readonly typeName = "kubernetes.authorization.GroupCheck";
  readonly authorizer: AuthorizerValue;
  readonly group: string;
  constructor(authorizer: AuthorizerValue, group: string) {
    super();
    this.authorizer = authorizer;
    this.group = group;
  }
}

type ResourceFields = Omit<AuthorizationCheck, "verb" | "path" | "serviceAccount">;

const noResource: ResourceFields = {
  group: "",
  resource: "",
  subresource: "",
  namespace: "",
  name: "",
  fieldSelector: "",
  labelSelector: "",
};

/** The value of the variable `authorizer.requestResource`, and the result of `resource()`. */
export class ResourceCheckValue extends AuthorizationValue {
  override readonly typeName = "kubernetes.authorization.ResourceCheck";
  readonly authorizer: AuthorizerValue;
  readonly fields: ResourceFields;
  constructor(authorizer: AuthorizerValue, fields: Partial<ResourceFields>) {
    super();
    this.authorizer = authorizer;
    this.fields = { ...noResource, ...fields };
  }
}

class DecisionValue extends AuthorizationValue {
  override readonly typeName = "kubernetes.authorization.Decision";
  readonly decision: AuthorizationDecision;
  constructor(decision: AuthorizationDecision) {
    super();
    this.decision = decision;
  }
}

const typeOf = (name: string): CelType => structType(`kubernetes.authorization.${name}`);
export const authorizerType = typeOf("Authorizer");
const path = typeOf("PathCheck");
const group = typeOf("GroupCheck");
export const resourceCheckType = typeOf("ResourceCheck");
const decision = typeOf("Decision");

/** A function that sets one field of a resource check. */
const narrowed = (name: keyof ResourceFields, id: string): FunctionDeclaration =>
  declare(name, [
    method(id, [resourceCheckType, stringType], resourceCheckType, (check, value) => {
      const { authorizer, fields } = check as ResourceCheckValue;
      return new ResourceCheckValue(authorizer, { ...fields, [name]: value as string });
    }),
  ]);

const checkCost: Cost = {
  estimate: () => ({ cost: 350_000n }),
  charge: charges.bySizes(() => 350_000),
};

/** A field or label selector is parsed; any two characters of it can become a requirement. */
const selectorCost: Cost = {
  estimate: (operands) => {
    const length = estimates.maxAt(operands, 1);
    return { cost: plus(10n, estimates.stringCost(length), scaled(scaled(length, 0.5), 50)) };
  },
  charge: charges.bySizes((sizes) => {
    const length = charges.sizeAt(sizes, 1);
    return 10 + charges.stringCost(length) + Math.ceil(Math.ceil(length * 0.5) * 50);
  }),
};

/** Makes a value of a text; returns an error for a blank one. */
function named(text: Value, what: string, make: (text: string) => Value): Value {
  return (text as string).trim() === "" ? new CelError(`${what} must not be empty`) : make(text as string);
}

function asServiceAccount(authorizer: Value, namespace: Value, name: Value): Value {
  if (dnsSubdomain(name as string).length > 0) return new CelError("Invalid service account name");
  if (dnsLabel(namespace as string).length > 0) return new CelError("Invalid service account namespace");
  return new AuthorizerValue((authorizer as AuthorizerValue).check, {
    namespace: namespace as string,
    name: name as string,
  });
}

function decide(
  authorizer: AuthorizerValue,
  check: Omit<AuthorizationCheck, "serviceAccount">,
): DecisionValue {
  const { serviceAccount } = authorizer;
  return new DecisionValue(authorizer.check(serviceAccount ? { ...check, serviceAccount } : check));
}

/**
 * The functions of the authorizer (Kubernetes CEL libraries of 1.27 and 1.31). Device selectors have no
 * authorizer, but these functions are part of the error texts of the checker.
 */
export const authorizerLibrary: readonly FunctionDeclaration[] = [
  declare("path", [
    method("authorizer_path", [authorizerType, stringType], path, (authorizer, text) =>
      named(text, "path", (value) => new PathCheckValue(authorizer as AuthorizerValue, value)),
    ),
  ]),
  declare("group", [
    method(
      "authorizer_group",
      [authorizerType, stringType],
      group,
      (authorizer, name) => new GroupCheckValue(authorizer as AuthorizerValue, name as string),
    ),
  ]),
  declare("serviceAccount", [
    method(
      "authorizer_serviceaccount",
      [authorizerType, stringType, stringType],
      authorizerType,
      asServiceAccount,
    ),
  ]),
  declare("resource", [
    method("groupcheck_resource", [group, stringType], resourceCheckType, (check, text) =>
      named(text, "resource", (resource) => {
        const { authorizer, group: name } = check as GroupCheckValue;
        return new ResourceCheckValue(authorizer, { group: name, resource });
      }),
    ),
  ]),
  narrowed("subresource", "resourcecheck_subresource"),
  narrowed("namespace", "resourcecheck_namespace"),
  narrowed("name", "resourcecheck_name"),
  priced(
    checkCost,
    declare("check", [
      method("pathcheck_check", [path, stringType], decision, (check, verb) => {
        const { authorizer, path: text } = check as PathCheckValue;
        return decide(authorizer, { ...noResource, path: text, verb: verb as string });
      }),
      method("resourcecheck_check", [resourceCheckType, stringType], decision, (check, verb) => {
        const { authorizer, fields } = check as ResourceCheckValue;
        return decide(authorizer, { ...fields, verb: verb as string });
      }),
    ]),
  ),
  declare("errored", [
    method(
      "decision_errored",
      [decision],
      boolType,
      (value) => (value as DecisionValue).decision.error !== undefined,
    ),
  ]),
  declare("error", [
    method(
      "decision_error",
      [decision],
      stringType,
      (value) => (value as DecisionValue).decision.error ?? "",
    ),
  ]),
  declare("allowed", [
    method("decision_allowed", [decision], boolType, (value) => (value as DecisionValue).decision.allowed),
  ]),
  declare("reason", [
    method("decision_reason", [decision], stringType, (value) => (value as DecisionValue).decision.reason),
  ]),
  priced(selectorCost, narrowed("fieldSelector", "authorizer_fieldselector")),
  priced(selectorCost, narrowed("labelSelector", "authorizer_labelselector")),
];
