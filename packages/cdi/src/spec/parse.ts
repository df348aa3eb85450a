import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import { CdiError, type Spec } from "./spec.ts";
import { validateSpec } from "./validate.ts";

/** Go, in which other readers of these files are written, treats null as unset. */
function dropNull(_key: unknown, value: unknown): unknown {
  return value === null ? undefined : value;
}

/**
 * Parses the text of a spec's file, JSON or YAML. Throws a CdiError. The YAML library is loaded for the first
 * text that is not JSON.
 */
export function parseSpec(text: string): Spec {
  const json = parseJson(text);
  return validateSpec(json === undefined ? parseYaml(text) : json.value);
}

/**
 * Maximum length of YAML that is parsed on this thread: it takes a few milliseconds, as does the start of a
 * thread.
 */
const maxInlineYaml = 4096;
/** Timeout for the YAML of a file, in milliseconds. */
const yamlTimeout = 10_000;

/**
 * `parseSpec` for a file of an untrusted writer. Half a megabyte of YAML takes a second, or ten if it is made
 * to be slow, so longer YAML is parsed in a thread.
 */
export async function parseSpecInThread(text: string): Promise<Spec> {
  const json = parseJson(text);
  if (json !== undefined) return validateSpec(json.value);
  return validateSpec(text.length <= maxInlineYaml ? parseYaml(text) : await parseYamlAside(text));
}

/** Undefined if the text is not JSON. */
function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text, dropNull) as unknown };
  } catch {
    return undefined;
  }
}

const require = createRequire(import.meta.url);

function parseYaml(text: string): unknown {
  const yaml = require("yaml") as typeof import("yaml");
  try {
    return yaml.parse(text, dropNull, { logLevel: "error" });
  } catch (error) {
    throw notYaml(error as Error);
  }
}

function notYaml({ message }: Error): CdiError {
  return new CdiError(`neither JSON nor YAML: ${message.split("\n")[0]}`);
}

/** The program of the thread, as text: a bundle of this package consists of one file. */
const yamlThread = `
  const { parentPort, workerData } = require("node:worker_threads");
  const { library, text } = workerData;
  try {
    const value = require(library).parse(text, (_, value) => (value === null ? undefined : value), { logLevel: "error" });
    parentPort.postMessage({ value });
  } catch (error) {
    parentPort.postMessage({ problem: error.message });
  }`;

type ThreadAnswer = { readonly value: unknown } | { readonly problem: string };

function parseYamlAside(text: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(yamlThread, {
      eval: true,
      workerData: { library: require.resolve("yaml"), text },
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    });
    const tooLong = setTimeout(() => {
      end(() => reject(new CdiError(`its YAML was not read within ${yamlTimeout / 1000} s`)));
    }, yamlTimeout);
    const end = (settle: () => void): void => {
      clearTimeout(tooLong);
      settle();
      void thread.terminate();
    };
    thread.once("message", (answer: ThreadAnswer) =>
      end(() => ("problem" in answer ? reject(notYaml(new Error(answer.problem))) : resolve(answer.value))),
    );
    thread.once("error", (error) => end(() => reject(notYaml(error))));
    thread.unref();
  });
}
