import type { LifecycleHandler, Pod } from "@dray/api/core/v1";
import { type Clock, sleep } from "@dray/client";
import type { RuntimeService } from "../runtime/service.ts";
import { type ProbeTarget, runHookHandler } from "./handlers.ts";

/** Runs a hook of a container for at most `timeout` milliseconds. Resolves with what went wrong. */
export async function runHook(
  pod: Pod,
  hook: LifecycleHandler,
  target: ProbeTarget,
  { runtime, clock }: { readonly runtime: RuntimeService; readonly clock: Clock },
  timeout: number,
): Promise<string | undefined> {
  if (hook.sleep === undefined) return runHookHandler(pod, hook, target, timeout, runtime);
  await sleep(clock, Math.min(Number(hook.sleep.seconds) * 1000, timeout));
  return undefined;
}
