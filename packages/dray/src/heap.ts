import { flushCompileCache } from "node:module";
import { setFlagsFromString } from "node:v8";

/**
 * With V8's own limit a third of a server's memory is garbage; this one costs a few percent of its time. As a flag of the
 * process it would slow down the start: Node and we keep compiled code, which V8 takes only under the flags of its making.
 */
export function keepHeapSmall(): void {
  flushCompileCache();
  setFlagsFromString("--heap-growing-percent=100");
}

/**
 * Keeps V8's young generation at the size that it has now: for a process whose work comes in bursts and leaves little
 * behind. After one burst V8 would hold 128 MB for it and never give them back.
 */
export function keepYoungHeapSmall(): void {
  keepHeapSmall();
  setFlagsFromString("--semi-space-growth-factor=1");
}
