import { declare, type FunctionDeclaration, method } from "../declarations.ts";
import { boolType, type CelType, stringType, structType } from "../types.ts";

const typeOf = (name: string): CelType => structType(`kubernetes.authorization.${name}`);
const authorizer = typeOf("Authorizer");
const path = typeOf("PathCheck");
const group = typeOf("GroupCheck");
const resource = typeOf("ResourceCheck");
const decision = typeOf("Decision");

const one = (name: string, id: string, args: readonly CelType[], result: CelType): FunctionDeclaration =>
  declare(name, [method(id, args, result)]);

/**
 * The authorizer's functions (Kubernetes CEL libraries of 1.27 and 1.31). A selector has no authorizer to call them
 * on: they are declared for what the checker says of their misuse.
 */
export const authorizerLibrary: readonly FunctionDeclaration[] = [
  one("path", "authorizer_path", [authorizer, stringType], path),
  one("group", "authorizer_group", [authorizer, stringType], group),
  one("serviceAccount", "authorizer_serviceaccount", [authorizer, stringType, stringType], authorizer),
  one("resource", "groupcheck_resource", [group, stringType], resource),
  one("subresource", "resourcecheck_subresource", [resource, stringType], resource),
  one("namespace", "resourcecheck_namespace", [resource, stringType], resource),
  one("name", "resourcecheck_name", [resource, stringType], resource),
  declare("check", [
    method("pathcheck_check", [path, stringType], decision),
    method("resourcecheck_check", [resource, stringType], decision),
  ]),
  one("errored", "decision_errored", [decision], boolType),
  one("error", "decision_error", [decision], stringType),
  one("allowed", "decision_allowed", [decision], boolType),
  one("reason", "decision_reason", [decision], stringType),
  one("fieldSelector", "authorizer_fieldselector", [resource, stringType], resource),
  one("labelSelector", "authorizer_labelselector", [resource, stringType], resource),
];
