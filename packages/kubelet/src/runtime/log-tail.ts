import { readSync } from "node:fs";
import { EventLoopShare } from "../base/event-loop-share.ts";

const blockBytes = 64 << 10;
/** Blocks that are searched at a time. */
const blocksAtOnce = 16;

/**
 * Offset at which the last lines of an open file begin, of which the first `size` bytes count. Reads from the
 * end, so that the last lines of a long log cost as much as those of a short one. A line without an end is
 * one.
 *
 * Upstream: pkg/kubelet/kuberuntime/logs/logs.go, findTailLineStartIndex
 * (staging/src/k8s.io/cri-client/pkg/logs).
 */
export async function tailStart(file: number, size: number, lines: number): Promise<number> {
  if (lines <= 0) return size;
  const share = new EventLoopShare(blocksAtOnce);
  const block = Buffer.alloc(blockBytes);
  // The newline at the very end divides no lines.
  let left = lines;
  for (let end = size; end > 0; ) {
    const begin = Math.max(0, end - blockBytes);
    const count = readSync(file, block, 0, end - begin, begin);
    const last = end === size ? count - 2 : count - 1;
    for (let at = lastNewline(block, last); at >= 0; at = lastNewline(block, at - 1)) {
      left--;
      if (left === 0) return begin + at + 1;
    }
    end = begin;
    await share.step();
  }
  return 0;
}

const lastNewline = (block: Buffer, from: number): number => (from < 0 ? -1 : block.lastIndexOf(10, from));
