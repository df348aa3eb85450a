/**
 * Parses YAML in a thread. This module is also the thread's program, because a bundle has no other file for
 * it. It is only loaded by `import()`, so that it stays a file of its own in a bundle.
 */
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { type CountedTree, counted, TooManyValuesError } from "@dray/api/codec";
import { parseYAML, YAMLError } from "@dray/api/yaml";
import { checkValueCount, maxBodyValues } from "../request/body-limit.ts";

type Answer =
  | { readonly tree: CountedTree }
  | { readonly problem: string; readonly line: number | undefined }
  | { readonly tooMany: number };

/** Distinguishes this module's threads from others that load it. */
interface Data {
  readonly drayYAML: string;
}

if (!isMainThread && typeof (workerData as Data | null)?.drayYAML === "string") {
  try {
    parentPort?.postMessage(answerTo(workerData as Data));
  } catch {
    // A tree that is too deep for a message is too deep for an object.
    parentPort?.postMessage({ problem: "yaml: exceeded max depth", line: undefined } satisfies Answer);
  }
}

function answerTo({ drayYAML }: Data): Answer {
  try {
    const tree = counted(parseYAML(drayYAML), maxBodyValues);
    // Not left to the server's own thread: a tree that is too large takes it long to receive.
    checkValueCount(tree.value, tree.values);
    return { tree };
  } catch (error) {
    if (error instanceof TooManyValuesError) return { tooMany: error.limit };
    if (!(error instanceof YAMLError)) throw error;
    return { problem: error.message, line: error.line };
  }
}

/** The last started thread: they run one at a time, because each takes a core and tens of megabytes. */
let last: Promise<unknown> = Promise.resolve();

/**
 * Reads the first document of a text, and counts its values. Rejects with YAMLError, and with
 * TooManyValuesError for what is too large for a body or an object.
 */
export function parseYAMLInThread(text: string): Promise<CountedTree> {
  const tree = last.then(() => startThread({ drayYAML: text }));
  last = tree.catch(() => {});
  return tree;
}

function startThread(data: Data): Promise<CountedTree> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL(import.meta.url), { workerData: data });
    let settle = (): void => reject(new Error("the thread that reads YAML has ended without an answer"));
    thread.once("exit", () => settle());
    const end = (outcome: () => void): void => {
      settle = outcome;
      void thread.terminate();
    };
    thread.once("message", (answer: Answer) =>
      end(() => {
        if ("tree" in answer) resolve(answer.tree);
        else if ("problem" in answer) reject(new YAMLError(answer.problem, answer.line));
        else reject(new TooManyValuesError(answer.tooMany));
      }),
    );
    thread.once("messageerror", () => end(() => reject(new YAMLError("yaml: exceeded max depth"))));
    thread.once("error", (error) => end(() => reject(error)));
  });
}
