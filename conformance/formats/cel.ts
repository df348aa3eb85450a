import { type DeviceEnvironment, type DeviceInput, deviceEnvironment } from "@dray/cel";
import {
  type Difference,
  type Fields,
  type Format,
  MalformedLine,
  optional,
  required,
  requiredList,
} from "../format.ts";

/** The answer of Kubernetes' own library to a device selector. */
interface Answer {
  readonly compileError: string | undefined;
  readonly type: string | undefined;
  readonly maxCost: string;
  readonly devices: readonly { readonly result: string; readonly cost: string | undefined }[];
}

interface Question {
  readonly expression: string;
  readonly driver: string;
  readonly features: readonly string[];
  readonly stored: boolean;
  readonly costLimit: number | undefined;
  readonly devices: readonly Fields[];
}

type Backend = "generated" | "closures";

const features = ["ConsumableCapacity", "ListTypeAttributes"];

/** Questions about device selectors: does it compile, what does it cost, which devices match. */
export const celFormat: Format = {
  name: "CEL",

  recognises: (line) => "expression" in line,

  read(line) {
    const question: Question = {
      expression: required(line, "expression", "string"),
      driver: required(line, "driver", "string"),
      features: requiredList(line, "features", "string"),
      stored: required(line, "stored", "boolean"),
      costLimit: toNumber(optional(line, "costLimit", "number")),
      devices: requiredList(line, "devices", "object"),
    };
    const unknown = question.features.find((name) => !features.includes(name));
    if (unknown !== undefined) {
      throw new MalformedLine(`features has ${unknown}: known are ${features.join(", ")}`);
    }
    const expected = readAnswer(required(line, "expect", "object"), question.devices.length);
    return {
      id: required(line, "id", "string"),
      question: question.expression,
      replay() {
        const differences = [...compare(question, expected, "generated")];
        if (differences.length > 0) return { differences };
        // The other way to run it must give the same, errors and costs included.
        const others = [...compare(question, expected, "closures")];
        const where = (where = ""): string => `${where} (closures)`.trimStart();
        return { differences: others.map((other) => ({ ...other, where: where(other.where) })) };
      },
    };
  },
};

const toNumber = (value: number | bigint | undefined): number | undefined =>
  value === undefined ? undefined : Number(value);

function readAnswer(expect: Fields, devices: number): Answer {
  const compileError = optional(expect, "compileError", "string", "expect.");
  if (compileError !== undefined) {
    return { compileError, type: required(expect, "type", "string", "expect."), maxCost: "", devices: [] };
  }
  const maxCost = expect["maxCost"];
  if (typeof maxCost !== "string" && typeof maxCost !== "number" && typeof maxCost !== "bigint") {
    throw new MalformedLine('expect has neither "compileError" nor "maxCost", a number or a string');
  }
  const answers = requiredList(expect, "devices", "object", "expect.");
  if (answers.length !== devices) {
    throw new MalformedLine(`expect.devices has ${answers.length} answers: there are ${devices} devices`);
  }
  return {
    compileError,
    type: undefined,
    maxCost: String(maxCost),
    devices: answers.map((answer, i) => {
      const within = `expect.devices[${i}].`;
      const error = optional(answer, "error", "string", within);
      return {
        result:
          error === undefined ? String(required(answer, "matches", "boolean", within)) : `error: ${error}`,
        cost: optional(answer, "cost", "number", within)?.toString(),
      };
    }),
  };
}

const environments = new Map<string, DeviceEnvironment>();

function environment({ stored, features }: Question, backend: Backend): DeviceEnvironment {
  const key = `${backend} ${stored} ${features}`;
  const known = environments.get(key);
  if (known !== undefined) return known;
  const made = deviceEnvironment({
    stored,
    backend,
    features: {
      consumableCapacity: features.includes("ConsumableCapacity"),
      listTypeAttributes: features.includes("ListTypeAttributes"),
    },
  });
  environments.set(key, made);
  return made;
}

const isError = (result: string): boolean => result.startsWith("error: ");

function* compare(question: Question, expected: Answer, backend: Backend): Iterable<Difference> {
  const compiled = environment(question, backend).compile(question.expression);
  const differ = (kind: string, expected: string, actual: string, where?: string): Difference[] =>
    expected === actual ? [] : [{ kind, expected, actual, ...(where !== undefined && { where }) }];

  if (expected.compileError !== undefined) {
    const wanted = `${expected.type}: ${expected.compileError}`;
    if (compiled.ok) {
      yield { kind: "value", where: "compiling", expected: wanted, actual: "it compiles" };
      return;
    }
    const actual = `${compiled.type}: ${compiled.error}`;
    // The wording of these is that of upstream's parser generator: the place of the first counts.
    const syntax = /^(?:compilation failed: )?ERROR: .*Syntax error/m.test(expected.compileError);
    if (syntax) yield* differ("syntax error", place(wanted), place(actual));
    else yield* differ("checker error", wanted, actual);
    return;
  }
  if (!compiled.ok) {
    yield { kind: "value", where: "compiling", expected: "it compiles", actual: compiled.error };
    return;
  }
  const most = compiled.maxCost === 2n ** 64n - 1n ? "unlimited" : String(compiled.maxCost);
  const options = question.costLimit === undefined ? {} : { costLimit: question.costLimit };
  const costs = differ("cost", expected.maxCost, most, "maxCost");
  const texts: Difference[] = [];
  for (const [i, device] of question.devices.entries()) {
    const { matches, error, cost } = compiled.evaluate(
      { driver: question.driver, ...(device as Omit<DeviceInput, "driver">) },
      options,
    );
    const actual = error === undefined ? String(matches) : `error: ${error}`;
    const wanted = expected.devices[i]!;
    const where = `device ${i}`;
    if (isError(wanted.result) && isError(actual)) {
      texts.push(...differ("run-time error", wanted.result, actual, where));
    } else yield* differ("value", wanted.result, actual, where);
    // Upstream reports no cost where it could not read the device.
    if (wanted.cost !== undefined) costs.push(...differ("cost", wanted.cost, String(cost), where));
  }
  yield* costs;
  yield* texts;
}

/** Line and column of the first error. */
const place = (error: string): string => /<input>:(-?\d+:-?\d+)/.exec(error)?.[1] ?? error;
