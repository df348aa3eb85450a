import { setTimeout as sleep } from "node:timers/promises";
import { runTool } from "../tools.ts";
import { jumpsOf, removalRules } from "./rules.ts";

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

export async function restore(table: string, text: string): Promise<void> {
  await runTool("iptables-restore", ["--noflush", ...wait, `--table=${table}`], { input: text });
}

export async function ensureJumps(bridge: string): Promise<void> {
  for (const { table, chain, rule, last } of jumpsOf(bridge)) {
    const there = await findsRule("-C", table, chain, rule);
    const place = last ? ["-A", chain] : ["-I", chain, "1"];
    if (!there) await runTool("iptables", [...wait, "-t", table, ...place, ...rule]);
  }
}

async function dropJumps(bridge: string): Promise<void> {
  // Repeated, in case a killed agent has inserted it twice.
  for (const { table, chain, rule } of jumpsOf(bridge)) while (await findsRule("-D", table, chain, rule));
}

/** Checks for a rule (`-C`) or deletes it (`-D`). Returns false if it does not exist. */
async function findsRule(
  command: "-C" | "-D",
  table: string,
  chain: string,
  rule: readonly string[],
): Promise<boolean> {
  try {
    await runTool("iptables", [...wait, "-t", table, command, chain, ...rule]);
    return true;
  } catch (error) {
    // Other errors are not a result.
    if (/Bad rule|No chain|not exist/.test((error as Error).message)) return false;
    throw error;
  }
}
