import {
  authorizerType,
  createEnvironment,
  type Environment,
  type Program,
  resourceCheckType,
  types,
} from "@dray/cel";
import { namespaceType, requestFields, requestType } from "./request-types.ts";

type CelType = types.CelType;
const { boolType, dynType, listType, nullType, stringType, structType } = types;

/** Permitted types of the result of an expression. */
export type ResultKind = "bool" | "string" | "string or null" | "object" | "patches" | "any";

/** An expression that does not compile, with the type of error for the API server to report. */
export interface ExpressionFailure {
  readonly ok: false;
  readonly error: string;
  readonly type: "RuleInvalid" | "InternalError";
}

export interface ExpressionOptions {
  readonly result: ResultKind;
  /** Declares the variable `params`. */
  readonly params: boolean;
  /** Declares `authorizer` and `authorizer.requestResource`. */
  readonly authorizer: boolean;
  /** Declares the types `Object` and `JSONPatch`. */
  readonly patchTypes?: boolean;
}

const results: Readonly<Record<ResultKind, readonly CelType[]>> = {
  bool: [boolType],
  string: [stringType],
  "string or null": [stringType, nullType],
  object: [structType("Object")],
  patches: [listType(structType("JSONPatch"))],
  any: [],
};

const variablesName = "kubernetes.variables";

/**
 * The expressions of one policy or webhook: the CEL of Kubernetes with the variables of an admission request,
 * and with those that the policy has declared before (KEP-3488, KEP-3716, KEP-3962).
 */
export class Expressions {
  readonly #composes: boolean;
  readonly #variables = new Map<string, CelType>();
  readonly #environments = new Map<string, Environment>();

  /** `composes`: declares the variable `variables`. */
  constructor({ composes }: { readonly composes: boolean }) {
    this.#composes = composes;
  }

  compile(expression: string, options: ExpressionOptions): Program | ExpressionFailure {
    const wanted = results[options.result];
    const program = this.#environment(options).compile(expression, (type) => {
      if (wanted.length === 0 || wanted.some((each) => types.sameType(each, type))) return undefined;
      const names = wanted.map(types.declaredName);
      const rule = names.length === 1 ? names[0] : `one of [${names.join(" ")}]`;
      return `must evaluate to ${rule} but got ${types.declaredName(type)}`;
    });
    return program.ok ? program : { ok: false, error: program.error, type: program.type };
  }

  /** Compiles a variable for later expressions; if that fails, the variable is declared with type `dyn`. */
  variable(
    name: string,
    expression: string,
    { params }: { readonly params: boolean },
  ): Program | ExpressionFailure {
    const program = this.compile(expression, { result: "any", params, authorizer: true });
    this.#variables.set(name, program.ok ? declarable(program.type) : dynType);
    return program;
  }

  #environment({ params, authorizer, patchTypes = false }: ExpressionOptions): Environment {
    const key = `${params}/${authorizer}/${patchTypes}`;
    let environment = this.#environments.get(key);
    if (environment === undefined) {
      environment = createEnvironment({
        variables: {
          object: dynType,
          oldObject: dynType,
          namespaceObject: namespaceType,
          request: requestType,
          ...(params ? { params: dynType } : {}),
          ...(authorizer
            ? { authorizer: authorizerType, "authorizer.requestResource": resourceCheckType }
            : {}),
          ...(this.#composes ? { variables: structType(variablesName) } : {}),
        },
        // The map of variables grows as they are compiled.
        fields: this.#composes
          ? new Map([...requestFields, [variablesName, this.#variables]])
          : requestFields,
        basic: true,
        patchTypes,
      });
      this.#environments.set(key, environment);
    }
    return environment;
  }
}

const plain: ReadonlySet<CelType["kind"]> = new Set([
  "any",
  "bool",
  "bytes",
  "double",
  "duration",
  "int",
  "null",
  "string",
  "timestamp",
  "uint",
]);

/** Returns the type of a variable for later expressions; `dyn` for objects and types of libraries. */
function declarable(type: CelType): CelType {
  if (plain.has(type.kind)) return type;
  if (type.kind === "list" || type.kind === "map") return { ...type, params: type.params.map(declarable) };
  return dynType;
}
