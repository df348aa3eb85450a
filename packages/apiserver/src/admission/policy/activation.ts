import { type KubeObject, quoted } from "@dray/api";
import {
  type AuthorizationCheck,
  AuthorizerValue,
  CelError,
  jsonValue,
  LazyMap,
  type Program,
  ResourceCheckValue,
  type Value,
} from "@dray/cel";
import { type Attributes, type Decision, resourceAttributes } from "../../authorization/attributes.ts";
import type { AdmissionRequest } from "../admission.ts";
import { requestObject } from "../review.ts";
import { namespaceOf, type VersionedObjects, type VersionedResource } from "../versions.ts";
import type { ExpressionFailure } from "./expressions.ts";

/** Maximum cost of all validations of a policy for one binding (RuntimeCELCostBudget). */
export const validationBudget = 10_000_000;
/** Maximum cost of the match conditions (RuntimeCELCostBudgetMatchConditions). */
export const conditionBudget = 2_500_000;

/** Thrown if the expressions exceed their cost budget together; none of their results counts. */
export class OutOfBudget extends Error {
  constructor() {
    super("validation failed due to running out of cost budget, no further validation rules will be run");
  }
}

/** An expression, ready or not: what is wrong with it shows when it is evaluated. */
export interface Expression {
  readonly text: string;
  readonly program: Program | ExpressionFailure;
}

export type Evaluated =
  | { readonly value: Value; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: string };

export interface ActivationInput {
  readonly request: AdmissionRequest;
  readonly objects: VersionedObjects;
  /** The resource and kind that `request.resource` and `request.kind` name. */
  readonly matched: VersionedResource;
  readonly params?: KubeObject | undefined;
  readonly namespace?: KubeObject | undefined;
  readonly variables?: ReadonlyMap<string, Expression>;
  readonly authorize: (attributes: Attributes) => Decision;
  /** Omits `authorizer`, though expressions that name it compile: upstream does so for audit annotations. */
  readonly withoutAuthorizer?: boolean;
}

/** Variables of the expressions of a policy for one request, and the remaining cost budget. */
export class Activation {
  readonly #bindings: Readonly<Record<string, Value>>;
  #budget: number;
  /** Cost of the variables evaluated by the current expression. */
  #composed = 0;

  constructor(input: ActivationInput, budget: number) {
    this.#budget = budget;
    const { request, objects, matched } = input;
    const bindings: Record<string, Value> = {
      object: jsonValue(objects.object),
      oldObject: jsonValue(objects.old),
      params: jsonValue(input.params),
      namespaceObject: jsonValue(shownNamespace(input.namespace)),
      request: jsonValue(requestObject(request, matched)),
      ...(input.withoutAuthorizer ? {} : authorizerBindings(input)),
    };
    const variables = new Map<string, () => Value>();
    for (const [name, expression] of input.variables ?? []) {
      variables.set(name, () => this.#variable(name, expression));
    }
    bindings["variables"] = new LazyMap(variables);
    this.#bindings = bindings;
  }

  /** Remaining budget for later expressions. */
  get budget(): number {
    return this.#budget;
  }

  /** Throws OutOfBudget. */
  evaluate({ text, program }: Expression): Evaluated {
    if (!program.ok) return { error: `compilation error: ${program.error}` };
    this.#composed = 0;
    const result = program.evaluate(this.#bindings);
    this.#spend(this.#composed);
    this.#spend(result.cost);
    if (result.error === undefined) return { value: result.value };
    return { error: `expression '${text}' resulted in error: ${result.error}` };
  }

  #spend(cost: number): void {
    if (cost > this.#budget) throw new OutOfBudget();
    this.#budget -= cost;
  }

  #variable(name: string, { program }: Expression): Value {
    if (!program.ok) {
      return new CelError(`composited variable ${quoted(name)} fails to compile: ${program.error}`);
    }
    const result = program.evaluate(this.#bindings);
    this.#composed += result.cost;
    if (result.error === undefined) return result.value;
    return new CelError(`composited variable ${quoted(name)} fails to evaluate: ${result.error}`);
  }
}

function authorizerBindings(input: ActivationInput): Record<string, Value> {
  const { request } = input;
  const authorizer = new AuthorizerValue((check) => decide(input, check));
  const requested = new ResourceCheckValue(authorizer, {
    group: request.served.group,
    resource: request.served.resource,
    subresource: request.subresource,
    namespace: namespaceOf(request),
    name: request.objectName,
  });
  return { authorizer, "authorizer.requestResource": requested };
}

function decide({ request, authorize }: ActivationInput, check: AuthorizationCheck): Decision {
  const { serviceAccount: account, path, verb, group, resource, subresource, namespace, name } = check;
  const user =
    account === undefined
      ? request.user
      : {
          name: `system:serviceaccount:${account.namespace}:${account.name}`,
          groups: [
            "system:serviceaccounts",
            `system:serviceaccounts:${account.namespace}`,
            "system:authenticated",
          ],
        };
  if (path === undefined) {
    const { fieldSelector } = check;
    return authorize(
      resourceAttributes({ user, verb, group, resource, subresource, namespace, name, fieldSelector }),
    );
  }
  return authorize({
    ...resourceAttributes({ user, verb, group: "", resource: "" }),
    isResource: false,
    path,
  });
}

/** Returns a namespace for expressions, without managedFields and ownerReferences. */
function shownNamespace(namespace: KubeObject | undefined): unknown {
  if (namespace === undefined) return null;
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = namespace;
  const {
    managedFields: _managers,
    ownerReferences: _owners,
    selfLink: _link,
    ...metadata
  } = namespace.metadata;
  return { ...rest, metadata };
}
