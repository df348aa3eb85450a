import type { ValidationRule } from "@dray/api/apiextensions/v1";
import { createEnvironment, type Environment, type Program, types } from "@dray/cel";
import { atOnce, type Step } from "../../request/pieces.ts";
import { fieldPath } from "../field-path.ts";
import type { Schema } from "../schema.ts";
import { type DeclaredType, shapeOf, typesWithFields } from "./declared-type.ts";

/** A compiled rule, or its compile error. */
export interface CompiledRule {
  readonly rule: ValidationRule;
  /** Absent for an empty rule, and for a rule that does not compile. */
  readonly program?: Program;
  readonly error?: string;
  /** Reports whether the expression uses `oldSelf`: then it is a transition rule. */
  readonly usesOldSelf: boolean;
  /** Estimated cost of one evaluation. */
  readonly maxCost: bigint;
  readonly message?: Program;
  readonly messageError?: string;
  readonly messageMaxCost: bigint;
  /** Path of the error within the value; "" for the value itself. */
  readonly fieldPath: string;
}

/** Compiles the rules of one part of a schema (`x-kubernetes-validations`, KEP-2876); each is a step. */
export function compileRules(schema: Schema, declared: DeclaredType, step: Step = atOnce): CompiledRule[] {
  const rules = schema["x-kubernetes-validations"] ?? [];
  if (rules.length === 0) return [];
  const environments = new Map<boolean, Environment>();
  const environment = (optional: boolean): Environment => {
    let known = environments.get(optional);
    if (known === undefined) {
      known = step(() => environmentOf(declared, optional));
      environments.set(optional, known);
    }
    return known;
  };
  return rules.map((rule) => {
    const own = environment(rule.optionalOldSelf === true);
    return step(() => compileRule(schema, rule, own));
  });
}

const typeNames = ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"];

function environmentOf(declared: DeclaredType, optionalOldSelf: boolean): Environment {
  const shape = shapeOf(declared);
  return createEnvironment({
    variables: {
      self: declared.type,
      oldSelf: optionalOldSelf ? types.optionalType(declared.type) : declared.type,
    },
    fields: typesWithFields(declared),
    // Upstream applies the size to every name: to names of types as well.
    sizes: Object.fromEntries(["self", "oldSelf", ...typeNames].map((name) => [name, shape])),
    withoutIncludes: true,
  });
}

function compileRule(schema: Schema, rule: ValidationRule, environment: Environment): CompiledRule {
  const none = { rule, usesOldSelf: false, maxCost: 0n, messageMaxCost: 0n, fieldPath: "" };
  if (rule.rule.trim() === "") return none;
  const program = environment.compile(rule.rule);
  if (!program.ok) return { ...none, error: program.error };
  if (!types.sameType(program.type, types.boolType)) {
    return { ...none, error: "cel expression must evaluate to a bool" };
  }
  const compiled: CompiledRule = {
    ...none,
    program,
    usesOldSelf: program.variables.has("oldSelf"),
    maxCost: BigInt(program.maxCost),
    fieldPath: normalPath(schema, rule.fieldPath),
  };
  if (!rule.messageExpression) return compiled;
  const message = environment.compile(rule.messageExpression);
  if (!message.ok) {
    return { ...compiled, messageError: `messageExpression ${message.error.replace(/^program /, "")}` };
  }
  if (!types.sameType(message.type, types.stringType)) {
    return { ...compiled, messageError: "messageExpression must evaluate to a string" };
  }
  return { ...compiled, message, messageMaxCost: BigInt(message.maxCost) };
}

function normalPath(schema: Schema, path: string | undefined): string {
  if (!path) return "";
  const found = fieldPath(path, schema);
  return typeof found === "string" ? "" : found.path;
}
