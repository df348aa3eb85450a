/**
 * Parses YAML in a thread. This module is also the thread's program, because a bundle has no other file for
 * it. It is only loaded by `import()`, so that it stays a file of its own in a bundle.
 */
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { parseYAML, YAMLError, type YAMLTree } from "@dray/api/yaml";

type Answer = { readonly tree: YAMLTree } | { readonly problem: string; readonly line: number | undefined };

/** Distinguishes this module's threads from others that load it. */
interface Data {
  readonly drayYAML: string;
}

if (!isMainThread && typeof (workerData as Data | null)?.drayYAML === "string") {
  try {
    parentPort?.postMessage(answerTo((workerData as Data).drayYAML));
  } catch {
    // A tree that is too deep for a message is too deep for an object.
    parentPort?.postMessage({ problem: "yaml: exceeded max depth", line: undefined } satisfies Answer);
  }
}

function answerTo(text: string): Answer {
  try {
    return { tree: parseYAML(text) };
  } catch (error) {
    if (!(error instanceof YAMLError)) throw error;
    return { problem: error.message, line: error.line };
  }
}

/** The last started thread: they run one at a time, because each takes a core and tens of megabytes. */
let last: Promise<unknown> = Promise.resolve();

/** Like `parseYAML`: the first document of the text. Rejects with YAMLError. */
export function parseYAMLInThread(text: string): Promise<YAMLTree> {
  const tree = last.then(() => startThread(text));
  last = tree.catch(() => {});
  return tree;
}

function startThread(text: string): Promise<YAMLTree> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(new URL(import.meta.url), { workerData: { drayYAML: text } satisfies Data });
    let settle = (): void => reject(new Error("the thread that reads YAML has ended without an answer"));
    thread.once("exit", () => settle());
    const end = (outcome: () => void): void => {
      settle = outcome;
      void thread.terminate();
    };
    thread.once("message", (answer: Answer) =>
      end(() =>
        "tree" in answer ? resolve(answer.tree) : reject(new YAMLError(answer.problem, answer.line)),
      ),
    );
    thread.once("messageerror", () => end(() => reject(new YAMLError("yaml: exceeded max depth"))));
    thread.once("error", (error) => end(() => reject(error)));
  });
}
