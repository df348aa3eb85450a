import { setTimeout as sleep } from "node:timers/promises";
import { runTool, tool } from "../tools.ts";
import { type Jump, jumpsOf, removalRules } from "./rules.ts";

/** Attempts, and their interval in milliseconds, to remove chains that are in use. */
const removals = { tries: 20, wait: 100 };

/**
 * While another program changes rules, iptables may not find an existing one: then its chain is still in use.
 */
export async function removeChains(bridge: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    await dropJumps(bridge);
    try {
      for (const [table, text] of removalRules(bridge)) await restore(table, text);
      return;
    } catch (error) {
      if (!/resource busy/i.test((error as Error).message) || attempt === removals.tries) throw error;
      await sleep(removals.wait);
    }
  }
}

/** Waits for other programs that change rules. */
const wait = ["--wait", "30"];

/** Replaces chains of the machine, or of the network name space of a file. */
export async function restore(table: string, text: string, namespace?: string): Promise<void> {
  const words = ["iptables-restore", "--noflush", ...wait, `--table=${table}`];
  await runIn(namespace, words, text);
}

/** Inserts missing jumps, of the machine or of the network name space of a file. */
export async function ensureJumps(jumps: readonly Jump[], namespace?: string): Promise<void> {
  for (const { table, chain, rule, last } of jumps) {
    const place = last ? ["-A", chain] : ["-I", chain, "1"];
    if (!(await findsRule("-C", [table, chain, ...rule], namespace)))
      await runIn(namespace, ["iptables", ...wait, "-t", table, ...place, ...rule]);
  }
}

async function runIn(namespace: string | undefined, words: readonly string[], input?: string): Promise<void> {
  const [program = "", ...args] = words;
  const options = input === undefined ? {} : { input };
  if (namespace === undefined) await runTool(program, args, options);
  else await runTool("nsenter", [`--net=${namespace}`, "--", tool(program), ...args], options);
}

async function dropJumps(bridge: string): Promise<void> {
  // Repeated, in case a killed agent has inserted it twice.
  for (const { table, chain, rule } of jumpsOf(bridge))
    while (await findsRule("-D", [table, chain, ...rule]));
}

/** Checks for a rule (`-C`) or deletes it (`-D`). Returns false if it does not exist. */
async function findsRule(
  command: "-C" | "-D",
  [table = "", ...rule]: readonly string[],
  namespace?: string,
): Promise<boolean> {
  try {
    await runIn(namespace, ["iptables", ...wait, "-t", table, command, ...rule]);
    return true;
  } catch (error) {
    // Other errors are not a result.
    if (/Bad rule|No chain|not exist/.test((error as Error).message)) return false;
    throw error;
  }
}
