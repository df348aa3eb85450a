import { sleep } from "@dray/client";
import { type HandlerTools, type Hook, runHookHandler } from "./handlers.ts";

/** Runs a hook of a container for at most its timeout. Resolves with the problem, or undefined. */
export async function runHook(options: Hook, tools: HandlerTools): Promise<string | undefined> {
  const { hook, timeout } = options;
  if (hook.sleep === undefined) return runHookHandler(options, tools);
  await sleep(tools.clock, Math.min(Number(hook.sleep.seconds) * 1000, timeout));
  return undefined;
}
