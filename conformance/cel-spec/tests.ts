/**
 * The CEL specification's own tests (@bufbuild/cel-spec), asked of `@dray/cel`. Those that are left out stand
 * in `cel-spec-skipped.json`, by reason.
 */
import { tests } from "@bufbuild/cel-spec/testdata/conformance.js";
import { createEnvironment, types, type Value } from "@dray/cel";
import { NotHere, readType, type TypeJSON } from "./types.ts";
import { readValue, same, show, type ValueJSON } from "./values.ts";

export interface SpecTest {
  /** `file/section/test` */
  readonly name: string;
  readonly expression: string;
  /** Runs the test in each way. Returns the first failure, undefined if the test passes. */
  run(): string | undefined;
}

/** cel.expr.conformance.test.SimpleTest in JSON. */
interface TestJSON {
  readonly name: string;
  readonly expr: string;
  readonly container?: string;
  readonly typeEnv?: readonly { readonly name: string; readonly ident?: { readonly type: TypeJSON } }[];
  readonly bindings?: Readonly<Record<string, { readonly value: ValueJSON }>>;
  readonly checkOnly?: boolean;
  readonly value?: ValueJSON;
  readonly evalError?: object;
  readonly typedResult?: { readonly result?: ValueJSON; readonly deducedType?: TypeJSON };
}

interface Suite {
  readonly name: string;
  readonly suites?: readonly Suite[];
  readonly tests?: readonly { readonly original: object }[];
}

/** All tests, in the order of the files; a name that comes again gets a number. */
export function specTests(): SpecTest[] {
  const names = new Map<string, number>();
  return (tests.suites ?? []).flatMap((suite) => read(suite, suite.name, names));
}

function read(suite: Suite, path: string, names: Map<string, number>): SpecTest[] {
  const own = (suite.tests ?? []).map(({ original }) => {
    const test = original as TestJSON;
    const name = `${path}/${test.name}`;
    const times = (names.get(name) ?? 0) + 1;
    names.set(name, times);
    return { name: times === 1 ? name : `${name}#${times}`, expression: test.expr, run: () => run(test) };
  });
  return [...own, ...(suite.suites ?? []).flatMap((inner) => read(inner, `${path}/${inner.name}`, names))];
}

function run(test: TestJSON): string | undefined {
  try {
    return ask(test, "generated") ?? ask(test, "closures");
  } catch (error) {
    if (error instanceof NotHere) return `not here: ${error.message}`;
    throw error;
  }
}

function ask(test: TestJSON, backend: "generated" | "closures"): string | undefined {
  const environment = createEnvironment({
    backend,
    variables: Object.fromEntries(
      (test.typeEnv ?? []).map(({ name, ident }) => [name, declared(name, ident?.type)]),
    ),
    container: test.container ?? "",
  });
  const compiled = environment.compile(test.expr);
  if (!compiled.ok) {
    // Kubernetes checks every expression and folds constants, and so finds many an error before it runs
    // anything.
    const early = test.evalError !== undefined && !compiled.error.includes("undeclared reference");
    return early ? undefined : compiled.error;
  }
  const deduced = test.typedResult?.deducedType;
  if (deduced !== undefined) {
    const type = readType(deduced);
    if (!types.sameType(type, compiled.type)) {
      return `is of type ${types.checkerName(compiled.type)}, not ${types.checkerName(type)}`;
    }
  }
  if (test.checkOnly === true) return undefined;
  const bindings = Object.entries(test.bindings ?? {}).map(([name, { value }]) => [name, readValue(value)]);
  const result = compiled.evaluate(Object.fromEntries(bindings) as Record<string, Value>);
  if (test.evalError !== undefined) {
    return result.error === undefined ? `is ${show(result.value)}, not an error` : undefined;
  }
  const expected = readValue(test.value ?? test.typedResult?.result ?? { boolValue: true });
  if (result.error !== undefined) return `is an error, not ${show(expected)}: ${result.error}`;
  return same(result.value, expected) ? undefined : `is ${show(result.value)}, not ${show(expected)}`;
}

function declared(name: string, type: TypeJSON | undefined): types.CelType {
  if (type === undefined) throw new NotHere(`the function ${name}`);
  return readType(type);
}
